"""The baseline: the last accepted run, a reviewed file in git."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.errors import InputError, Problem
from evalnb.frames import BASELINE, OUTPUTS, is_accident, to_records
from evalnb.jsontext import (
    MAX_WRITTEN_LINE_BYTES,
    JsonProblem,
    dump_json,
    parse_json,
    read_lines,
    write_atomically,
)
from evalnb.stored import stored_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evalnb.golden import GoldenSet

__all__ = [
    "CASE",
    "RULES",
    "SYSTEM_FILE",
    "Baseline",
    "count",
    "keep_first",
    "pass_rates",
    "read_baseline",
    "write_baseline",
]

CASE = "(case)"
"""Stands in the `scorer` column for the case as a whole."""
RULES = "(rules)"
"""Stands there for the case by its rules alone, where certified judges decide on the whole too."""

SYSTEM_FILE = "system.toml"
"""In a baseline's folder, the prompt file of its system as it was: it can be asked again."""

_FIRST = "first"
"""In a baseline's folder, the first that was accepted for the golden version."""

_CASE, _RULES = -1, -2
_FORMAT = 1
_REMEDY = "Restore it from git, or accept a baseline anew."
_COUNTS = ("n_repeats", "n_scored", "n_passed", "n_na")
_OUTPUT_COLUMNS = (
    *("case_id", "repeat", "output_hash", "model", "text", "tool_calls", "stop_reason"),
    *("output_tokens", "cost_usd", "latency_ms", "na_reason"),
)


@dataclass(frozen=True)
class Baseline:
    """An accepted run.

    Attributes
    ----------
    manifest : golden version, system, reason and the like, as in `baseline.json`
    counts : a baseline frame
    outputs : an outputs frame with the texts, their output tokens and latency; baselines of
        earlier versions have texts alone
    first : the first baseline that was accepted for this golden version, None where that is this one
    """

    manifest: Mapping[str, Any]
    counts: pd.DataFrame
    outputs: pd.DataFrame
    first: Baseline | None = None


def count(scores: pd.DataFrame) -> pd.DataFrame:
    """Count repeats, passes and missing values of a run.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    a baseline frame: a row a case and scorer, and one a case with the scorer `(case)`
        The case as a whole counts as `evalnb.frames.RESULTS` says. Where a certified judge decides
        too, there is one more a case, `(rules)`, by the rules alone.
    """
    if scores.empty:
        return BASELINE.empty()
    cases, case_ids = pd.factorize(scores["case_id"])
    scorers, names = pd.factorize(scores["scorer"])
    passed = scores["passed"]
    rows = pd.DataFrame(
        {
            "case": cases,
            "scorer": scorers,
            "repeat": scores["repeat"].to_numpy("int64"),
            "scored": passed.notna().to_numpy(),
            "passed": passed.fillna(value=False).to_numpy(bool),
            "failed": (~passed.fillna(value=True)).to_numpy(bool),
            "accident": is_accident(scores["na_reason"]).to_numpy(bool),
            "is_rule": scores["tier"].ne("judge").fillna(value=True).to_numpy(bool),
            "certified": scores["advisory"].eq(other=False).fillna(value=False).to_numpy(bool),
            "value": scores["value"].where(passed.notna()).to_numpy("float64", na_value=math.nan),
        }
    )
    # Those of the cases come first, and stay so.
    parts = [_case_counts(rows, rows["is_rule"] | rows["certified"], _CASE)]
    if rows["certified"].any():
        parts.append(_case_counts(rows, rows["is_rule"], _RULES))
    counted = pd.concat([*parts, _scorer_counts(rows)]).sort_values(
        "case", kind="stable", ignore_index=True
    )
    scorer = pd.Series(names.take(counted["scorer"].clip(lower=0).to_numpy()))
    for code, name in ((_CASE, CASE), (_RULES, RULES)):
        scorer = scorer.mask(counted["scorer"] == code, name)
    return BASELINE.check(
        counted.assign(
            case_id=case_ids.take(counted["case"].to_numpy()),
            scorer=scorer,
            n_na=counted["n_repeats"] - counted["n_scored"],
        ).drop(columns="case")
    )


