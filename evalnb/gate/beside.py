"""The counts of a run and of its baseline beside each other, a row a case and scorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["beside"]


def beside(now: pd.DataFrame, before: pd.DataFrame, needed: int | None = None) -> pd.DataFrame:
    """Put the counts of both sides beside each other, by case and scorer.

    A pair passes where so many repeats as `needed` do, or all; None for all that were scored.

    What is true of a pair: it `ran`, is `known` from the baseline, `passes` or `fails` where it
    was scored, and was scored and passed before (`scored_before`, `passes_before`).
    """
    # Both are baseline frames, so that their keys are unique: `validate` would double the time.
    pairs = now.merge(before, how="outer", on=["case_id", "scorer"], suffixes=("", "_before"))
    passes, fails = _passes_and_fails(pairs, "", needed)
    passes_before, _ = _passes_and_fails(pairs, "_before", needed)
    return pairs.assign(
        ran=pairs["n_repeats"].notna().to_numpy(),
        known=pairs["n_repeats_before"].notna().to_numpy(),
        passes=passes,
        fails=fails,
        scored_before=(pairs["n_scored_before"].fillna(0) > 0).to_numpy(bool),
        passes_before=passes_before,
    )


def _passes_and_fails(
    pairs: pd.DataFrame, side: str, needed: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Tell which cases pass on a side and which fail, as `state_over_repeats` does."""
    passed, scored, repeats = (
        pairs[f"{name}{side}"].fillna(0).to_numpy("int64")
        for name in ("n_passed", "n_scored", "n_repeats")
    )
    if needed is None:
        return (scored > 0) & (passed == scored), passed < scored
    least = np.minimum(needed, repeats)
    known = scored > 0
    return known & (passed >= least), known & (passed + repeats - scored < least)
