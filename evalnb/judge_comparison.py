"""Two or more judges on the same labels: who agrees with people, at what price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.consensus import beside
from evalnb.ratings import JUDGE, AxisScale, raters
from evalnb.stats.kappa import cohen_kappa, kappa_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalnb.ratings import Scales

__all__ = ["compare_judges"]

_COLUMNS = {
    "axis": "string",
    "judge": "string",
    "n": "Int64",
    "n_left_out": "Int64",
    "kappa": "Float64",
    "ci_low": "Float64",
    "ci_high": "Float64",
    "best": "boolean",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "lower_one_sided": "Float64",
    "not_worse": "boolean",
    "usd_per_1000": "Float64",
    "latency_ms": "Float64",
    "cheapest_not_worse": "boolean",
    "reason": "string",
}


def compare_judges(
    ratings: pd.DataFrame,
    judges: Sequence[str] | None = None,
    *,
    scales: Scales,
    margin: float = 0.05,
    people: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare judges on the same items, and name the cheapest that is good enough.

    Parameters
    ----------
    ratings : a ratings frame
    judges : whom to compare; by default all that rated the axis
    scales : axis to scale
    margin : what kappa may be below that of the best, and not be worse
    people : how several people's values become one, as `evalnb.consensus.people_values` takes it
    seed : of the bootstrap

    Returns
    -------
    axis, judge, n, n_left_out, kappa, ci_low, ci_high, best, difference, difference_low,
    difference_high, lower_one_sided, not_worse, usd_per_1000, latency_ms, cheapest_not_worse,
    reason : a row an axis and judge, the largest kappa first
        All are over the items that people and every one of these judges rated. `difference` is
        kappa less that of the best, whose own row has none. `not_worse` says that its lower
        one-sided 95% bound is above -`margin`: that separate intervals overlap says nothing.
        `usd_per_1000` is what a thousand ratings on the axis cost, `latency_ms` the median;
        `cheapest_not_worse` is NA for all where no cost is known.

    Raises
    ------
    ValueError
        If a judge did not rate an axis, or the margin is negative.
    """
    if margin < 0:
        raise ValueError(f"`margin` must not be negative. Got {margin}.")
    rows = [
        row
        for axis, scale in scales.items()
        for row in _on_axis(
            ratings,
            axis,
            scale,
            list(raters(ratings, JUDGE, axis) if judges is None else judges),
            margin=margin,
            people=people,
            seed=seed,
        )
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)


def _on_axis(
    ratings: pd.DataFrame,
    axis: str,
    scale: AxisScale,
    judges: Sequence[str],
    *,
    margin: float,
    people: str | None,
    seed: int,
) -> list[dict[str, Any]]:
    if not judges:
        return []
    wide, clusters = _same_items(ratings, axis, scale, judges, people)
    shared: dict[str, Any] = {"levels": scale.levels, "weights": scale.weights, "seed": seed}
    common = wide.dropna()
    groups = clusters[common.index] if clusters.notna().any() else None
    rows = []
    for judge in judges:
        found = cohen_kappa(common["people"], common[judge], clusters=groups, **shared).iloc[0]
        interval = {name: found[name] for name in ("ci_low", "ci_high", "n", "reason")}
        rows.append(
            {
                "axis": axis,
                "judge": judge,
                "kappa": found["estimate"],
                **interval,
                "n_left_out": len(wide) - len(common),
                **_price(ratings, axis, judge),
            }
        )
    rows.sort(key=_rank)
    best = rows[0]["judge"]
    for row in rows:
        own = row["judge"] == best
        row["best"] = own
        row["not_worse"] = True if own and not pd.isna(row["kappa"]) else pd.NA
        if not own:
            parts = [common[name] for name in ("people", row["judge"], best)]
            row |= _difference(*parts, margin=margin, clusters=groups, **shared)
    return _with_choice(rows)


def _same_items(
    ratings: pd.DataFrame, axis: str, scale: AxisScale, judges: Sequence[str], people: str | None
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the levels of people and judges by item, and the clusters of the items."""
    parts = [beside(ratings, axis, judge, scale, people).set_index("item") for judge in judges]
    columns = {
        "people": parts[0]["people_level"],
        **{judge: part["judge_level"] for judge, part in zip(judges, parts, strict=True)},
    }
    wide = pd.DataFrame(columns)
    clusters = ratings[ratings["axis"] == axis].groupby("item", sort=False)["cluster"].first()
    return wide, clusters.reindex(wide.index)


def _price(ratings: pd.DataFrame, axis: str, judge: str) -> dict[str, Any]:
    own = ratings[(ratings["axis"] == axis) & (ratings["rater"] == judge)]
    return {
        "usd_per_1000": own["cost_usd"].mean() * 1000,
        "latency_ms": own["latency_ms"].median(),
    }


def _rank(row: Mapping[str, Any]) -> tuple[bool, float, bool, float]:
    """Sort the largest kappa first, of equal ones the cheaper; what is NA comes last."""
    kappa, cost = row["kappa"], row["usd_per_1000"]
    no_kappa, no_cost = bool(pd.isna(kappa)), bool(pd.isna(cost))
    return no_kappa, 0.0 if no_kappa else -kappa, no_cost, 0.0 if no_cost else cost


def _difference(
    people: pd.Series, judge: pd.Series, best: pd.Series, *, margin: float, **options: Any
) -> dict[str, Any]:
    found = kappa_difference(people, judge, best, margin=margin, **options).set_index("metric")
    difference, bound = found.loc["difference"], found.loc["lower_one_sided"]["estimate"]
    return {
        "difference": difference["estimate"],
        "difference_low": difference["ci_low"],
        "difference_high": difference["ci_high"],
        "lower_one_sided": bound,
        "not_worse": pd.NA if pd.isna(bound) else bool(bound > -margin),
        "reason": difference["reason"],
    }


def _with_choice(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    able = [
        row
        for row in rows
        if not pd.isna(row["usd_per_1000"]) and not pd.isna(row["not_worse"]) and row["not_worse"]
    ]
    chosen = (
        min(able, key=lambda row: (row["usd_per_1000"], *_rank(row)))["judge"] if able else None
    )
    return [
        {**row, "cheapest_not_worse": pd.NA if chosen is None else row["judge"] == chosen}
        for row in rows
    ]
