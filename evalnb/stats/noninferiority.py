"""Whether a pass rate is shown to be no worse than another by a margin, or worse by more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalnb.frames import FrameSchema
from evalnb.stats.paired import PAIRED, difference_row
from evalnb.stats.paired_intervals import tango_interval, tango_z

if TYPE_CHECKING:
    import pandas as pd

    from evalnb.stats.paired_counts import PairedCounts

__all__ = ["NONINFERIORITY", "paired_noninferiority"]

NONINFERIORITY = FrameSchema(
    "noninferiority",
    {
        **PAIRED.columns,
        "margin": "Float64",
        "score_z": "Float64",
        "p_noninferior": "Float64",
        "p_drop_exceeds_margin": "Float64",
    },
    key=PAIRED.key,
)
"""A paired frame with a test against a margin: small `p_noninferior` shows that the first side is
not worse by the margin, small `p_drop_exceeds_margin` that it is worse by more."""


def paired_noninferiority(counts: PairedCounts, *, margin: float) -> pd.DataFrame:
    """Test whether the first side is worse than the second by a margin, or is shown not to be.

    Parameters
    ----------
    counts : how the flags of the same cases fall together
        Candidate first, baseline second.
    margin : in [0, 1), the drop of the pass rate that would matter

    Returns
    -------
    one row, `difference`, as `NONINFERIORITY` says; NA `too_few` without a case
        The interval is Tango's 90% interval: its lower end lies above -margin just where
        `p_noninferior` is below 0.05.

    Raises
    ------
    ValueError
        If `margin` is outside [0, 1).

    References
    ----------
    Tango (1998), Statistics in Medicine 17:891-908.

    Examples
    --------
    >>> from evalnb.stats.paired_counts import PairedCounts
    >>> found = paired_noninferiority(PairedCounts(180, 3, 6, 11), margin=0.05)
    >>> round(float(found.loc[0, "p_noninferior"]), 4)
    0.0278
    """
    from scipy.special import ndtr

    if not 0 <= margin < 1:
        raise ValueError(f"`margin` must be in [0, 1). Got {margin}.")
    row = difference_row(counts) | {"margin": margin}
    if counts.n:
        first, second, n = counts.only_first, counts.only_second, counts.n
        z = tango_z(first, second, n, -margin)
        row |= vars(tango_interval(first, second, n, level=0.9)) | {
            "method": "tango, 90%",
            "score_z": z if math.isfinite(z) else None,
            "p_noninferior": float(ndtr(-z)),
            "p_drop_exceeds_margin": float(ndtr(z)),
        }
    return NONINFERIORITY.build([row])
