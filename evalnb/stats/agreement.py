"""All that is said of a judge beside a person on one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.alpha import alpha_row
from evalnb.stats.chance import agreement_weights, chance_row, levels_chosen
from evalnb.stats.estimates import Estimate, mean_interval, t_quantile, wilson
from evalnb.stats.kappa_rows import kappa_max_row, kappa_row, with_figures
from evalnb.stats.margins import margin_rows, two_level_rows
from evalnb.stats.scales import PairedRatings, paired_ratings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.stats.alpha import AlphaMetric

__all__ = ["agreement_statistics", "bias_by_level"]

_PARADOX = 0.2
"""How far kappa and Gwet's coefficient lie apart where one level dominates."""
_NO_SPREAD = 1e-9
_METRICS: tuple[AlphaMetric, ...] = ("ordinal", "interval", "nominal")


def agreement_statistics(
    first: Iterable[Any],
    second: Iterable[Any],
    *,
    levels: Iterable[Any],
    clusters: Iterable[Any] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Say how a judge agrees with a person: beyond chance, plainly, in rank, in level.

    Parameters
    ----------
    first : ratings of the person; numbers, strings or booleans
    second : ratings of the judge on the same items, in the same order
        Items that one of them did not rate (None, NaN, NA) are left out and counted.
    levels : the declared scale in order, two levels or more
        Numbers count as they are in differences and products; other levels as their position.
    clusters : the conversation of each item
        With it every interval takes these as the independent units. An item without one stands for
        itself.
    seed : of the bootstrap

    Returns
    -------
    a metrics frame with the columns `se`, `df`, `p_value` at the right and these rows
        - `kappa_quadratic`, `kappa_linear`, `kappa`: see `evalnb.stats.kappa.cohen_kappa`; the
          warning `paradox` where AC2 (quadratic) or AC1 (no weights) is more than 0.2 away.
        - `exact_agreement`, `within_one`: share of equal, and of equal or neighbouring, levels,
          with Wilson's interval; in clusters as if each had one verdict. `expected_agreement`: the
          share of equal levels that chance gives.
        - `mean_absolute_difference`, and `bias`: judge less person, with a t interval (over
          clusters where there are any) and `se`.
        - `spearman`, `kendall_tau_b`, `pearson`, and Lin's `concordance` with population moments,
          which is quadratic kappa where levels are equally far apart.
        - `gwet_ac1`, `gwet_ac2`, `krippendorff_alpha_ordinal`, `_interval`, `_nominal`: see
          `evalnb.stats.raters`. `pabak`: (K p - 1) / (K - 1) of the exact agreement p over K levels
          and of its interval.
        - `kappa_max`: the largest quadratic kappa that the two uses of the scale allow.
        - `stuart_maxwell`, `bowker`: chi-squared with `df` and `p_value`: whether the judge uses
          levels as often as the person, and confuses them alike both ways.
        - for two levels `prevalence_index`, `bias_index`, `positive_agreement`,
          `negative_agreement`; the first declared level is the positive one.

        Without common items all are NA `no_overlap`; with one, what needs two is NA `too_few`.
        Where both use one same level, kappas, alphas and correlations are NA `one_category`, the
        others have it as a warning. Where one rater is constant, correlations are NA
        `constant_rater` and kappas have it as a warning. An interval alone is NA `no_variance`
        where nothing varies.

    Raises
    ------
    ValueError
        If a value is none of the levels, lengths differ, or the levels make no scale.

    References
    ----------
    Lin (1989), Biometrics 45(1), doi:10.2307/2532051; Byrt, Bishop & Carlin (1993), Journal of
    Clinical Epidemiology 46(5), doi:10.1016/0895-4356(93)90018-V (PABAK and the indices); Feinstein
    & Cicchetti (1990), 43(6), doi:10.1016/0895-4356(90)90158-L (the paradox); Kendall (1945),
    Biometrika 33(3), doi:10.1093/biomet/33.3.239.

    Examples
    --------
    >>> found = agreement_statistics([1, 2, 3, 3, 1], [1, 2, 3, 2, 2], levels=[1, 2, 3])
    >>> found.loc[found["metric"] == "exact_agreement", ["estimate", "n"]].to_dict("records")
    [{'estimate': 0.6, 'n': 5}]
    """
    pairs = paired_ratings(first, second, levels, clusters)
    rows = [
        *_beyond_chance(pairs, seed),
        *_shares(pairs),
        *_differences(pairs),
        *_correlations(pairs),
        *margin_rows(pairs),
        *(two_level_rows(pairs) if len(pairs.scale.levels) == 2 else ()),
    ]
    shared = {"n": pairs.n, "n_left_out": pairs.n_left_out}
    return with_figures((row | shared for row in rows), "se", "df", "p_value")


def bias_by_level(
    first: Iterable[Any], second: Iterable[Any], *, levels: Iterable[Any]
) -> pd.DataFrame:
    """Say how far a judge lies from a person at each level that the person gave.

    Some pull to the middle is to be expected of any two raters that err: what a person rates
    highest can be missed on one side only.

    Parameters
    ----------
    first, second, levels : as `agreement_statistics` takes them

    Returns
    -------
    level, estimate, ci_low, ci_high, n, reason : a row a declared level, in order
        `estimate` is the mean of judge less person with its t interval, NA `no_overlap` where the
        person never gave the level; the interval alone is NA `too_few` for one item, `no_variance`
        where the judge is always equally far.

    Examples
    --------
    >>> found = bias_by_level([1, 1, 2, 2, 2], [1, 2, 2, 1, 1], levels=[1, 2])
    >>> found["estimate"].round(2).tolist()
    [0.5, -0.67]
    """
    pairs = paired_ratings(first, second, levels)
    apart = _apart(pairs)
    rows = [
        {"level": level, **_mean_row(apart[pairs.first == code])}
        for code, level in enumerate(pairs.scale.levels)
    ]
    columns = ["level", "estimate", "ci_low", "ci_high", "n", "reason"]
    frame = pd.DataFrame(rows).reindex(columns=columns)
    numbers = dict.fromkeys(["estimate", "ci_low", "ci_high"], "Float64")
    return frame.astype({**numbers, "n": "Int64", "reason": "string"})


def _beyond_chance(pairs: PairedRatings, seed: int) -> list[dict[str, Any]]:
    scale, groups = pairs.scale, pairs.clusters
    items = np.column_stack([pairs.first, pairs.second])
    chosen = levels_chosen(items, len(scale.levels))
    unweighted, squared = agreement_weights(scale, None), agreement_weights(scale, "quadratic")
    ac1 = chance_row("gwet_ac1", chosen, "gwet", unweighted, clusters=groups, seed=seed)
    ac2 = chance_row("gwet_ac2", chosen, "gwet", squared, clusters=groups, seed=seed)
    return [
        _warned(kappa_row(pairs, "quadratic", seed=seed), ac2),
        kappa_row(pairs, "linear", seed=seed),
        _warned(kappa_row(pairs, None, seed=seed), ac1),
        kappa_max_row(pairs, "quadratic"),
        ac1,
        ac2,
        *(alpha_row(items, scale, metric, clusters=groups, seed=seed) for metric in _METRICS),
    ]


def _warned(kappa: dict[str, Any], gwet: dict[str, Any]) -> dict[str, Any]:
    """Return the row of kappa, with a warning where Gwet's coefficient is far from it."""
    one, other = kappa.get("estimate"), gwet.get("estimate")
    if one is None or other is None or abs(one - other) <= _PARADOX:
        return kappa
    return {**kappa, "warnings": [*(kappa["warnings"] or []), "paradox"]}


def _shares(pairs: PairedRatings) -> list[dict[str, Any]]:
    steps = np.abs(pairs.first - pairs.second)
    exact, near = _share(pairs, steps == 0), _share(pairs, steps <= 1)
    size = len(pairs.scale.levels)

    def adjusted(rate: float | None) -> float | None:
        return None if rate is None else (size * rate - 1) / (size - 1)

    pabak = Estimate(*map(adjusted, (exact.estimate, exact.ci_low, exact.ci_high)))
    text = "Wilson" if pairs.clusters is None else "Wilson, a cluster as one verdict"
    shared = {"method": text, "reason": None if pairs.n else "no_overlap"}
    warned = {**shared, "warnings": ["one_category"] if pairs.is_one_category else None}
    rows, columns = pairs.table.sum(axis=1), pairs.table.sum(axis=0)
    by_chance = {"estimate": float(rows @ columns) / pairs.n**2} if pairs.n else {}
    return [
        {"metric": "exact_agreement", **_figures(exact), **warned},
        {"metric": "expected_agreement", **by_chance, **warned, "method": "product of shares"},
        {"metric": "within_one", **_figures(near), **warned},
        {"metric": "pabak", **_figures(pabak), **warned},
    ]


def _share(pairs: PairedRatings, hits: np.ndarray) -> Estimate:
    """Return the share of hits; clusters count by how many equal ones they amount to."""
    if pairs.clusters is None or not pairs.n:
        return wilson(float(hits.sum()), pairs.n)
    sizes = np.unique(pairs.clusters, return_counts=True)[1]
    units = max(1, math.floor(pairs.n**2 / int((sizes**2).sum())))
    rate = float(hits.mean())
    # At the ends just these: a product of a rate and a number may miss them.
    passes = float(units) if hits.all() else rate * units
    return Estimate(rate, wilson(passes, units).ci_low, wilson(passes, units).ci_high)


def _differences(pairs: PairedRatings) -> list[dict[str, Any]]:
    apart = _apart(pairs)
    distance = {"metric": "mean_absolute_difference", "method": "mean"}
    if not pairs.n:
        none = {"reason": "no_overlap"}
        return [{**distance, **none}, {"metric": "bias", "method": "t", **none}]
    return [
        {**distance, "estimate": float(np.abs(apart).mean())},
        {"metric": "bias", **_bias(apart, pairs.clusters)},
    ]


def _bias(apart: np.ndarray, clusters: np.ndarray | None) -> dict[str, Any]:
    if clusters is None:
        row = {**_mean_row(apart), "method": "t"}
        spread = float(apart.std(ddof=1)) if len(apart) > 1 else math.nan
        return row if math.isnan(spread) else {**row, "se": spread / math.sqrt(len(apart))}
    row = {"estimate": float(apart.mean()), "method": "t over clusters"}
    _, which = np.unique(clusters, return_inverse=True)
    sums = np.bincount(which, weights=apart - apart.mean())
    n_clusters = len(sums)
    if n_clusters < 2:
        return {**row, "reason": "too_few"}
    error = math.sqrt(n_clusters / (n_clusters - 1) * float(sums @ sums)) / len(apart)
    if error < _NO_SPREAD:
        return {**row, "se": error, "reason": "no_variance"}
    half = t_quantile(n_clusters - 1) * error
    return {**row, "ci_low": row["estimate"] - half, "ci_high": row["estimate"] + half, "se": error}


def _apart(pairs: PairedRatings) -> np.ndarray:
    values = pairs.scale.numbers
    return np.asarray(values[pairs.second] - values[pairs.first])


def _mean_row(values: np.ndarray) -> dict[str, Any]:
    found, n = mean_interval(values.tolist()), len(values)
    reason = "no_overlap" if n == 0 else "too_few" if n == 1 else "no_variance"
    return {**_figures(found), "n": n, "reason": None if found.ci_low is not None else reason}


def _correlations(pairs: PairedRatings) -> list[dict[str, Any]]:
    names = ("spearman", "kendall_tau_b", "pearson", "concordance")
    reason = pairs.why_none
    if reason:
        return [{"metric": name, "reason": reason} for name in names]
    x, y = pairs.scale.numbers[pairs.first], pairs.scale.numbers[pairs.second]
    moments = float(x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    covariance = float(((x - x.mean()) * (y - y.mean())).mean())
    lin = {"metric": "concordance", "estimate": 2 * covariance / moments}
    if pairs.is_constant:
        return [
            *({"metric": name, "reason": "constant_rater"} for name in names[:-1]),
            {**lin, "estimate": 0.0, "warnings": ["constant_rater"]},
        ]
    from scipy.stats import kendalltau, spearmanr

    return [
        {"metric": "spearman", "estimate": float(spearmanr(pairs.first, pairs.second)[0])},
        {"metric": "kendall_tau_b", "estimate": float(kendalltau(pairs.first, pairs.second)[0])},
        {"metric": "pearson", "estimate": covariance / float(x.std() * y.std())},
        lin,
    ]


def _figures(found: Estimate) -> dict[str, Any]:
    return {"estimate": found.estimate, "ci_low": found.ci_low, "ci_high": found.ci_high}
