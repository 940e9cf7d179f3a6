"""Gate rule 7: wording that changed between the baseline's answers and the run's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.findings import Row, finding
from evalnb.frames import Outcome, to_records
from evalnb.holdout import shown
from evalnb.matching import normalize
from evalnb.phrases import phrase_changes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    import pandas as pd

    from evalnb.phrases import PhraseStudy
    from evalnb.runs import Run

__all__ = ["PHRASES_RULE", "phrase_rows", "wording_of"]

PHRASES_RULE = "phrases"

_LEVEL = 0.01
"""The phrases' share of the gate's error rate of 0.05."""

_MOST_ROWS = 10
_UNQUOTED = "a wording that only answers to holdout cases have"


def phrase_rows(
    outputs: pd.DataFrame, before: pd.DataFrame, hidden: Collection[str] = ()
) -> Iterator[Row]:
    """Hold the wording of a run against the baseline's.

    Parameters
    ----------
    outputs : an outputs frame of the run
    before : the baseline's outputs
    hidden : ids of holdout cases: a wording that only their answers have is counted, not quoted

    Returns
    -------
    a row of rule `phrases` for each wording that changed, by more than chance, the surest first
        The chance of any where nothing changed is at most 0.01. Where all answers are the same, as
        in replay of a system that was not touched, there is none. Above ten, the others are
        counted in a note.
    """
    if _texts(outputs) == _texts(before):
        return
    study = phrase_changes(before, outputs, level=_LEVEL)
    found = to_records(study.changes)
    visible = _said(outputs, hidden) + _said(before, hidden)
    for row in found[:_MOST_ROWS]:
        row |= _unquoted(row, visible) if hidden else {}
        row["examples"] = [name for name in row["examples"] if name not in hidden]
        yield finding(
            PHRASES_RULE,
            Outcome.FAIL,
            slice=f"phrase={row['phrase']}",
            baseline=row["rate_a"],
            candidate=row["rate_b"],
            reason=_reason(row, study.n_tried),
        )
    if len(found) > _MOST_ROWS:
        reason = f"{len(found) - _MOST_ROWS} more phrases changed: `evalnb compare` lists them"
        yield finding(PHRASES_RULE, Outcome.NOTE, reason=reason)


def wording_of(run: Run) -> PhraseStudy:
    """Return what the rule looked at: the run's answers beside the baseline's.

    Parameters
    ----------
    run : with its baseline; without one there is nothing to compare with, and nothing is found.
        Answers to holdout cases are left out, since wordings are quoted.
    """
    before = run.outputs.head(0) if run.baseline is None else run.baseline.outputs
    after = run.outputs
    if run.golden is not None:
        before, after = shown(run.golden, before), shown(run.golden, after)
    return phrase_changes(before, after, level=_LEVEL)


def _said(outputs: pd.DataFrame, hidden: Collection[str]) -> str:
    """Return what the answers of all but hidden cases say, as phrases are looked for in it."""
    texts = outputs.loc[~outputs["case_id"].isin(hidden), "text"].dropna()
    return "\n".join(f" {' '.join(normalize(text).split())} " for text in texts)


def _unquoted(row: Mapping[str, Any], visible: str) -> dict[str, str]:
    """Return what stands for the wordings of a row that only holdout cases have."""
    return {
        name: _UNQUOTED
        for name in ("phrase", "replaced_by")
        if name in row and " ".join(normalize(row[name]).split()) not in visible
    }


def _texts(outputs: pd.DataFrame) -> set[tuple[Any, ...]]:
    given = outputs[outputs["na_reason"].isna()]
    columns = [given[name].astype("object").fillna("") for name in ("case_id", "repeat", "text")]
    return set(zip(*columns, strict=True))


def _reason(row: Mapping[str, Any], n_tried: int) -> str:
    adjusted = row["p_adjusted"]
    p = "p < 0.001" if adjusted < 0.001 else f"p = {adjusted:.2g}"
    interval = ""
    if "ci_low" in row:
        interval = f" ({row['ci_low']:+.3f} to {row['ci_high']:+.3f})"
    such = f". Such as {', '.join(row['examples'][:3])}" if row["examples"] else ""
    return (
        f"{_what(row)}; {row['difference']:+.3f}{interval} over {row['n_cases']} cases, "
        f"{row['n_changed']} of them changed, {p} among {n_tried:,} phrases tried{such}"
    )


def _what(row: Mapping[str, Any]) -> str:
    rates = f"in {row['rate_a']:.1%} of the answers before, {row['rate_b']:.1%} now"
    match row["change"]:
        case "replaced":
            return (
                f'"{row["phrase"]}" became "{row["replaced_by"]}": the one {rates}, the other '
                f"{row['replacement_rate_a']:.1%} before, {row['replacement_rate_b']:.1%} now"
            )
        case "appeared":
            return f'"{row["phrase"]}" is new: {rates}'
        case "vanished":
            return f'"{row["phrase"]}" is gone: {rates}'
        case _:
            how = "more" if row["difference"] > 0 else "less"
            return f'"{row["phrase"]}" is said {how}: {rates}'
