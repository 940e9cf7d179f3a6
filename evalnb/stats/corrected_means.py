"""Mean scores corrected by human labels of some of the cases that a judge scored."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evalnb.frames import METRICS, FrameSchema
from evalnb.stats.labelled import LabelledScores, labelled_scores
from evalnb.stats.ppi import Interval, PredictionPowered, StratumMeans, tuned_lambda

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evalnb.stats.values import Floats

__all__ = ["CORRECTED_MEANS", "MeanMethod", "corrected_mean", "stratified_ppi"]

MeanMethod: TypeAlias = Literal["ppi", "ppi++"]

CORRECTED_MEANS = FrameSchema(
    "corrected means",
    {
        **METRICS.columns,
        "se": "Float64",
        "lam": "Float64",
        "correlation": "Float64",
        "n_cases": "Int64",
        "n_labels": "Int64",
    },
    key=METRICS.key,
)
"""A metrics frame; `se` is the standard error that the interval rests on.

`lam` is how far the judge is followed, NA where strata differ in it; `correlation` is that of judge
and people over the labelled cases, NA where one of them is constant. `n_cases` counts the cases
with a verdict, `n_labels` those of them with a label.
"""

_LABELS_FOR_PPI = 20
_LABELS_FOR_TUNING = 200
_WEAK_CORRELATION = 0.5


def corrected_mean(
    judged: Sequence[Any] | pd.Series | np.ndarray,
    labels: Sequence[Any] | pd.Series | np.ndarray,
    *,
    low: float | None = None,
    high: float | None = None,
    strata: Sequence[Any] | pd.Series | np.ndarray | None = None,
    weights: Mapping[Any, float] | pd.Series | None = None,
    method: MeanMethod = "ppi",
    lam: float | None = None,
    interval: Interval = "t",
) -> pd.DataFrame:
    """Return the mean score that people would give, from a judge's scores and some labels.

    Prediction-powered: lam times the judge's mean over the unlabelled cases, plus the mean of
    label minus lam times the judge's score over the labelled ones. With lam = 1 and t, the
    default, the interval covers 95 to 96% in simulations from 20 labels on.

    Parameters
    ----------
    judged : the judge's score of each case, NA where it gave none
    labels : a person's, NA where nobody looked; of the same cases in their order
    low, high : range of the scores, to which estimates and intervals are cut
    strata, weights : as in `corrected_pass_rate`; the estimates are sums over strata then
    method : {"ppi", "ppi++"}
        `ppi++` chooses lambda by the same labels, for each stratum its own. Its interval is too
        short below 200 labels, most of all where most scores are at the top level.
    lam : lambda in [0, 1] for "ppi", fixed in advance, as from an earlier month's labels; 1 if None.
        Where fewer than two cases have no label, the labels alone count: it is 0.
    interval : {"t", "normal"}
        `normal` divides variances by n, as ppi-python does; it is too short for few labels.

    Returns
    -------
    rows raw, labels_only, corrected, as `CORRECTED_MEANS` says
        `raw` and `labels_only` have t intervals. `n` is the number of cases for `raw` and of
        labels for the others; `n_left_out` counts cases without a verdict. NA `too_few` where a
        stratum has no label; the interval is NA `too_few` where one has a single label, and
        `no_variance` where nothing varies. Warnings of `corrected`: `few_labels` below 20, or 5 in
        a stratum; `few_labels_for_tuning` for ppi++ below 200; `constant_rater` or
        `weak_correlation` (below 0.5), where the judge tells little; `wider_than_labels`;
        `no_variance` where no label differs from the judge's score by more than any other, so
        that rarer differences are not reckoned with; `outside_range` where the estimate was cut.

    Raises
    ------
    ValueError
        If a score is no number or beyond `low` or `high`, `lam` is outside [0, 1] or given for
        ppi++, lengths differ, a case has no stratum or the weights are not those of the strata.

    References
    ----------
    Angelopoulos et al. (2023), Science 382:669, doi:10.1126/science.adi6000; Angelopoulos, Duchi
    & Zrnic (2023), arXiv:2311.01453; Fisch et al. (2024), arXiv:2406.04291.

    Examples
    --------
    >>> judged, labels = [4, 5, 3, 4, 5, 5, 4, 3], [4, 4, 3, 3, None, None, None, None]
    >>> found = corrected_mean(judged, labels).set_index("metric")
    >>> float(found.loc["corrected", "estimate"])  # 17/4 + (0 - 1 + 0 - 1)/4
    3.75
    """
    found = labelled_scores(judged, labels, strata, weights, low, high)
    raw, labels_only = _raw(found), _labels_only(found)
    corrected = _corrected(found, method, lam, interval, known_shares=False)
    corrected["warnings"] = _warnings(found, method, corrected, labels_only) or None
    return _rows(found, {"raw": raw, "labels_only": labels_only, "corrected": corrected})


def stratified_ppi(
    judged: Sequence[Any] | pd.Series | np.ndarray,
    labels: Sequence[Any] | pd.Series | np.ndarray,
    strata: Sequence[Any] | pd.Series | np.ndarray,
    *,
    weights: Mapping[Any, float] | pd.Series | None = None,
    low: float | None = None,
    high: float | None = None,
    method: MeanMethod = "ppi",
    lam: float | None = None,
    interval: Interval = "t",
) -> pd.DataFrame:
    """Return a mean as the sum over strata of share times prediction-powered mean.

    For labels drawn with known probabilities that differ between strata. The shares are taken as
    known, be they `weights` or those of the cases; `corrected_mean` with strata and no weights also
    reckons with the chance that made the cases what they are.

    Parameters
    ----------
    judged, labels, strata, weights, low, high, method, lam, interval : as in `corrected_mean`
        t has Satterthwaite's degrees of freedom, by the numbers of labels.

    Returns
    -------
    one row, `corrected`, as `corrected_mean` gives it

    References
    ----------
    Fisch et al. (2024), arXiv:2406.04291.

    Examples
    --------
    >>> judged, strata = [1, 0, 1, 1, 0, 0, 1, 0], list("aaaabbbb")
    >>> found = stratified_ppi(judged, [1, 0, None, None, 1, 0, None, None], strata)
    >>> float(found.loc[0, "estimate"])  # (1 + 0)/2 + (1/2 + 1/2)/2
    1.0
    """
    found = labelled_scores(judged, labels, strata, weights, low, high)
    corrected = _corrected(found, method, lam, interval, known_shares=True)
    corrected["warnings"] = _warnings(found, method, corrected, _labels_only(found)) or None
    return _rows(found, {"corrected": corrected})


def _raw(found: LabelledScores) -> dict[str, Any]:
    if found.strata.weights is None:
        groups, shares = [found.judged], np.ones(1)
    else:
        codes = range(len(found.strata.names))
        groups, shares = (
            [found.judged[found.strata.codes == c] for c in codes],
            found.strata.shares(),
        )
    return {"n": len(found.judged), **_mean_of(found, groups, shares, None), "method": "t"}


def _labels_only(found: LabelledScores) -> dict[str, Any]:
    groups = [labels for labels, _, _ in found.each()]
    shares, n_drawn = found.shares(known=False)
    method = "t" if len(groups) == 1 else "strata, t"
    return {**_mean_of(found, groups, shares, n_drawn), "method": method}


def _mean_of(
    found: LabelledScores, groups: list[Floats], shares: Floats, n_drawn: int | None
) -> dict[str, Any]:
    means = np.array([group.mean() if len(group) else math.nan for group in groups])
    variances = np.array(
        [group.var(ddof=1) / len(group) if len(group) > 1 else math.nan for group in groups]
    )
    parts = StratumMeans(shares, means, variances, np.array(list(map(len, groups))), n_drawn)
    return parts.row("t", found.low, found.high)


def _corrected(
    found: LabelledScores,
    method: MeanMethod,
    lam: float | None,
    interval: Interval,
    *,
    known_shares: bool,
) -> dict[str, Any]:
    _check_options(method, lam, interval)
    groups = found.each()
    shares, n_drawn = found.shares(known=known_shares)
    lams = [
        (1.0 if lam is None else lam)
        if method == "ppi" or not len(g[0])
        else float(tuned_lambda(*g))
        for g in groups
    ]
    fits = [PredictionPowered(*g, factor) for g, factor in zip(groups, lams, strict=True)]
    sizes = np.array([len(labels) for labels, _, _ in groups])
    means = np.array(
        [float(fit.mean()) if n else math.nan for fit, n in zip(fits, sizes, strict=True)]
    )
    ddof = 1 if interval == "t" else 0
    variances = np.array([float(fit.variance(ddof=ddof)) for fit in fits])
    parts = StratumMeans(shares, means, variances, sizes, n_drawn)
    how = f"{method}, lambda given" if lam is not None else method
    factors = {fit.factor for fit in fits}
    strata = "stratified " if len(groups) > 1 else ""
    row = parts.row(interval, found.low, found.high)
    row |= {"method": f"{strata}{how}, {interval}", "correlation": _correlation(*found.pairs())}
    return {**row, "lam": factors.pop() if len(factors) == 1 else None}


def _check_options(method: str, lam: float | None, interval: str) -> None:
    if method not in ("ppi", "ppi++"):
        raise ValueError(f"`method` must be ppi or ppi++. Got {method!r}.")
    if interval not in ("t", "normal"):
        raise ValueError(f"`interval` must be t or normal. Got {interval!r}.")
    if lam is None:
        return
    if method == "ppi++":
        raise ValueError("`lam` is chosen by the labels for ppi++. Leave it out, or take ppi.")
    if not 0 <= lam <= 1:
        raise ValueError(f"`lam` must lie in [0, 1]. Got {lam}.")


def _correlation(labels: Floats, judged: Floats) -> float | None:
    if len(labels) < 2 or np.ptp(labels) == 0 or np.ptp(judged) == 0:
        return None
    return float(np.corrcoef(labels, judged)[0, 1])


def _warnings(
    found: LabelledScores,
    method: MeanMethod,
    corrected: Mapping[str, Any],
    labels_only: Mapping[str, Any],
) -> list[str]:
    if "estimate" not in corrected:
        return []
    labels, judged = found.pairs()
    smallest = min(len(each) for each, _, _ in found.each())
    weak, lam = corrected["correlation"], corrected["lam"]
    differences = labels - (1 if lam is None else lam) * judged
    constant = len(labels) > 1 and weak is None
    told = {
        "few_labels": len(labels) < _LABELS_FOR_PPI or smallest < 5,
        "few_labels_for_tuning": method == "ppi++" and len(labels) < _LABELS_FOR_TUNING,
        "constant_rater": constant,
        "weak_correlation": weak is not None and weak < _WEAK_CORRELATION,
        "wider_than_labels": _width(corrected) > _width(labels_only) * (1 + 1e-9),
        "no_variance": "se" in corrected and len(labels) > 1 and np.ptp(differences) < 1e-12,
    }
    return [name for name, holds in told.items() if holds] + (corrected["warnings"] or [])


def _width(row: Mapping[str, Any]) -> float:
    return float(row["ci_high"] - row["ci_low"]) if "ci_low" in row else math.nan


def _rows(found: LabelledScores, rows: Mapping[str, dict[str, Any]]) -> pd.DataFrame:
    n_labels = int((~np.isnan(found.labels)).sum())
    shared = {
        "n_left_out": found.n_left_out,
        "n_cases": len(found.judged),
        "n_labels": n_labels,
    }
    return CORRECTED_MEANS.build(
        {"metric": name, "n": n_labels, **row, **shared} for name, row in rows.items()
    )