def pass_rates(counts: pd.DataFrame) -> dict[str, float]:
    """Return case id to pass rate, for the cases that were scored."""
    return {
        row["case_id"]: row["mean"]
        for row in to_records(counts)
        if row["scorer"] == CASE and "mean" in row
    }


def read_baseline(golden: GoldenSet) -> Baseline | None:
    """Read a suite's baseline; None where none was accepted yet.

    Raises
    ------
    InputError
        If a file of the baseline is damaged.
    """
    folder = _folder(golden)
    found = _read(golden, folder)
    if found is None:
        return None
    first = _read(golden, folder / _FIRST)
    is_older = first is not None and _version(first) == _version(found)
    return replace(found, first=first) if is_older else found


def keep_first(golden: GoldenSet, golden_version: str | None) -> None:
    """Keep the first accepted baseline of a golden version beside the one that is to come.

    Runs that each fall by less than the margin are held against it, too.

    Parameters
    ----------
    golden : the suite, with its present baseline
    golden_version : of the baseline that is to come; None where it starts anew, as a run does that
        is accepted though it is blocked
    """
    folder = _folder(golden)
    first = folder / _FIRST
    names = ("outputs.jsonl", "baseline.json")
    present = _read(golden, folder)
    older = _read(golden, first)
    goes_on = golden_version is not None
    if goes_on and older is not None and _version(older) == golden_version:
        return
    if goes_on and present is not None and _version(present) == golden_version:
        first.mkdir(exist_ok=True)
        for name in names:
            write_atomically(first / name, (folder / name).read_bytes())
    elif first.is_dir():
        for name in names:
            if (first / name).exists():
                (first / name).unlink()
        first.rmdir()


def _version(baseline: Baseline) -> Any:
    return baseline.manifest.get("golden_version")


def _read(golden: GoldenSet, folder: Path) -> Baseline | None:
    path = folder / "baseline.json"
    if not path.exists():
        return None
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except JsonProblem as problem:
        raise _damaged(path, problem.message, problem.field) from problem
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, f"cannot be read: {error}.") from error
    found = content.get("format") if isinstance(content, dict) else None
    if found != _FORMAT:
        raise _damaged(path, f"has format {found!r}; this version reads {_FORMAT}.")
    manifest = {name: value for name, value in content.items() if name != "cases"}
    if manifest.get("suite") not in (None, golden.settings.name):
        raise _damaged(path, f"is of suite {manifest['suite']!r}, not of {golden.settings.name!r}.")
    if not isinstance(manifest.get("system", {}), dict):
        raise _damaged(path, "says nothing of the system that can be read.", "system")
    counts = _read_counts(path, content.get("cases"))
    texts = folder / "outputs.jsonl"
    outputs = _read_outputs(texts)
    if manifest.get("outputs_sha256") not in (None, _sha256(texts)):
        raise _damaged(texts, "does not belong to baseline.json.")
    return Baseline(manifest, counts, outputs)


def write_baseline(
    golden: GoldenSet, manifest: Mapping[str, Any], scores: pd.DataFrame, outputs: pd.DataFrame
) -> None:
    """Write a run as the suite's baseline; `evalnb.accept_baseline` is what decides on it.

    Parameters
    ----------
    golden : the suite
    manifest : what is kept of the run beside its counts and texts
    scores, outputs : frames of the run
    """
    folder = _folder(golden)
    cases: dict[str, dict[str, Any]] = {}
    for row in to_records(count(scores)):
        scorers = cases.setdefault(row.pop("case_id"), {})
        scorers[row.pop("scorer")] = row
    lines = (
        dump_json({name: row[name] for name in _OUTPUT_COLUMNS if name in row})
        for row in to_records(outputs)
    )
    texts = "".join(f"{line}\n" for line in lines).encode()
    head = {"format": _FORMAT, **manifest, "outputs_sha256": hashlib.sha256(texts).hexdigest()}
    content = _to_json(head, cases)
    # A kill between the two leaves texts that the hash does not fit, and that is said.
    write_atomically(folder / "outputs.jsonl", texts)
    write_atomically(folder / "baseline.json", content)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _case_counts(rows: pd.DataFrame, decides: pd.Series, scorer: int) -> pd.DataFrame:
    """Count the repeats of each case as a whole, by the rows that decide."""
    states = ["scored", "failed", "accident"]
    rows = rows.assign(**{name: rows[name] & decides for name in states})
    repeats = rows.groupby(["case", "repeat"], sort=False)[states].any()
    repeats["scored"] &= ~repeats["accident"]
    repeats["passed"] = repeats["scored"] & ~repeats["failed"]
    grouped = repeats.groupby("case", sort=False)
    counts = grouped.agg(
        n_repeats=("scored", "size"), n_scored=("scored", "sum"), n_passed=("passed", "sum")
    )
    rates = counts["n_passed"] / counts["n_scored"].where(counts["n_scored"] > 0)
    return counts.assign(scorer=scorer, mean=rates).reset_index()


