"""Gate rule 7: wording that changed between the baseline's answers and the run's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.findings import Row, finding
from evalnb.frames import PHRASES, Outcome, to_records
from evalnb.holdout import holdout_cases
from evalnb.phrases import PhraseStudy, n_clusters, phrase_changes, smallest_rate
from evalnb.slicing import Slices
from evalnb.stats.levels import PHRASES as LEVEL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date
    from typing import Any

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run
    from evalnb.waivers import Wording

__all__ = ["PHRASES_RULE", "phrase_rows", "suite_wording", "wording_of", "wording_since"]

PHRASES_RULE = "phrases"

_MOST_ROWS = 10


def wording_since(
    outputs: pd.DataFrame,
    before: pd.DataFrame,
    hidden: Collection[str] = (),
    clusters: Mapping[str, str] | None = None,
) -> PhraseStudy:
    """Hold the wording of a run against the baseline's.

    Parameters
    ----------
    outputs : an outputs frame of the run
    before : the baseline's outputs
    hidden : ids of holdout cases: what only their answers say is not quoted
    clusters : case id to its conversation, of cases that share one

    Returns
    -------
    the study, at the phrases' share of the gate's error rate
        Where all answers are the same, as in replay of a system that was not touched, nothing is
        tried.
    """
    if _texts(outputs) != _texts(before):
        return phrase_changes(before, outputs, level=LEVEL, hidden=hidden, clusters=clusters)
    repeats = outputs.loc[outputs["na_reason"].isna(), "case_id"].value_counts()
    n_cases, n_repeats = len(repeats), int(repeats.max()) if len(repeats) else 0
    n_units = n_clusters(repeats.index, clusters or {})
    return PhraseStudy(
        changes=PHRASES.empty(),
        n_cases=n_cases,
        n_repeats=n_repeats,
        n_left_out=0,
        n_tried=0,
        level=LEVEL,
        smallest_rate=smallest_rate(n_units, n_repeats, 0, LEVEL),
    )


def suite_wording(golden: GoldenSet, outputs: pd.DataFrame, before: pd.DataFrame) -> PhraseStudy:
    """Do the same for a suite, whose holdout cases are not quoted and conversations are one."""
    return wording_since(outputs, before, holdout_cases(golden), Slices(golden).clusters())


def phrase_rows(study: PhraseStudy, wordings: Sequence[Wording], as_of: date) -> Iterator[Row]:
    """Say which wordings changed, and which of these changes are accepted.

    Parameters
    ----------
    study : as `wording_since` gives it
    wordings : the changes that `waivers.toml` accepts
    as_of : the day that they are compared with

    Returns
    -------
    a row of rule `phrases` for each wording that changed by more than chance, the surest first
        The chance of any where nothing changed is at most 0.01. Above ten, the others are counted
        in a note. A change that is accepted is a note, `waived`; so is, as `waived_passing`, what
        is accepted and did not happen. What was accepted up to an earlier day blocks, rule
        `waiver`.
    """
    held = [wording for wording in wordings if wording.holds(as_of)]
    blocking = []
    for row in to_records(study.changes):
        accepted = next((wording for wording in held if wording.covers(row)), None)
        if accepted is None:
            blocking.append(row)
        else:
            reason = f"{_reason(row, study.n_tried)}. {accepted.text}"
            yield finding("waived", Outcome.NOTE, reason=reason, **_shared(row))
    for row in blocking[:_MOST_ROWS]:
        reason = _reason(row, study.n_tried)
        yield finding(PHRASES_RULE, Outcome.FAIL, reason=reason, **_shared(row))
    if len(blocking) > _MOST_ROWS:
        reason = f"{len(blocking) - _MOST_ROWS} more phrases changed: `evalnb compare` lists them"
        yield finding(PHRASES_RULE, Outcome.NOTE, reason=reason)
    yield from _without_effect(study, wordings, as_of)


def wording_of(run: Run) -> PhraseStudy:
    """Return what the rule looked at: the run's answers beside the baseline's.

    Parameters
    ----------
    run : with its baseline; without one there is nothing to compare with, and nothing is found
    """
    if run.wording is not None:
        return run.wording
    before = run.outputs.head(0) if run.baseline is None else run.baseline.outputs
    if run.golden is None:
        return wording_since(run.outputs, before)
    return suite_wording(run.golden, run.outputs, before)


def _without_effect(study: PhraseStudy, wordings: Sequence[Wording], as_of: date) -> Iterator[Row]:
    found = to_records(study.changes)
    for wording in wordings:
        place = f"accepted phrase={wording.phrase}"
        if wording.replaced_by is not None:
            place += f", {wording.replaced_by}"
        if not wording.holds(as_of):
            reason = f"the accepted wording expired. {wording.text}. Renew or delete it."
            yield finding("waiver", Outcome.FAIL, slice=place, reason=reason)
        elif not any(wording.covers(row) for row in found):
            reason = f"did not change, though it may. {wording.text}"
            yield finding("waived_passing", Outcome.NOTE, slice=place, reason=reason)


def _shared(row: Mapping[str, Any]) -> Row:
    evidence = ("ci_low", "ci_high", "p_value", "p_adjusted", "method")
    return {
        "slice": f"phrase={row['phrase']}",
        "baseline": row["rate_a"],
        "candidate": row["rate_b"],
        "estimate": row["difference"],
        "n": row["n_cases"],
        **{name: row[name] for name in evidence if name in row},
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
