"""Six months of nightly runs, labels, a certificate, waivers and traffic, made by one call."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from evalnb.advice import by_basis, judges_of, same_basis
from evalnb.ageing import OLD_DAYS
from evalnb.baseline import pass_rates
from evalnb.certificates import write_certificate
from evalnb.certifying import certify
from evalnb.curation.labels import read_labels
from evalnb.demo.labels import write_labels
from evalnb.demo.plan import NEWER_CASES, NIGHTS, Event, plan_nights
from evalnb.demo.recordings import demo_suite, replayed
from evalnb.demo.texts import SYNTHETIC
from evalnb.demo.traffic import write_traffic
from evalnb.demo.verdicts import lowered
from evalnb.errors import InputError
from evalnb.gate import decide, exit_code, outcome
from evalnb.golden import read_golden
from evalnb.holdout import HOLDOUT
from evalnb.jsontext import dump_json, write_atomically
from evalnb.prices import response_cost_usd
from evalnb.results import read_run, write_run
from evalnb.rollout import Override
from evalnb.runs import Run, run_figures
from evalnb.scoring import slices, summarize

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pandas as pd

    from evalnb.demo.plan import Night
    from evalnb.demo.recordings import Recordings
    from evalnb.golden import GoldenSet

__all__ = ["DemoHistory", "make_demo_history", "read_demo_history"]

_ABOUT = "demo.json"
_DATED = {"as_of", "started_at", "finished_at"}
_PRICED_AS = "claude-haiku-4-5-20251001"
_NEWEST = 8
_OLD_CASES, _OLD = 30, 240
_CERTIFIED = 105
_REASON = "synthetic: the demo's override, to show that one is listed"


@dataclass(frozen=True)
class DemoHistory:
    """A demo history on disk, and what was planted in it.

    Attributes
    ----------
    folder : a project: `golden/support`, `results`, `logs`
    as_of : the day of its last night
    events : what was planted, in order of time
    flaky : cases that fail now and then
    contrary : the category whose thumbs go against the scores
    """

    folder: Path
    as_of: date
    events: tuple[Event, ...]
    flaky: tuple[str, ...]
    contrary: str

    @property
    def suite(self) -> Path:
        """The suite's folder."""
        return self.folder / "golden" / "support"

    @property
    def logs(self) -> Path:
        """The log of its traffic."""
        return self.folder / "logs" / "synthetic.jsonl"


def make_demo_history(folder: Path, as_of: date, *, seed: int = 0) -> DemoHistory:
    """Make a project with six months of nightly runs that nobody ran, all of it marked as synthetic.

    The answers, rule scores and verdicts are replayed from the support suite's recordings under two
    prompts. Planted are a new version of the golden set, a regression, a change of the judge and a
    drift; what a run cost is its tokens at the list price of a model that did not answer.

    Parameters
    ----------
    folder : missing, or empty; git ignores what is in it
    as_of : the day of the last night
    seed : of what varies by itself

    Raises
    ------
    InputError
        If the folder holds anything.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty: name a new folder for the demo")
    recordings = replayed(as_of)
    newest = _newest(recordings)
    plan = plan_nights(recordings.worse, newest, as_of, seed=seed)
    golden = _lay_out(folder, newest, as_of)
    maker = _Maker(recordings, golden, frozenset(newest), folder / "results")
    nights = [(night, maker.write(night)) for night in plan.nights]
    write_labels(golden, recordings.first.scores, nights, golden_labels(golden), seed=seed)
    _certify(golden, maker.root, nights[_CERTIFIED])
    _waive(golden, recordings, plan.flaky[0], as_of)
    first = recordings.first
    logs = folder / "logs" / "synthetic.jsonl"
    contrary = write_traffic(golden, first.outputs, first.results, plan.nights, logs, seed=seed)
    demo = DemoHistory(folder, as_of, plan.events, plan.flaky, contrary)
    _write_about(demo)
    return demo


def read_demo_history(folder: Path) -> DemoHistory | None:
    """Read what a demo history is; None where there is none, or another version of evalnb made it."""
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        if about["evalnb"] != version("evalnb"):
            return None
        events = tuple(
            Event(
                one["kind"],
                date.fromisoformat(one["first"]),
                date.fromisoformat(one["last"]),
                tuple(one["cases"]),
            )
            for one in about["events"]
        )
        as_of = date.fromisoformat(about["as_of"])
        return DemoHistory(folder, as_of, events, tuple(about["flaky"]), about["contrary"])
    except (OSError, LookupError, TypeError, ValueError):
        return None


def golden_labels(golden: GoldenSet) -> Path:
    """Return where the labels of the demo's suite are."""
    if golden.folder is None:
        raise InputError("only a suite has labels")
    return golden.folder / "labels"


