"""Whether a sampler finds more failing conversations than chance would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.frames import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["sampler_gains"]

_RESAMPLES = 10_000


def sampler_gains(
    picks: Mapping[str, pd.DataFrame], outcomes: pd.DataFrame, *, seed: int = 0
) -> pd.DataFrame:
    """Compare the share of failing conversations among picks with that of uniform sampling.

    Uniform sampling finds, in the long run, the share of all conversations. The difference is
    signed: below 0, a sampler finds fewer than chance.

    Parameters
    ----------
    picks : name of a sampler to its candidates
    outcomes : columns conversation_id, failed and, where conversations belong together, cluster
        Where any is NA the conversation is left out and counted.

    seed : of the bootstrap

    Returns
    -------
    a metrics frame, a row a sampler, with `share_picked` and `share_all` : the difference of the two
        The 95% interval is of a bootstrap of whole clusters (percentiles of 10,000), both shares
        anew in each. NA `too_few` for fewer than two picks, or clusters with picks.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; Cameron, Gelbach &
    Miller (2008), Review of Economics and Statistics 90(3), for clusters.

    Examples
    --------
    >>> outcomes = pd.DataFrame({"conversation_id": list("abcd"), "failed": [True, True, False, False]})
    >>> picked = pd.DataFrame({"conversation_id": ["a", "b", "c"]})
    >>> sampler_gains({"all but d": picked}, outcomes).loc[0, "estimate"].round(3)
    np.float64(0.167)
    """
    columns = [name for name in ("conversation_id", "failed", "cluster") if name in outcomes]
    usable = outcomes[columns].dropna()
    failed = usable["failed"].astype(bool).to_numpy()
    names = usable["conversation_id"].to_numpy()
    clusters = pd.factorize(usable["cluster" if "cluster" in usable else "conversation_id"])[0]
    rows = []
    for sampler, picked in picks.items():
        is_picked = np.isin(names, picked["conversation_id"].to_numpy())
        n_left_out = len(picked) - int(is_picked.sum())
        rows.append(
            {"metric": sampler, "n_left_out": n_left_out, "method": "cluster bootstrap"}
            | _difference(failed, is_picked, clusters, seed)
        )
    frame = METRICS.build(rows)
    for name in ("share_picked", "share_all"):
        frame[name] = pd.Series([row[name] for row in rows], dtype="Float64")
    return frame


def _difference(
    failed: np.ndarray, is_picked: np.ndarray, clusters: np.ndarray, seed: int
) -> dict[str, Any]:
    n = int(is_picked.sum())
    n_clusters = len(np.unique(clusters[is_picked]))
    share_all = float(failed.mean()) if len(failed) else None
    if n < 2 or n_clusters < 2:
        return {"n": n, "reason": "too_few", "share_picked": None, "share_all": share_all}
    # A row a cluster: picked and failed, picked, failed, all.
    counts = np.column_stack(
        [
            np.bincount(clusters, weights)
            for weights in (is_picked & failed, is_picked, failed, np.ones(len(failed)))
        ]
    )
    share_picked = float(failed[is_picked].mean())
    size = len(counts)
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), _RESAMPLES)
    sums = drawn @ counts
    usable = sums[sums[:, 1] > 0]
    differences = usable[:, 0] / usable[:, 1] - usable[:, 2] / usable[:, 3]
    low, high = np.quantile(differences, [0.025, 0.975])
    return {
        "estimate": share_picked - float(failed.mean()),
        "ci_low": float(low),
        "ci_high": float(high),
        "n": n,
        "share_picked": share_picked,
        "share_all": share_all,
    }
