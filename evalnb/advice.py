"""What judges say beside the decision: advice, until a judge has shown that it can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from evalnb.findings import Row, finding
from evalnb.frames import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.baseline import Baseline

__all__ = ["FULL", "RULE_ONLY", "Tier", "advice_rows", "judge_scorers", "judges_of"]

Tier = Literal["rule_only", "full"]
RULE_ONLY: Tier = "rule_only"
FULL: Tier = "full"
"""Whether the rules alone score, or the judges as well."""

_NEEDING_A_JUDGE = frozenset({"rubric", "reference"})
"""Expectations that no rule can score, whether or not a judge did."""


def judge_scorers(scores: pd.DataFrame, baseline: Baseline | None) -> frozenset[str]:
    """Name the scorers that are judges', in a run or in the baseline."""
    now = scores.loc[scores["tier"] == "judge", "scorer"].unique()
    before = (baseline.manifest.get("judges") or {}) if baseline else {}
    return _NEEDING_A_JUDGE.union(now, before)


def judges_of(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Say who gave the verdicts of a run.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    scorer to `fingerprint`, `model` as asked and `answered`, a list of ids as the API gave them
        Only scorers with a verdict.
    """
    judged = scores[(scores["tier"] == "judge") & scores["judge_fingerprint"].notna()]
    found = {}
    for scorer, rows in judged.groupby("scorer", sort=True):
        found[str(scorer)] = {
            "fingerprint": str(rows["judge_fingerprint"].iloc[0]),
            "model": str(rows["judge_model"].iloc[0]),
            "answered": sorted(rows["judge_model_answered"].dropna().unique()),
        }
    return found


def advice_rows(
    scores: pd.DataFrame, counts: pd.DataFrame, baseline: Baseline | None
) -> Iterator[Row]:
    """Return a note for each judge's scorer, and for each judge that is another by now.

    Parameters
    ----------
    scores : a scores frame
    counts : a baseline frame of it
    baseline : the accepted run, None before the first
    """
    now = judges_of(scores)
    before = (baseline.manifest.get("judges") or {}) if baseline else {}
    for scorer, judge in now.items():
        if scorer in before and (change := _change(before[scorer], judge)):
            reason = f"{change}: scores of the two do not compare"
            yield finding("judge_changed", Outcome.NOTE, scorer=scorer, reason=reason)
    for scorer in now:
        yield _advice(scorer, counts, baseline, comparable=_same(before.get(scorer), now[scorer]))
    if before and not now:
        reason = (
            f"the judges were not asked, so that {', '.join(sorted(before))} are not compared "
            "with the baseline"
        )
        yield finding("not_compared", Outcome.NOTE, reason=reason)


def _advice(
    scorer: str, counts: pd.DataFrame, baseline: Baseline | None, *, comparable: bool
) -> Row:
    means = counts.loc[counts["scorer"] == scorer].set_index("case_id")["mean"].dropna()
    reason = f"mean {means.mean():.2f} over {len(means)} cases"
    values: dict[str, float] = {"candidate": float(means.mean())} if len(means) else {}
    if baseline is not None and comparable:
        old = baseline.counts.loc[baseline.counts["scorer"] == scorer].set_index("case_id")["mean"]
        both = means.index.intersection(old.dropna().index)
        if len(both):
            values = {"baseline": float(old[both].mean()), "candidate": float(means[both].mean())}
            reason += (
                f"; over the {len(both)} that the baseline has too, {values['candidate']:.2f} "
                f"after {values['baseline']:.2f}"
            )
    reason = reason if len(means) else "no verdict could be had"
    reason += ". No certificate: verdicts are advisory"
    return finding("advisory_judge", Outcome.NOTE, scorer=scorer, reason=reason, **values)


def _change(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if before.get("answered") != now["answered"]:
        return f"the judge's model answered as {_names(before)} in the baseline, {_names(now)} now"
    if before.get("fingerprint") != now["fingerprint"]:
        return f"the judge changed: {before.get('fingerprint')} to {now['fingerprint']}"
    return ""


def _same(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    return before is not None and not _change(before, now)


def _names(judge: Mapping[str, Any]) -> str:
    return ", ".join(judge.get("answered") or []) or "nobody"