@dataclass(frozen=True)
class _Maker:
    """Writes nights; what several of them share is made once."""

    recordings: Recordings
    golden: GoldenSet
    newest: frozenset[str]
    root: Path

    @cached_property
    def _written(self) -> dict[tuple[Any, ...], tuple[str, date]]:
        """What was planned for a night to the first run like it, and its day."""
        return {}

    def write(self, night: Night) -> str:
        """Write the run of a night and return its id."""
        digest = hashlib.sha256(night.day.isoformat().encode()).hexdigest()
        run_id = f"{night.day:%Y%m%d}T020000Z-{digest[:6]}"
        runs = self.root / self.golden.settings.name
        folder = runs / run_id
        folder.mkdir(parents=True)
        key = (night.whole, night.of_second, night.regressed, night.judge_changed, night.overridden)
        if key in self._written:
            _copy_run(runs / self._written[key][0], folder, *self._written[key], night.day)
        else:
            write_run(folder, _dated(self._make(night), run_id, night.day), reports=False)
            self._written[key] = (run_id, night.day)
        return run_id

    def _make(self, night: Night) -> Run:
        golden = self.golden if night.whole else self.golden.remove(sorted(self.newest))
        cases = [case.id for case in golden]
        outputs, scores = self.recordings.mixed(night.of_second, cases)
        if night.judge_changed:
            scores = lowered(golden, scores)
        baseline = self.recordings.baseline_of(cases)
        results = summarize(golden, outputs, scores)
        override = Override(_REASON, "the demo") if night.overridden else None
        system = self.recordings.second if night.regressed else self.recordings.first
        fingerprint = system.manifest["system_fingerprint"]
        decision = decide(
            golden,
            scores,
            baseline,
            as_of=night.day,
            system_fingerprint=fingerprint,
            mode="live",
            override=override,
        )
        rates = pass_rates(by_basis(baseline.counts, same=same_basis(scores, baseline)))
        manifest = {
            **self.recordings.first.manifest,
            "system_fingerprint": fingerprint,
            "mode": "live",
            "golden_version": golden.version,
            "judges": judges_of(scores),
            "override": None if override is None else asdict(override),
            "figures": run_figures(results),
            "outcome": outcome(decision),
            "notice": SYNTHETIC,
            "synthetic": SYNTHETIC,
            "git_commit": None,
            "record_command": None,
            **_costs(outputs, self.recordings.first.verdicts, set(cases) - set(night.of_second)),
        }
        return Run(
            manifest=manifest,
            outputs=outputs,
            scores=scores,
            results=results,
            slices=slices(results, golden.settings.slices, rates),
            decision=decision,
            misses=self.recordings.first.misses,
            outcome=outcome(decision),
            exit_code=exit_code(decision),
        )


def _dated(run: Run, run_id: str, day: date) -> Run:
    manifest = {
        **run.manifest,
        "run_id": run_id,
        "as_of": day.isoformat(),
        "started_at": f"{day.isoformat()}T02:00:00+00:00",
        "finished_at": f"{day.isoformat()}T02:05:00+00:00",
    }
    return replace(
        run,
        manifest=manifest,
        outputs=run.outputs.assign(run_id=run_id).astype({"run_id": "string"}),
        scores=run.scores.assign(run_id=run_id).astype({"run_id": "string"}),
    )


def _copy_run(source: Path, folder: Path, run_id: str, day: date, new_day: date) -> None:
    """Copy a run as that of another night: its id, and in the manifest its day, are others."""
    for path in sorted(source.iterdir()):
        content = path.read_bytes().replace(run_id.encode(), folder.name.encode())
        if path.name in ("run.json", "report.json"):
            whole = json.loads(content)
            for name in _DATED & whole.keys():
                whole[name] = whole[name].replace(day.isoformat(), new_day.isoformat())
            content = json.dumps(whole, ensure_ascii=False).encode()
        (folder / path.name).write_bytes(content)


