"""Cohen's kappa: agreement of two raters beyond chance, and what is decided on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import METRICS
from evalnb.stats.kappa_differences import kappa_difference
from evalnb.stats.kappa_rows import kappa_max_row, kappa_row, with_figures
from evalnb.stats.kappa_tables import KappaTable, Method, disagreement_upper
from evalnb.stats.scales import Weights, paired_ratings

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Method",
    "Weights",
    "agreement_grade",
    "cohen_kappa",
    "confusion",
    "kappa_difference",
    "kappa_max",
    "kappa_standard_error",
    "labels_needed",
]

_Z_975 = 1.959963984540054


def cohen_kappa(
    first: Iterable[Any],
    second: Iterable[Any],
    *,
    levels: Iterable[Any],
    weights: Weights = "quadratic",
    method: Method = "fisher_t",
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Agreement of two raters on the same items, corrected for chance.

    Parameters
    ----------
    first, second : ratings of the same items in the same order; numbers, strings or booleans
        Items that one of them did not rate (None, NaN, NA) are left out and counted. Which is
        first does not matter. The index of a Series plays no part.
    levels : the declared scale in order, two levels or more
    weights : {"quadratic", "linear", None}
        How a disagreement grows with its distance on the scale; None counts all alike.
    method : {"fisher_t", "fisher_z", "wald", "bootstrap"}
        How the interval comes: by the t or the normal quantile on the scale of atanh, by the
        normal quantile on the scale of kappa (too narrow for few items), or as percentiles of
        10,000 resamples. Where all pairs agree, the interval is that of the disagreements that so
        few items can have missed, whatever the method.
    clusters : the conversation of each item
        With it the interval is that of a bootstrap over clusters, whatever the method, as the
        others take items to be independent. An item without one stands for itself.
    seed : of the bootstrap

    Returns
    -------
    a metrics frame of one row, `kappa_quadratic`, `kappa_linear` or `kappa`, with a column `se`
        `estimate` is at most 1, which is full agreement; 0 is what chance gives. NA `no_overlap`
        without a common item, `too_few` with one, `one_category` where both use one same level.
        Where one rater uses a single level kappa is 0 whatever the other says: the estimate has the
        warning `constant_rater` and no interval. `few_clusters` warns of less than 10. `se` is the
        standard error for many independent items.

    Raises
    ------
    ValueError
        If a value is none of the levels, lengths differ, the levels make no scale, or weights or
        method are unknown.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20(1), doi:10.1177/001316446002000104;
    Cohen (1968), Psychological Bulletin 70(4), doi:10.1037/h0026256; the standard error: Fleiss,
    Cohen & Everitt (1969), Psychological Bulletin 72(5), doi:10.1037/h0028106.

    Examples
    --------
    >>> found = cohen_kappa([1, 2, 3, 3, 1, None], [1, 2, 3, 2, 1, 2], levels=[1, 2, 3])
    >>> found[["metric", "estimate", "n", "n_left_out"]].round(3).to_dict("records")
    [{'metric': 'kappa_quadratic', 'estimate': 0.857, 'n': 5, 'n_left_out': 1}]
    """
    pairs = paired_ratings(first, second, levels, clusters)
    return with_figures([kappa_row(pairs, weights, method=method, seed=seed)], "se")


def kappa_standard_error(
    first: Iterable[Any],
    second: Iterable[Any],
    *,
    levels: Iterable[Any],
    weights: Weights = "quadratic",
) -> float | None:
    """Return the standard error of Cohen's kappa for many independent items.

    Parameters
    ----------
    first, second, levels, weights : as `cohen_kappa` takes them

    Returns
    -------
    0 where all pairs agree or a rater is constant; None where kappa is undefined

    References
    ----------
    Fleiss, Cohen & Everitt (1969), Psychological Bulletin 72(5), doi:10.1037/h0028106.
    """
    pairs = paired_ratings(first, second, levels)
    table = KappaTable.of(pairs, weights)
    return None if pairs.why_none else table.standard_error


