"""Accepting a run as the baseline: shown first, refused where it would hide something."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from evalnb.advice import RULE_ONLY, judges_of
from evalnb.baseline import RULES, SYSTEM_FILE, count, keep_first, read_baseline, write_baseline
from evalnb.certificates import counting_scorers, read_certificates
from evalnb.errors import InputError
from evalnb.frames import NaReason, Outcome, to_records
from evalnb.gate import decide
from evalnb.jsontext import write_atomically
from evalnb.results import read_run
from evalnb.runs import check_suite
from evalnb.scoring import case_scorers
from evalnb.systems import PromptSystem, load_system

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

__all__ = ["accept_baseline", "baseline_diff", "check_acceptable"]


def accept_baseline(
    golden: GoldenSet,
    run_folder: Path,
    *,
    reason: str,
    now: datetime,
    environment: Mapping[str, str],
    removed: Sequence[str] = (),
) -> None:
    """Make a run the suite's baseline.

    Parameters
    ----------
    golden : the suite as it is now
    run_folder : the run
    reason : why it is accepted; stands in the baseline
    now : time in UTC
    environment : of the process; acceptance is refused where `CI` is set
    removed : ids of cases that were deleted on purpose, and expectations that a case no longer
        states, as "refund-1:must_contain"

    Raises
    ------
    InputError
        If the run cannot be accepted, with why.
    """
    run = read_run(run_folder)
    check_acceptable(golden, run, environment=environment, removed=removed)
    if not reason.strip():
        raise InputError("accepting a baseline needs a reason")
    kept = (
        *("suite", "run_id", "golden_version", "settings_fingerprint"),
        *("mode", "repeats", "models", "notice"),
    )
    manifest = {
        **{name: run.manifest.get(name) for name in kept},
        "tier": run.manifest.get("tier", RULE_ONLY),
        "judges": judges_of(run.scores),
        "counting": counting_scorers(run.scores),
        "system": {
            "name": run.manifest["system"],
            "fingerprint": run.manifest["system_fingerprint"],
        },
        "accepted_at": now.isoformat(timespec="seconds"),
        "reason": reason.strip(),
    }
    # What blocks and is accepted all the same was looked at: from there on it is no creep.
    blocked = _decided_now(golden, run)["outcome"].eq(Outcome.FAIL).any()
    keep_first(golden, None if blocked else run.manifest["golden_version"])
    write_baseline(golden, manifest, run.scores, run.outputs)
    _keep_system(golden, run)


def _keep_system(golden: GoldenSet, run: Run) -> None:
    """Keep the prompt file of an accepted run, if it is still the one that ran."""
    if golden.folder is None:
        return
    path = golden.folder / "baseline" / SYSTEM_FILE
    try:
        system = load_system(golden, run.manifest["system"])
    except InputError:  # it ran from elsewhere
        system = None
    source = system.path if isinstance(system, PromptSystem) else None
    if (
        system is not None
        and source is not None
        and (system.fingerprint == run.manifest["system_fingerprint"])
    ):
        write_atomically(path, source.read_bytes())
    elif path.exists():
        path.unlink()


def check_acceptable(
    golden: GoldenSet, run: Run, *, environment: Mapping[str, str], removed: Sequence[str] = ()
) -> None:
    """Refuse a run that must not become the baseline.

    Raises
    ------
    InputError
        Where `CI` is set, when the golden set changed since the run, when the run is
        inconclusive for another reason than that there is no baseline or that what `removed`
        names is gone, and when a case or expectation in `removed` is still there.
    """
    if environment.get("CI"):
        raise InputError(
            "a baseline is not accepted in CI: accept it at a desk and have the commit reviewed"
        )
    check_suite(golden, run)
    if run.manifest.get("golden_version") != golden.version:
        raise InputError(
            f"run {run.manifest.get('run_id')} is of golden version "
            f"{run.manifest.get('golden_version')}, the suite is at {golden.version}: run it again"
        )
    if run.scores["na_reason"].eq(NaReason.CURTAILED).any():
        raise InputError(
            "the run stopped early and lacks answers: run it whole, without `stop_early` in suite.toml"
        )
    still_there = [name for name in removed if _is_there(golden, name)]
    if still_there:
        raise InputError(f"these are not removed: {', '.join(still_there)}")
    doubts = [
        row
        for row in to_records(_decided_now(golden, run))
        if row["outcome"] == Outcome.INCONCLUSIVE
        and row["rule"] != "no_baseline"
        and not (row["rule"] == "gone" and _gone_name(row) in removed)
    ]
    if doubts:
        listed = "\n".join(f"  {_place(row)}: {row['reason']}" for row in doubts)
        gone = [_gone_name(row) for row in doubts if row["rule"] == "gone"]
        hint = "".join(f" --removed {name}" for name in gone)
        remedy = f"\nIf what is gone was removed on purpose, say so with{hint}" if gone else ""
        raise InputError(f"the run is inconclusive and cannot be accepted:\n{listed}{remedy}")


def _decided_now(golden: GoldenSet, run: Run) -> pd.DataFrame:
    """Decide on the run's own scores and today's baseline, whatever the run was told."""
    return decide(
        golden,
        run.scores,
        read_baseline(golden),
        as_of=date.fromisoformat(run.manifest["as_of"]),
        certificates=read_certificates(golden),
        misses=run.misses,
        outputs=run.outputs,
        mode=run.manifest.get("mode"),
    )


def _is_there(golden: GoldenSet, name: str) -> bool:
    case_id, _, scorer = name.partition(":")
    if case_id not in golden:
        return False
    return not scorer or scorer in case_scorers(golden, golden[case_id])


def _gone_name(row: Mapping[str, Any]) -> str:
    return f"{row['case_id']}:{row['scorer']}" if "scorer" in row else str(row["case_id"])


def _place(row: Mapping[str, Any]) -> str:
    parts = [row[name] for name in ("case_id", "scorer") if name in row]
    return " ".join(parts) or "suite"


def baseline_diff(golden: GoldenSet, run: Run) -> list[str]:
    """Say what accepting a run would change, a line for each case and scorer.

    Parameters
    ----------
    golden : the suite
    run : the run to be accepted

    Returns
    -------
    lines such as "refund-1 tool_calls: pass -> fail"
        Cases and scorers that stay as they are have none.
    """
    baseline = read_baseline(golden)
    before = _states(baseline.counts) if baseline else {}
    now = _states(count(run.scores))
    pairs = [*now, *(pair for pair in before if pair not in now)]
    return [
        f"{case_id} {scorer}: {before.get((case_id, scorer), 'absent')} -> "
        f"{now.get((case_id, scorer), 'absent')}"
        for case_id, scorer in pairs
        if before.get((case_id, scorer)) != now.get((case_id, scorer))
    ]


def _states(counts: pd.DataFrame) -> dict[tuple[str, str], str]:
    shown = counts[counts["scorer"] != RULES]
    return {(row["case_id"], row["scorer"]): _state(row) for row in to_records(shown)}


def _state(row: Mapping[str, Any]) -> str:
    if row["n_scored"] == 0:
        return "not scored"
    if row["n_scored"] == 1:
        return "pass" if row["n_passed"] else "fail"
    return f"{row['n_passed']} of {row['n_scored']} pass"
