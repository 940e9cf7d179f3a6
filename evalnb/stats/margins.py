"""How two raters use a scale: how often each level, and what they confuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evalnb.stats.scales import PairedRatings

__all__ = ["margin_rows", "two_level_rows"]


def margin_rows(pairs: PairedRatings) -> list[dict[str, Any]]:
    """Return the rows of the tests of Stuart and Maxwell, and of Bowker.

    Returns
    -------
    `estimate` is chi-squared, `df` its degrees of freedom, `p_value` with no difference
        Levels that neither rater uses have no part. NA as kappa is, and `no_variance` where the
        raters never differ.

    References
    ----------
    Stuart (1955), Biometrika 42(3), doi:10.1093/biomet/42.3-4.412; Maxwell (1970), British Journal
    of Psychiatry 116(535), doi:10.1192/bjp.116.535.651; Bowker (1948), Journal of the American
    Statistical Association 43(244), doi:10.1080/01621459.1948.10483284.
    """
    names = ("stuart_maxwell", "bowker")
    table = pairs.table.astype("float64")
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    table = table[np.ix_(used, used)]
    reason = pairs.why_none
    if reason is None and not (table - np.diag(np.diag(table))).any():
        reason = "no_variance"
    if reason:
        return [{"metric": name, "method": "chi-squared", "reason": reason} for name in names]
    found = (_stuart_maxwell(table), _bowker(table))
    return [
        {"metric": name, **_chi_squared(*values)} for name, values in zip(names, found, strict=True)
    ]


def _stuart_maxwell(table: np.ndarray) -> tuple[float, int]:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    apart = rows - columns
    variance = np.diag(rows + columns) - table - table.T
    # Levels that are confused with no other make it singular in more than one direction.
    degrees = int(np.linalg.matrix_rank(variance, hermitian=True))
    return float(apart @ np.linalg.pinv(variance, hermitian=True) @ apart), degrees


def _bowker(table: np.ndarray) -> tuple[float, int]:
    above = np.triu_indices(len(table), 1)
    one, other = table[above], table.T[above]
    either = one + other
    squares = np.divide((one - other) ** 2, either, out=np.zeros_like(either), where=either > 0)
    return float(squares.sum()), len(either)


def _chi_squared(value: float, degrees: int) -> dict[str, Any]:
    from scipy.special import chdtrc

    return {
        "estimate": value,
        "df": degrees,
        "p_value": float(chdtrc(degrees, value)),
        "method": "chi-squared",
    }


def two_level_rows(pairs: PairedRatings) -> list[dict[str, Any]]:
    """Return the rows that two levels have; the first level is the positive one.

    Returns
    -------
    with a, b, c, d the cells in order: (a - d)/n, (b - c)/n, 2a/(2a + b + c), 2d/(2d + b + c)
        The last two are NA `one_category` where neither rater used the level.

    References
    ----------
    Byrt, Bishop & Carlin (1993), Journal of Clinical Epidemiology 46(5),
    doi:10.1016/0895-4356(93)90018-V; Cicchetti & Feinstein (1990), 43(6),
    doi:10.1016/0895-4356(90)90159-M.
    """
    (a, b), (c, d) = pairs.table.tolist()
    text = f"{pairs.scale.levels[0]!r} is positive"
    ratios = {
        "prevalence_index": (a - d, pairs.n),
        "bias_index": (b - c, pairs.n),
        "positive_agreement": (2 * a, 2 * a + b + c),
        "negative_agreement": (2 * d, 2 * d + b + c),
    }
    undefined = "one_category" if pairs.n else "no_overlap"
    return [
        {
            "metric": name,
            "estimate": above / below if below else None,
            "method": text,
            "reason": None if below else undefined,
        }
        for name, (above, below) in ratios.items()
    ]
