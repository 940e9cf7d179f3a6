"""Agreement of any number of raters, missing ratings allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.alpha import AlphaMetric, alpha_row, check_alpha_metric
from evalnb.stats.ceiling import human_ceiling
from evalnb.stats.chance import agreement_weights, chance_row, levels_chosen
from evalnb.stats.kappa_rows import with_figures
from evalnb.stats.scales import Scale, Weights, cluster_numbers, rated_items

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "brennan_prediger",
    "fleiss_kappa",
    "gwet_ac",
    "human_ceiling",
    "krippendorff_alpha",
]


def krippendorff_alpha(
    ratings: Any,
    *,
    levels: Iterable[Any] | None,
    metric: AlphaMetric = "ordinal",
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
    interval: bool = True,
) -> pd.DataFrame:
    """Return Krippendorff's alpha of any number of raters.

    Parameters
    ----------
    ratings : a frame or rows of values: a row an item, a column a rater; missing is None, NaN or NA
    levels : the declared scale in order
        None for numbers on no scale (means of scores, say), with the metric "interval" only.
    metric : {"ordinal", "interval", "nominal", "ratio"}
        What a disagreement weighs: by how many values lie between two levels, by their squared
        difference (positions where levels are no numbers), all alike, by the squared difference
        over the sum.
    clusters : the conversation of each item; the bootstrap then resamples these
    seed : of the bootstrap
    interval : whether to bootstrap

    Returns
    -------
    a metrics frame of one row, `krippendorff_alpha_` and the metric
        `estimate` is at most 1, which is full agreement; 0 is what chance gives, below it raters
        disagree systematically. `n` counts items with two ratings or more, `n_left_out` the others.
        The interval is of percentiles of 10,000 resamples of items. NA `no_overlap` without a
        pairable item, `too_few` with one, `one_category` where all ratings are the same; the
        interval alone is NA `no_variance` where all raters agree.

    Raises
    ------
    ValueError
        If a value is none of the levels, or the metric is unknown or needs levels.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability,
    https://repository.upenn.edu/asc_papers/43.

    Examples
    --------
    >>> ratings = [[1, 1], [2, 2], [3, 3], [3, 2], [1, None]]
    >>> found = krippendorff_alpha(ratings, levels=[1, 2, 3], metric="nominal", interval=False)
    >>> round(float(found.loc[0, "estimate"]), 3), int(found.loc[0, "n_left_out"])
    (0.667, 1)
    """
    check_alpha_metric(metric)
    if levels is None:
        if metric != "interval":
            raise ValueError(f"without `levels` the metric is 'interval'. Got {metric!r}.")
        scale, items = None, _numbers(ratings)
    else:
        scale = Scale.of(levels)
        items = rated_items(ratings, scale)
    groups = None if clusters is None else cluster_numbers(clusters, len(items))
    row = alpha_row(items, scale, metric, clusters=groups, seed=seed, interval=interval)
    return with_figures([row])


def gwet_ac(
    ratings: Any,
    *,
    levels: Iterable[Any],
    weights: Weights = "quadratic",
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return Gwet's AC1 (no weights) or AC2, which stay high where one level dominates.

    Parameters
    ----------
    ratings, levels, clusters, seed : as `krippendorff_alpha` takes them
    weights : {"quadratic", "linear", None}

    Returns
    -------
    a metrics frame of one row with a column `se`: `gwet_ac1`, `gwet_ac2` or `gwet_ac2_linear`
        `n` counts items with two ratings or more. Items with one rating tell how often levels are
        used, no more. The interval is of percentiles of 10,000 resamples of items; where all
        raters agree, that of the disagreements that may have been missed. `se` is Gwet's, for
        these raters. NA `no_overlap` or `too_few` as alpha is; where all use one same level it is
        1 with the warning `one_category`.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61(1),
    doi:10.1348/000711006X126600; Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition.

    Examples
    --------
    >>> found = gwet_ac([[1, 1], [1, 1], [1, 1], [1, 2]], levels=[1, 2], weights=None)
    >>> round(float(found.loc[0, "estimate"]), 2)
    0.68
    """
    name = {None: "gwet_ac1", "quadratic": "gwet_ac2"}.get(weights, f"gwet_ac2_{weights}")
    return _beyond_chance(ratings, levels, weights, clusters, seed, (name, "gwet"))


def brennan_prediger(
    ratings: Any,
    *,
    levels: Iterable[Any],
    weights: Weights = None,
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return agreement beyond what levels chosen by lot would give; PABAK for two raters.

    Parameters
    ----------
    ratings, levels, weights, clusters, seed : as `gwet_ac` takes them

    Returns
    -------
    a metrics frame of one row, `brennan_prediger`, undefined as Gwet's is

    References
    ----------
    Brennan & Prediger (1981), Educational and Psychological Measurement 41(3),
    doi:10.1177/001316448104100307.
    """
    names = ("brennan_prediger", "brennan_prediger")
    return _beyond_chance(ratings, levels, weights, clusters, seed, names)


def fleiss_kappa(
    ratings: Any,
    *,
    levels: Iterable[Any] | None = None,
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return Fleiss' kappa of any number of raters, all disagreements alike.

    Parameters
    ----------
    ratings : as `krippendorff_alpha` takes them; without `levels` counts, item x level
    levels : the declared scale; None where `ratings` are how many raters chose each level
    clusters, seed : as `gwet_ac` takes them

    Returns
    -------
    a metrics frame of one row, `fleiss_kappa`
        NA `no_overlap`, `too_few` and, where all use one same level, `one_category`. Where items
        have unequal numbers of ratings, each item counts once.

    Raises
    ------
    ValueError
        If a value is none of the levels, or a count is no whole number from 0.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76(5), doi:10.1037/h0031619.

    Examples
    --------
    >>> found = fleiss_kappa([[3, 0], [0, 3], [2, 1]])
    >>> round(float(found.loc[0, "estimate"]), 3)
    0.55
    """
    if levels is None:
        chosen = _counts(ratings)
    else:
        scale = Scale.of(levels)
        chosen = levels_chosen(rated_items(ratings, scale), len(scale.levels))
    groups = None if clusters is None else cluster_numbers(clusters, len(chosen))
    weights = np.eye(chosen.shape[1])
    row = chance_row("fleiss_kappa", chosen, "fleiss", weights, clusters=groups, seed=seed)
    return with_figures([row])


def _beyond_chance(
    ratings: Any,
    levels: Iterable[Any],
    weights: Weights,
    clusters: Iterable[Any] | None,
    seed: int,
    names: tuple[str, Any],
) -> pd.DataFrame:
    scale = Scale.of(levels)
    agreement = agreement_weights(scale, weights)
    chosen = levels_chosen(rated_items(ratings, scale), len(scale.levels))
    groups = None if clusters is None else cluster_numbers(clusters, len(chosen))
    metric, chance = names
    row = chance_row(metric, chosen, chance, agreement, clusters=groups, seed=seed)
    return with_figures([row], "se")


def _numbers(ratings: Any) -> np.ndarray:
    frame = pd.DataFrame(ratings)
    return frame.apply(pd.to_numeric).astype("Float64").to_numpy(dtype="float64", na_value=np.nan)


def _counts(ratings: Any) -> np.ndarray:
    found = pd.DataFrame(ratings).to_numpy(dtype="float64")
    if found.shape[1] < 2 or not (found >= 0).all() or (found % 1).any():
        raise ValueError(
            "without `levels` a row has how many raters chose each of two or more levels."
        )
    return found.astype("int64")
