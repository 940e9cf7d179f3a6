"""Two sides beside each other, in all that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.baseline import CASE
from evalnb.comparing.judged import judged_pairs
from evalnb.comparing.scores import paired_scores
from evalnb.comparing.sides import open_sides, suite_of
from evalnb.frames import to_records
from evalnb.holdout import holdout_cases
from evalnb.phrases import LEVEL, phrase_changes
from evalnb.reports.differences import DIFFERENCES, Earlier, found
from evalnb.shifts import SHIFTS, shifts
from evalnb.slicing import Slices
from evalnb.stats.multiplicity import adjusted
from evalnb.stats.paired_means import paired_ratio_row
from evalnb.stats.values import numbers

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.comparing.sides import Side
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy

__all__ = ["Comparison", "compare", "open_comparison", "usage"]

_USAGE = ("input_tokens", "output_tokens", "cost_usd", "latency_ms")


@dataclass(frozen=True)
class Comparison:
    """Two sides beside each other.

    Attributes
    ----------
    golden : the cases
    a, b : the sides; what is said to fall or rise does so from a to b
    n_answers, n_same : answers that both sides have, and how many of them are the same to the
        letter, tool calls included
    scores : a paired scores frame
    usage : a shifts frame of tokens, cost and latency, as ratios
    phrases : wording that changed
    shifts : a shifts frame
    cases : a differences frame: the answers that are not the same, what got worse first
    pairs : a pairs frame: which answer a judge finds better; empty where there are no recordings
    """

    golden: GoldenSet
    a: Side
    b: Side
    n_answers: int
    n_same: int
    scores: pd.DataFrame
    usage: pd.DataFrame
    phrases: PhraseStudy
    shifts: pd.DataFrame
    cases: pd.DataFrame
    pairs: pd.DataFrame

    @property
    def is_same(self) -> bool:
        """Whether both sides gave the same answers and were scored alike."""
        apart = self.scores["estimate"].fillna(0).ne(0).any()
        return self.n_answers > 0 and self.n_same == self.n_answers and not apart


def open_comparison(a: str, b: str, suite: str = "") -> Comparison:
    """Open two sides by name and compare them.

    Parameters
    ----------
    a, b : run folders, `baseline`, or systems such as `v2` or a prompt file, which are replayed
    suite : the suite's folder, where neither side says it

    Raises
    ------
    InputError
        If one cannot be used.
    """
    golden = suite_of((a, b), suite)
    return compare(golden, *open_sides(golden, (a, b)))


def compare(
    golden: GoldenSet, a: Side, b: Side, *, pairs: pd.DataFrame | None = None
) -> Comparison:
    """Compare two sides.

    Parameters
    ----------
    golden : the cases
    a, b : the sides
    pairs : what a judge said of both, as `evalnb.judge_pairs` gives it; by default what is recorded

    Raises
    ------
    InputError
        If the suite's judge of pairs cannot be used.
    """
    records = to_records(b.outputs)
    earlier = Earlier(a.name, to_records(a.outputs), _states(a.counts))
    cases = DIFFERENCES.build(found(records, _states(b.counts), earlier))
    both = a.outputs[["case_id", "repeat", "text", "tool_calls"]].merge(
        b.outputs[["case_id", "repeat", "text", "tool_calls"]],
        on=["case_id", "repeat"],
        validate="one_to_one",
    )
    changed = cases[
        cases["text_before"].fillna("").ne(cases["text_now"].fillna(""))
        | cases["tool_calls_before"].astype("string").ne(cases["tool_calls_now"].astype("string"))
    ]
    return Comparison(
        golden=golden,
        a=a,
        b=b,
        n_answers=len(both),
        n_same=len(both) - len(changed),
        scores=paired_scores(golden, a.counts, b.counts),
        usage=usage(a.outputs, b.outputs),
        phrases=phrase_changes(
            a.outputs,
            b.outputs,
            level=LEVEL,
            hidden=holdout_cases(golden),
            clusters=Slices(golden).clusters(),
        ),
        shifts=shifts(a.outputs, b.outputs, refusal_phrases=golden.settings.refusal_phrases),
        cases=cases,
        pairs=judged_pairs(golden, (a, b)) if pairs is None else pairs,
    )


def usage(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare what answers take.

    Parameters
    ----------
    first, second : outputs frames

    Returns
    -------
    a shifts frame : `input_tokens`, `output_tokens`, `cost_usd`, `latency_ms`
        Means are over cases of means over repeats; `estimate` is the geometric mean of the cases'
        ratios. Latency has an interval and a p-value only where both sides are live: a replay
        repeats what was recorded, on another day and machine.
    """
    rows = []
    for metric in _USAGE:
        means = [
            side.groupby("case_id", sort=True)[metric].mean().astype("Float64")
            for side in (first, second)
        ]
        ids = means[0].index.union(means[1].index)
        one, two = (numbers(side.reindex(ids), metric) for side in means)
        row = paired_ratio_row(metric, one, two)
        if metric == "latency_ms" and not (_is_live(first) and _is_live(second)):
            row |= {"ci_low": None, "ci_high": None, "p_value": None, "warnings": ["recorded"]}
        rows.append(row)
    raised = adjusted([row.get("p_value") for row in rows])["p_adjusted"].tolist()
    return SHIFTS.build({**row, "p_adjusted": p} for row, p in zip(rows, raised, strict=True))


def _is_live(outputs: pd.DataFrame) -> bool:
    return bool(outputs["mode"].eq("live").fillna(value=False).all())


def _states(counts: pd.DataFrame) -> dict[str, str]:
    whole = counts[(counts["scorer"] == CASE) & (counts["n_scored"] > 0)]
    return {
        row["case_id"]: "pass"
        if row["n_passed"] == row["n_scored"]
        else ("unstable" if row["n_passed"] else "fail")
        for row in to_records(whole)
    }