def _costs(outputs: pd.DataFrame, verdicts: pd.DataFrame, judged: set[str]) -> dict[str, float]:
    """Price the tokens of a night as if a model with a price had been asked."""
    of_judge = _usd(verdicts[verdicts["case_id"].isin(sorted(judged))])
    return {"cost_usd": _usd(outputs) + of_judge, "judge_cost_usd": of_judge}


def _usd(rows: pd.DataFrame) -> float:
    usage = {name: int(rows[name].sum()) for name in ("input_tokens", "output_tokens")}
    return response_cost_usd({"model": _PRICED_AS, "usage": usage}) or 0.0


def _newest(recordings: Recordings) -> list[str]:
    """Name the cases that come later: the last ones that nothing else is planted in."""
    free = [case.id for case in recordings.golden if case.id not in recordings.worse]
    return free[-_NEWEST:]


def _date_cases(path: Path, newest: Collection[str], as_of: date) -> None:
    """Write when cases were added, as the demo has it: the first ones long before its first night."""
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, case in enumerate(cases):
        old = number < _OLD_CASES
        days = NIGHTS - NEWER_CASES - 1 if case["id"] in newest else _OLD if old else OLD_DAYS
        case["added"] = (as_of - timedelta(days=days)).isoformat()
    path.write_text("".join(f"{dump_json(case)}\n" for case in cases), encoding="utf-8")


def _lay_out(folder: Path, newest: Collection[str], as_of: date) -> GoldenSet:
    suite = folder / "golden" / "support"
    shutil.copytree(demo_suite(), suite, ignore=shutil.ignore_patterns("cassettes", "labels"))
    _date_cases(suite / "cases.jsonl", newest, as_of)
    (folder / ".gitignore").write_text("# Synthetic: never to be committed.\n*\n", encoding="utf-8")
    (folder / "SYNTHETIC.md").write_text(f"{SYNTHETIC}\n", encoding="utf-8")
    return read_golden(suite)


def _certify(golden: GoldenSet, root: Path, last: tuple[Night, str]) -> None:
    """Certify the judge by the labels there were on a day."""
    night, run_id = last
    labels, _ = read_labels(golden)
    known = labels[labels["at"].str[:10] <= night.day.isoformat()].reset_index(drop=True)
    run = read_run(root / golden.settings.name / run_id)
    for certificate in certify(golden, run, known, issued=night.day):
        write_certificate(golden, certificate)


def _waive(golden: GoldenSet, recordings: Recordings, flaky: str, as_of: date) -> None:
    results = recordings.first.results
    failing = [
        case_id
        for case_id in results.loc[results["state"].eq("fail").fillna(value=False), "case_id"]
        if golden[case_id].split != HOLDOUT
    ]
    rows = (
        (failing[0], "known_failing", as_of + timedelta(days=9)),
        (flaky, "quarantined", as_of + timedelta(days=45)),
        (failing[1], "overridden", as_of - timedelta(days=4)),
    )
    lines = [
        line
        for case_id, kind, expires in rows
        for line in (
            "[[waivers]]",
            f"case = {dump_json(case_id)}",
            f'kind = "{kind}"',
            'reason = "synthetic: made by evalnb demo-history"',
            'owner = "nobody (synthetic)"',
            f"expires = {expires.isoformat()}",
            "",
        )
    ]
    assert golden.folder is not None  # noqa: S101 - it was read from one
    (golden.folder / "waivers.toml").write_text("\n".join(lines), encoding="utf-8")


def _write_about(demo: DemoHistory) -> None:
    about = {
        "synthetic": SYNTHETIC,
        "evalnb": version("evalnb"),
        "as_of": demo.as_of.isoformat(),
        "events": [
            {**asdict(event), "first": event.first.isoformat(), "last": event.last.isoformat()}
            for event in demo.events
        ],
        "flaky": list(demo.flaky),
        "contrary": demo.contrary,
    }
    write_atomically(demo.folder / _ABOUT, f"{json.dumps(about, indent=1)}\n".encode())
