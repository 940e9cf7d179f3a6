"""What the gate says of judges: whose verdicts count, and what the others advise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from evalnb.baseline import CASE, RULES
from evalnb.certificates import counting_scorers
from evalnb.findings import Row, finding
from evalnb.frames import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.certificates import Standing

__all__ = [
    "FULL",
    "RULE_ONLY",
    "Tier",
    "advice_rows",
    "by_basis",
    "comparable_scorers",
    "judge_scorers",
    "judges_of",
    "same_basis",
]

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
    told = scores[["scorer", "tier", "judge_fingerprint", "judge_model", "judge_model_answered"]]
    judged = told[(told["tier"] == "judge") & told["judge_fingerprint"].notna()]
    found = {}
    for scorer, rows in judged.groupby("scorer", sort=True):
        found[str(scorer)] = {
            "fingerprint": str(rows["judge_fingerprint"].iloc[0]),
            "model": str(rows["judge_model"].iloc[0]),
            "answered": sorted(rows["judge_model_answered"].dropna().unique()),
        }
    return found


def comparable_scorers(scores: pd.DataFrame, baseline: Baseline | None) -> frozenset[str]:
    """Name the judges' scorers that the same judge scored in the baseline.

    Parameters
    ----------
    scores : a scores frame
    baseline : the accepted run, None before the first
    """
    before = (baseline.manifest.get("judges") or {}) if baseline else {}
    return frozenset(
        scorer for scorer, judge in judges_of(scores).items() if _same(before.get(scorer), judge)
    )


def same_basis(scores: pd.DataFrame, baseline: Baseline) -> bool:
    """Tell whether the same judges count in a run and in its baseline."""
    counting = counting_scorers(scores)
    before = sorted(baseline.manifest.get("counting") or [])
    return counting == before and comparable_scorers(scores, baseline).issuperset(counting)


def by_basis(counts: pd.DataFrame, *, same: bool) -> pd.DataFrame:
    """Return counts in which the cases as a whole can be compared.

    Parameters
    ----------
    counts : a baseline frame
    same : whether the same judges count on both sides; if not, what the rules alone say of a case
        stands for it
    """
    by_rules = counts["scorer"] == RULES
    if same or not by_rules.any():
        return counts[~by_rules]
    kept = counts[counts["scorer"] != CASE]
    return kept.assign(scorer=kept["scorer"].replace({RULES: CASE}))


def advice_rows(
    scores: pd.DataFrame,
    counts: pd.DataFrame,
    baseline: Baseline | None,
    standings: Mapping[str, Standing],
) -> Iterator[Row]:
    """Return a note for each judge's scorer, and for each judge that is another by now.

    Parameters
    ----------
    scores : a scores frame
    counts : a baseline frame of it
    baseline : the accepted run, None before the first
    standings : scorer to whether its verdicts count, and why
    """
    now = judges_of(scores)
    before = (baseline.manifest.get("judges") or {}) if baseline else {}
    for scorer, judge in now.items():
        if scorer in before and (change := _change(before[scorer], judge)):
            reason = f"{change}: scores of the two do not compare"
            yield finding("judge_changed", Outcome.NOTE, scorer=scorer, reason=reason)
    for scorer in now:
        said, values = _means(
            scorer, counts, baseline, comparable=_same(before.get(scorer), now[scorer])
        )
        rule, standing = _standing(standings.get(scorer))
        yield finding(rule, Outcome.NOTE, scorer=scorer, reason=f"{said}. {standing}", **values)
    if baseline is not None and not same_basis(scores, baseline):
        names = (counting_scorers(scores), baseline.manifest.get("counting") or [])
        counting, counted = (", ".join(found) or "no judge" for found in names)
        reason = (
            f"{counting} counts now, {counted} in the baseline: cases as a whole are compared by "
            "their rules alone"
        )
        yield finding("counting_changed", Outcome.NOTE, reason=reason)
    if before and not now:
        reason = (
            f"the judges were not asked, so that {', '.join(sorted(before))} are not compared "
            "with the baseline"
        )
        yield finding("not_compared", Outcome.NOTE, reason=reason)


def _means(
    scorer: str, counts: pd.DataFrame, baseline: Baseline | None, *, comparable: bool
) -> tuple[str, dict[str, float]]:
    means = counts.loc[counts["scorer"] == scorer].set_index("case_id")["mean"].dropna()
    if not len(means):
        return "no verdict could be had", {}
    said = f"mean {means.mean():.2f} over {len(means)} cases"
    if baseline is None or not comparable:
        return said, {"candidate": float(means.mean())}
    old = baseline.counts.loc[baseline.counts["scorer"] == scorer].set_index("case_id")["mean"]
    both = means.index.intersection(old.dropna().index)
    if not len(both):
        return said, {"candidate": float(means.mean())}
    values = {"baseline": float(old[both].mean()), "candidate": float(means[both].mean())}
    return (
        f"{said}; over the {len(both)} that the baseline has too, {values['candidate']:.2f} "
        f"after {values['baseline']:.2f}"
    ), values


def _standing(standing: Standing | None) -> tuple[str, str]:
    """Return rule and words of a note on a judge's scorer."""
    if standing is not None and standing.counts:
        return "certified_judge", f"Its verdicts count, {standing.why}"
    why = "no certificate" if standing is None else standing.why
    return "advisory_judge", f"{why[0].upper()}{why[1:]}: verdicts are advisory"


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
