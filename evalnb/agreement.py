"""How well a judge agrees with people, axis by axis: from a ratings frame to tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.consensus import beside, wide_ratings
from evalnb.frames import METRICS
from evalnb.ratings import HUMAN, AxisScale, judges_on, slice_columns, typed
from evalnb.stats.agreement import agreement_statistics
from evalnb.stats.kappa import agreement_grade, cohen_kappa, labels_needed
from evalnb.stats.numbers import number_statistics
from evalnb.stats.raters import human_ceiling, krippendorff_alpha

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evalnb.ratings import Scales

__all__ = [
    "STRONG",
    "USABLE",
    "agreement",
    "agreement_by_slice",
    "countings",
    "decisions",
    "human_ceilings",
]

USABLE, STRONG = 0.6, 0.8
_FEWEST = 20  # below so many labels an axis nothing is said of its judge
"""What the lower end of kappa's interval must reach."""

_Z_975 = 1.959963984540054


def decisions(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide for each axis what the judge's verdicts are good for.

    Parameters
    ----------
    ratings : a ratings frame
    judge : whose verdicts
    scales : axis to scale; which axes, and in which order
    people : how several people's values become one, as `evalnb.consensus.people_values` takes it
    seed : of the bootstrap

    Returns
    -------
    axis, judge, metric, estimate, ci_low, ci_high, n, n_left_out, method, reason, warnings,
    decision, next_grade, threshold, more_labels : a row an axis
        Kappa has quadratic weights on an ordered scale of three levels or more, else none; its
        interval is over clusters where the ratings have them. `decision` is by its lower end:
        `strong` from 0.8, `usable` from 0.6, else `revise`. Where the upper end reaches the next
        grade, `next_grade`, `threshold` and `more_labels` say what it is, what its lower end has to
        be and how many further labels would do if kappa stayed as it is, NA where no number would.
    """
    rows = [
        {"axis": axis, "judge": judge, **_decision(ratings, judge, axis, scale, people, seed)}
        for axis, scale in scales.items()
    ]
    return typed(pd.DataFrame(rows, columns=["axis", "judge", *_DECISION]), _DECISION)


def agreement(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Give every statistic of agreement for each axis.

    Parameters
    ----------
    ratings, judge, scales, people, seed : as `decisions` takes them

    Returns
    -------
    axis, then the columns of a metrics frame : a row an axis and statistic
        As `evalnb.stats.agreement.agreement_statistics` gives them, of the nearest levels. Where
        values lie between levels, `mean_absolute_difference`, `bias`, `spearman` and
        `kendall_tau_b` are of the values themselves. Levels without an order have only what needs
        none.
    """
    parts = [
        _statistics(beside(ratings, axis, judge, scale, people), scale, seed).assign(axis=axis)
        for axis, scale in scales.items()
    ]
    return _with_axis(parts)


def human_ceilings(
    ratings: pd.DataFrame, judge: str, *, scales: Scales, seed: int = 0
) -> pd.DataFrame:
    """Say for each axis how well people agree with each other, and the judge with one of them.

    Parameters
    ----------
    ratings, judge, scales, seed : as `decisions` takes them

    Returns
    -------
    axis, then the columns of a metrics frame : the rows `human_human`, `judge_human` and
    `difference` of each axis, as `evalnb.stats.raters.human_ceiling` gives them, and
    `krippendorff_alpha` of all people
        With one person they are NA, `no_overlap`. Alpha is ordinal, nominal without an order.
    """
    parts = []
    for axis, scale in scales.items():
        pairs = beside(ratings, axis, judge, scale)
        said = wide_ratings(ratings, axis, HUMAN).reindex(pairs["item"])
        found = human_ceiling(
            said.apply(scale.nearest),
            pairs["judge_level"],
            levels=scale.levels,
            weights=scale.weights,
            clusters=_clusters(pairs),
            seed=seed,
        )
        parts += [
            found.assign(axis=axis),
            _people_alpha(said, pairs, scale, seed).assign(axis=axis),
        ]
    return _with_axis(parts)


def agreement_by_slice(
    ratings: pd.DataFrame,
    judge: str,
    *,
    scales: Scales,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say how well the judge agrees with people in each slice.

    Parameters
    ----------
    ratings, judge, scales, people, seed : as `decisions` takes them

    Returns
    -------
    axis, slice, value, kappa, ci_low, ci_high, n, n_left_out, exact_agreement, bias, reason : a row
    an axis, slice and value
        `bias` is the judge's mean less people's, NA for levels without an order. One slice may
        have a low kappa because people use few levels in it; then `exact_agreement` is high.
    """
    rows: list[dict[str, Any]] = []
    for axis, scale in scales.items():
        pairs = beside(ratings, axis, judge, scale, people)
        for name in slice_columns(ratings):
            for value, part in pairs.groupby(name, sort=True):
                found = _slice_row(part, scale, seed)
                rows.append({"axis": axis, "slice": name, "value": value, **found})
    return typed(pd.DataFrame(rows, columns=["axis", "slice", "value", *_SLICE]), _SLICE)


def countings(
    ratings: pd.DataFrame,
    judges: Sequence[str],
    *,
    scales: Scales,
    unread_as: int,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say what counting unread verdicts as a level does to the figures.

    A published figure may rest on it: a verdict that nobody could read is then counted as if it had
    been given.

    Parameters
    ----------
    ratings, scales, people, seed : as `decisions` takes them
    judges : whose verdicts, on each axis those of them that rated it
    unread_as : the level that a missing verdict is counted as

    Returns
    -------
    axis, judge, counting, n, n_left_out, exact_agreement, kappa, ci_low, ci_high, reason : two rows
    an axis and judge of whom a verdict is missing there
    """
    rows = [
        {"axis": axis, "judge": judge, "counting": counting, **_slice_row(pairs, scale, seed)}
        for axis, scale in scales.items()
        for judge in judges_on(ratings, axis, judges)
        for counting, pairs in _both_ways(
            beside(ratings, axis, judge, scale, people), scale, unread_as
        )
    ]
    names = ["n", "n_left_out", "exact_agreement", "kappa", "ci_low", "ci_high", "reason"]
    frame = pd.DataFrame(rows, columns=["axis", "judge", "counting", *names])
    return typed(frame, {name: _SLICE[name] for name in names})


_DECISION = {
    **METRICS.columns,
    "decision": "string",
    "next_grade": "string",
    "threshold": "Float64",
    "more_labels": "Int64",
}
_SLICE = {
    "kappa": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "n": "Int64",
    "n_left_out": "Int64",
    "exact_agreement": "Float64",
    "bias": "Float64",
    "reason": "string",
}
_ORDERLESS = (
    "kappa",
    "gwet_ac1",
    "krippendorff_alpha_nominal",
    "exact_agreement",
    "expected_agreement",
    "pabak",
    "stuart_maxwell",
    "bowker",
)
"""What is there for levels that are mere names."""
_OF_VALUES = ("mean_absolute_difference", "bias", "spearman", "kendall_tau_b")


def _with_axis(parts: list[pd.DataFrame]) -> pd.DataFrame:
    frame = pd.concat(parts or [METRICS.empty().assign(axis="")], ignore_index=True)
    names = [name for name in frame.columns if name != "axis"]
    return frame[["axis", *names]].astype({"axis": "string"})


def _statistics(pairs: pd.DataFrame, scale: AxisScale, seed: int) -> pd.DataFrame:
    found = agreement_statistics(
        pairs["people_level"],
        pairs["judge_level"],
        levels=scale.levels,
        clusters=_clusters(pairs),
        seed=seed,
    )
    if not scale.ordered:
        return found[found["metric"].isin(_ORDERLESS)].reset_index(drop=True)
    if pairs["people"].equals(pairs["people_level"]) and pairs["judge"].equals(
        pairs["judge_level"]
    ):
        return found
    own = number_statistics(pairs["people"], pairs["judge"], clusters=_clusters(pairs))
    own = own[own["metric"].isin(found["metric"])].assign(
        method=own["method"] + ", of values between levels"
    )
    kept = found[~found["metric"].isin(_OF_VALUES)]
    return pd.concat([kept, own], ignore_index=True)


def _people_alpha(
    said: pd.DataFrame, pairs: pd.DataFrame, scale: AxisScale, seed: int
) -> pd.DataFrame:
    found = krippendorff_alpha(
        said.apply(scale.nearest),
        levels=scale.levels,
        metric="ordinal" if scale.ordered else "nominal",
        clusters=_clusters(pairs),
        seed=seed,
    )
    return found.assign(metric=pd.array(["krippendorff_alpha"], dtype="string"))


def _clusters(pairs: pd.DataFrame) -> pd.Series | None:
    return pairs["cluster"] if pairs["cluster"].notna().any() else None


def _kappa(pairs: pd.DataFrame, scale: AxisScale, seed: int) -> pd.Series:
    found = cohen_kappa(
        pairs["people_level"],
        pairs["judge_level"],
        levels=scale.levels,
        weights=scale.weights,
        clusters=_clusters(pairs),
        seed=seed,
    )
    return found.iloc[0]


def _decision(
    ratings: pd.DataFrame,
    judge: str,
    axis: str,
    scale: AxisScale,
    people: str | None,
    seed: int,
) -> dict[str, Any]:
    row: dict[str, Any] = dict(_kappa(beside(ratings, axis, judge, scale, people), scale, seed))
    low, high = row["ci_low"], row["ci_high"]
    grade = agreement_grade(low, high, usable=USABLE, strong=STRONG)
    reached = 1.0 if pd.isna(high) else high
    above = {"revise": ("usable", USABLE), "usable": ("strong", STRONG)}.get(grade)
    if above is None or pd.isna(row["estimate"]) or reached < above[1]:
        if grade == "revise" and row["n"] < _FEWEST:  # nothing is known yet
            known = {"next_grade": "usable", "threshold": USABLE}
            return {**row, "decision": grade, **known, "more_labels": _FEWEST - int(row["n"])}
        return {**row, "decision": grade}
    more = _more_labels(row, above[1])
    return {
        **row,
        "decision": grade,
        "next_grade": above[0],
        "threshold": above[1],
        "more_labels": more,
    }


def _more_labels(row: Mapping[str, Any], threshold: float) -> int | None:
    needed = labels_needed(
        row["estimate"], _effective_error(row), row["n"], threshold, ci_low=row["ci_low"]
    )
    return None if needed is None else max(needed - int(row["n"]), 1)


def _effective_error(row: Mapping[str, Any]) -> Any:
    """Return the standard error that the lower end speaks of: with clusters it is a larger one."""
    kappa, low = row["estimate"], row["ci_low"]
    if "clusters" not in str(row["method"]) or pd.isna(low) or not -1 < low < kappa < 1:
        return row["se"]
    return (math.atanh(kappa) - math.atanh(low)) / _Z_975 * (1 - kappa**2)


def _both_ways(
    pairs: pd.DataFrame, scale: AxisScale, unread_as: int
) -> Iterable[tuple[str, pd.DataFrame]]:
    if pairs["judge"].notna().all():
        return []
    level = float(unread_as)
    filled = {name: pairs[name].fillna(level) for name in ("judge", "judge_level")}
    name = f"unread counted as {scale.name(unread_as)}"
    return [("unread left out", pairs), (name, pairs.assign(**filled))]


def _slice_row(pairs: pd.DataFrame, scale: AxisScale, seed: int) -> dict[str, Any]:
    kappa = _kappa(pairs, scale, seed)
    both = pairs.dropna(subset=["people_level", "judge_level"])
    apart = (both["judge"] - both["people"]).mean() if scale.ordered and len(both) else pd.NA
    same = both["people_level"].eq(both["judge_level"])
    return {
        "kappa": kappa["estimate"],
        **{name: kappa[name] for name in ("ci_low", "ci_high", "n", "n_left_out", "reason")},
        "exact_agreement": same.mean() if len(both) else pd.NA,
        "bias": apart,
    }