def confusion(
    first: Iterable[Any], second: Iterable[Any], *, levels: Iterable[Any]
) -> pd.DataFrame:
    """Count how often each level of one rater met each of the other.

    Parameters
    ----------
    first, second, levels : as `cohen_kappa` takes them

    Returns
    -------
    level x level : all declared levels, the first rater's in the index, the second's in columns

    Examples
    --------
    >>> confusion(["no", "yes", "yes"], ["no", "no", "yes"], levels=["no", "yes"]).to_numpy()
    array([[1, 0],
           [1, 1]])
    """
    pairs = paired_ratings(first, second, levels)
    names = list(pairs.scale.levels)
    return pd.DataFrame(
        pairs.table,
        index=pd.Index(names, name="first"),
        columns=pd.Index(names, name="second"),
    )


def kappa_max(
    first: Iterable[Any],
    second: Iterable[Any],
    *,
    levels: Iterable[Any],
    weights: Weights = None,
) -> pd.DataFrame:
    """Largest kappa that the two raters could reach, using each level as often as they did.

    Far below 1 it says that they use the scale differently, however well they order the items.

    Parameters
    ----------
    first, second, levels, weights : as `cohen_kappa` takes them

    Returns
    -------
    a metrics frame of one row, `kappa_max`; NA where kappa is
        0 where one rater uses a single level.

    References
    ----------
    Umesh, Peterson & Sauber (1989), Educational and Psychological Measurement 49(4),
    doi:10.1177/001316448904900407. With weights both raters' ratings are sorted and matched, which
    makes the sum of any convex distance smallest.
    """
    return METRICS.build([kappa_max_row(paired_ratings(first, second, levels), weights)])


def labels_needed(
    kappa: float,
    se: float,
    n: int,
    threshold: float,
    *,
    ci_low: float | None = None,
) -> int | None:
    """Return how many labels would bring the lower end of the interval to a threshold.

    Parameters
    ----------
    kappa, se, n : the estimate, its standard error and the number of labels so far
    threshold : in (-1, 1)
    ci_low : the lower end so far
        Where all labels agree the standard error is 0; how many are needed then follows from this.

    Returns
    -------
    labels in all, if kappa and its spread stay as they are
        None where kappa is NA or at or below the threshold, as no number is enough then; and where
        the standard error is 0 and no `ci_low` tells.

    Examples
    --------
    >>> labels_needed(0.78, 0.085, 24, 0.60), labels_needed(0.78, 0.085, 24, 0.80)
    (36, None)
    """
    if any(map(pd.isna, (kappa, se, n))) or n < 1 or kappa <= threshold:
        return None
    if kappa >= 1 or se <= 0:
        return _labels_in_agreement(n, threshold, ci_low)
    distance = (1 - kappa**2) * (math.atanh(kappa) - math.atanh(threshold))
    return math.ceil((_Z_975 * se * math.sqrt(n) / distance) ** 2)


def _labels_in_agreement(n: int, threshold: float, ci_low: float | None) -> int | None:
    """Return how many labels must all agree; the distance from 1 shrinks with the bound."""
    if ci_low is None or pd.isna(ci_low) or ci_low >= 1:
        return None
    bound = disagreement_upper(n) * (1 - threshold) / (1 - ci_low)
    return 1 if bound >= 1 else math.ceil(math.log(0.025) / math.log1p(-bound))


def agreement_grade(
    ci_low: float | None,
    ci_high: float | None = None,
    *,
    usable: float = 0.6,
    strong: float = 0.8,
) -> str:
    """Return what the interval of kappa says of a judge.

    Parameters
    ----------
    ci_low, ci_high : of quadratic kappa; of kappa without weights for pass or fail
        The lower end decides; an NA shows nothing.
    usable, strong : what the lower end must reach

    Returns
    -------
    "strong", "usable" or "revise"

    Raises
    ------
    ValueError
        If the lower end is above the upper one.

    References
    ----------
    The limits are this product's. Landis & Koch (1977), Biometrics 33(1), doi:10.2307/2529310,
    call estimates of 0.61 to 0.80 substantial and those above almost perfect, by convention.

    Examples
    --------
    >>> agreement_grade(0.82, 0.95), agreement_grade(0.74, 0.93), agreement_grade(0.55, 0.83)
    ('strong', 'usable', 'revise')
    """
    if ci_low is None or pd.isna(ci_low):
        return "revise"
    if ci_high is not None and not pd.isna(ci_high) and ci_low > ci_high:
        raise ValueError(f"`ci_low` is at most `ci_high`. Got {ci_low} and {ci_high}.")
    return "strong" if ci_low >= strong else "usable" if ci_low >= usable else "revise"
