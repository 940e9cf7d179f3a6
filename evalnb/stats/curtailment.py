"""Whether the cases that are left can still change what a run comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.stats.levels import ALPHA
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from evalnb.stats.mcnemar import McNemarMethod

__all__ = ["Curtailment", "curtailment"]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Curtailment:
    """What is still possible: a run stops green when it cannot block, red when it must."""

    can_still_block: bool
    must_block: bool


def curtailment(
    regressed: int,
    repaired: int,
    left: int,
    *,
    alpha: float = ALPHA,
    margin: float = 0.0,
    unchanged: int = 0,
    method: McNemarMethod = "exact",
) -> Curtailment:
    """Say whether pass flags of one repeat can still be blocked, and whether they must.

    Exact: a run that is stopped by it comes to what it would have come to.

    Parameters
    ----------
    regressed, repaired, unchanged : cases so far that fail now alone, pass now alone, or neither
    left : cases without a result yet
    alpha : one-sided level of McNemar's test
    margin : the least drop of the pass rate that blocks
    method : {"exact", "mid_p"}

    Examples
    --------
    >>> curtailment(1, 2, 6)  # 7 against 2 has p = 0.09
    Curtailment(can_still_block=False, must_block=False)
    """
    counts = {"regressed": regressed, "repaired": repaired, "left": left, "unchanged": unchanged}
    worse, better, open_ones, same = (check_count(v, k) for k, v in counts.items())
    n = worse + better + open_ones + same

    def blocks(fails: int, passes: int) -> bool:
        p = mcnemar(passes, fails, method=method, alternative="less")
        return p <= alpha and fails - passes >= margin * n - _ROUNDING

    return Curtailment(blocks(worse + open_ones, better), blocks(worse, better + open_ones))
