"""A share of all conversations, for rates that are true of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.picks import candidates_of
from evalnb.curation.lots import lot

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["sample_uniform"]


def sample_uniform(logs: pd.DataFrame, *, rate: float = 0.01, seed: int = 0) -> pd.DataFrame:
    """Draw conversations that all have the same chance, such as the weekly random 1%.

    The draw is that of `read_logs` with the same seed: of logs that were read at a rate, the same
    conversations are drawn as of all of them, as long as `rate` is no larger.

    Parameters
    ----------
    logs : a logs frame
    rate : the share to draw, above 0
    seed : another one is another draw

    Returns
    -------
    a frame of candidates, in the order of their lots

    Raises
    ------
    ValueError
        If `rate` is not in (0, 1].
    """
    if not 0 < rate <= 1:
        raise ValueError(f"`rate` must be above 0 and at most 1. Got {rate!r}.")
    lots = {name: lot(seed, "uniform", name) for name in logs["conversation_id"].unique().tolist()}
    drawn = sorted((one, name) for name, one in lots.items() if one < rate)
    reason = f"drawn at random, {rate:.3g} of all"
    return candidates_of(
        "uniform",
        [
            {"conversation_id": name, "reason": reason, "stratum": "all", "probability": rate}
            for _, name in drawn
        ],
    )
