"""What sways a judge, in a terminal: lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records
from evalnb.probes.loading import PROBES
from evalnb.reports.numbers import count, difference, interval, rate, tokens
from evalnb.reports.text import one_line
from evalnb.reports.views import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.probe_evidence import LimitState

__all__ = ["describe_effects", "describe_limits"]

_SAID = {
    "shift": "{} of a level",
    "self_flip_rate": "{} of repeated verdicts differ",
    "success_rate": "{} of attacked bad answers pass",
    "above_lowest": "{} of answers that deserve the lowest level get a higher one",
    "conflict_rate": "{} of pairs get another verdict in the other order",
    "net_first_preference": "{} for the first place over the second",
    "self_preference": "follows people {} more often to its own family's answer than to another's",
    "longer_preference": "{} for the longer answer over the shorter",
}
_SIGNED = {"shift", "net_first_preference", "longer_preference", "self_preference"}


def describe_effects(
    verdicts: pd.DataFrame, effects: pd.DataFrame, advice: Mapping[str, str] | None = None
) -> list[str]:
    """Write what each probe did to each scorer of a judge, and what to change.

    Parameters
    ----------
    verdicts : a frame of probe verdicts
    effects : what follows from them
    advice : probe to what to change; by default what the package says of its own
    """
    if advice is None:
        advice = {name: probe.advice for name, probe in PROBES.items()}
    lines = []
    for name, asked in verdicts.groupby("judge", sort=False):
        lines.append(_judge_line(str(name), asked))
        shown = effects["headline"] | (effects["metric"] == "conflict_rate")
        of_judge = effects[(effects["judge"] == name) & shown]
        for scorer, rows in of_judge.groupby("scorer", sort=False):
            lines.append(f"  {one_line(str(scorer))}")
            lines += [f"    {_effect_line(row)}" for row in to_records(rows)]
        lines += [f"  {line}" for line in _advice(of_judge, advice)]
    return lines


def describe_limits(states: Sequence[LimitState]) -> list[str]:
    """Write how the axes stand against the limits of the suite.

    Parameters
    ----------
    states : as `evalnb.suite_limits` gives them
    """
    return [
        f"{state.setting}, {one_line(state.scorer)}: {state.state.upper()}, "
        f"{'may count' if state.counts else 'does not count'} in the gate: {one_line(state.why, limit=400)}"
        for state in states
    ]


def _judge_line(name: str, asked: pd.DataFrame) -> str:
    once = asked.drop_duplicates(["request_key", "judge_repeat"])
    missing = once["na_reason"].dropna()
    line = f"judge {one_line(name)}: {count(len(once) - len(missing), 'verdict')}"
    if len(missing):
        reasons = ", ".join(f"{why} {n}" for why, n in missing.value_counts().items())
        line += f", {tokens(len(missing))} missing ({reasons})"
    cases = asked["case_id"].nunique()
    return f"{line}, on answers of {count(cases, 'case')}"


def _effect_line(row: Mapping[str, Any]) -> str:
    name = one_line(row["probe"])
    if "estimate" not in row:
        return f"{name}: not known, {words(row.get('reason', 'too_few'))}"
    value = difference if row["metric"] in _SIGNED else rate
    said = _SAID.get(row["metric"], f"{one_line(row['metric'])} {{}}").format(
        value(row["estimate"])
    )
    if "ci_low" in row:
        said += f" ({interval(row['ci_low'], row['ci_high'])})"
    if row.get("floor"):
        said += f", without the change {value(row['floor'])}"
    counted = f"{row['n']}" + (f" of {row['n'] + row['n_left_out']}" if row["n_left_out"] else "")
    return f"{name}: {said}, n = {counted}: {_verdict(row)}"


def _verdict(row: Mapping[str, Any]) -> str:
    if "real" not in row:
        return "its noise is not known"
    if row["matters"]:
        return "MORE THAN NOISE, AND IT MATTERS"
    if row["real"]:
        return "more than noise, too small to matter"
    return "not shown to be more than noise"


def _advice(effects: pd.DataFrame, advice: Mapping[str, str]) -> Iterator[str]:
    mattering = effects[effects["matters"].fillna(value=False)]
    for name in mattering["probe"].unique():
        if advice.get(str(name)):
            yield f"{one_line(str(name))}: {one_line(advice[str(name)])}"
