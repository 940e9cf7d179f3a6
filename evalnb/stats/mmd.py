"""Whether two samples of vectors come from one distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import METRICS, FrameSchema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MMD", "maximum_mean_discrepancy"]

MMD = FrameSchema(
    "mmd", {**METRICS.columns, "p_value": "Float64", "bandwidth": "Float64"}, METRICS.key
)
"""A metrics frame; `bandwidth` is the median distance of two vectors, which sets the kernel."""

_PERMUTATIONS = 999
_TOLERANCE = 1e-9
_FEWEST = 2


def maximum_mean_discrepancy(first: Any, second: Any, *, seed: int = 0) -> pd.DataFrame:
    """Return the squared maximum mean discrepancy of two samples of vectors.

    The kernel is exp(-d^2/(2 median^2)), with the median of the distances of all pairs, of both
    samples together.

    Parameters
    ----------
    first, second : a row a vector, such as an embedding; both as wide
    seed : of the permutations

    Returns
    -------
    one row, `mmd_squared`, as `MMD` says, without an interval
        The unbiased estimate, which may be below 0 where nothing sets the two apart. The p-value
        is of 999 permutations of which sample a vector belongs to. NA `too_few` below two vectors
        on a side, `no_variance` where the median distance is 0.

    Raises
    ------
    ValueError
        If the two are no tables of finite numbers of one width.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola (2012), A Kernel Two-Sample Test, Journal of
    Machine Learning Research 13, lemma 6.
    """
    from scipy.spatial.distance import pdist, squareform

    both = _stacked(first, second)
    n, m = len(first), len(second)
    row: dict[str, Any] = {"metric": "mmd_squared", "n": n + m, "method": "permutation"}
    if min(n, m) < _FEWEST:
        return MMD.build([row | {"reason": "too_few"}])
    distances = pdist(both)
    bandwidth = float(np.median(distances))
    if not bandwidth:
        return MMD.build([row | {"reason": "no_variance"}])
    kernel = squareform(np.exp(-(distances**2) / (2 * bandwidth**2)))
    draw = np.random.default_rng(seed)
    sides = np.zeros((n + m, 1 + _PERMUTATIONS))
    sides[:n, 0] = 1
    for column in range(1, 1 + _PERMUTATIONS):
        sides[draw.permutation(n + m)[:n], column] = 1
    found = _estimates(kernel, sides, n, m)
    hits = int((found[1:] >= found[0] - _TOLERANCE).sum())
    p_value = (hits + 1) / (_PERMUTATIONS + 1)
    return MMD.build(
        [row | {"estimate": float(found[0]), "p_value": p_value, "bandwidth": bandwidth}]
    )


def _stacked(first: Any, second: Any) -> np.ndarray:
    tables = [np.asarray(table, dtype="float64") for table in (first, second)]
    if any(table.ndim != 2 for table in tables) or tables[0].shape[1] != tables[1].shape[1]:
        shapes = " and ".join(str(table.shape) for table in tables)
        raise ValueError(f"`first` and `second` must be tables of one width. Got {shapes}.")
    both = np.vstack(tables)
    if not np.isfinite(both).all():
        raise ValueError("`first` and `second` must be finite numbers throughout")
    return both


def _estimates(kernel: np.ndarray, sides: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return the estimate for each column of `sides`, 1 where a vector is of the first sample.

    The kernel has zeros on its diagonal: a vector is not compared with itself.
    """
    reached = kernel @ sides
    within = (sides * reached).sum(axis=0)
    across = reached.sum(axis=0) - within
    beyond = kernel.sum() - within - 2 * across
    return np.asarray(within / (n * (n - 1)) + beyond / (m * (m - 1)) - 2 * across / (n * m))