def _scorer_counts(rows: pd.DataFrame) -> pd.DataFrame:
    pair = ["case", "scorer"]
    counts = rows.groupby(pair, sort=False).agg(
        n_repeats=("scored", "size"), n_scored=("scored", "sum"), n_passed=("passed", "sum")
    )
    # Sorted: a sum must not depend on the order of the rows.
    counts["mean"] = rows.sort_values("value").groupby(pair, sort=False)["value"].mean()
    return counts.reset_index()


def _to_json(manifest: Mapping[str, Any], cases: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Write one case a line, so that a diff shows the cases that changed and no others."""
    head = [f" {dump_json(name)}: {dump_json(value)}," for name, value in manifest.items()]
    body = [
        f"  {dump_json(name)}: {dump_json(dict(sorted(cases[name].items())))}"
        for name in sorted(cases)
    ]
    lines = ["{", *head, ' "cases": {', ",\n".join(body), " }", "}"]
    return "\n".join([*lines, ""]).encode()


def _read_counts(path: Path, cases: Any) -> pd.DataFrame:
    if not isinstance(cases, dict):
        raise _damaged(path, "must map each case to its counts.", "cases")
    rows = []
    for case_id, scorers in cases.items():
        if not isinstance(scorers, dict) or CASE not in scorers:
            raise _damaged(path, f"must have counts for {CASE!r}.", f"cases.{case_id}")
        for scorer, counts in scorers.items():
            if not _is_count(counts):
                names = ", ".join(_COUNTS)
                message = f"must have {names}, with `n_passed` ≤ `n_scored` ≤ `n_repeats`."
                raise _damaged(path, message, f"cases.{case_id}.{scorer}")
            rows.append({**counts, "case_id": case_id, "scorer": scorer})
    try:
        return BASELINE.build(rows)
    except ValueError as error:
        raise _damaged(path, f"cannot be read: {error}", "cases") from error


def _is_count(counts: Any) -> bool:
    if not isinstance(counts, dict) or any(type(counts.get(name)) is not int for name in _COUNTS):
        return False
    sizes: list[int] = [0, counts["n_passed"], counts["n_scored"], counts["n_repeats"]]
    return sizes == sorted(sizes)


def _read_outputs(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise _damaged(path, "is missing.")
    lines, problems = read_lines(path, max_line_bytes=MAX_WRITTEN_LINE_BYTES)
    if problems:
        problems = [replace(problem, remedy=_REMEDY) for problem in problems]
        raise InputError("the baseline cannot be used", problems)
    try:
        return stored_frame(OUTPUTS, (line.value for line in lines))
    except ValueError as error:
        raise _damaged(path, f"cannot be read: {error}") from error


def _folder(golden: GoldenSet) -> Path:
    if golden.folder is None:
        raise InputError("only a suite has a baseline: give a suite's folder, not a JSONL file")
    return golden.folder / "baseline"


def _damaged(path: Path, what: str, field: str = "") -> InputError:
    problem = Problem(str(path), 0, field, what, _REMEDY)
    return InputError("the baseline cannot be used", [problem])
