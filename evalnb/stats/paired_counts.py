"""How the pass flags of the same cases on two sides fall together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.stats.effects import check_lengths
from evalnb.stats.values import check_count, flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["PairedCounts"]


@dataclass(frozen=True)
class PairedCounts:
    """How the flags of the same cases fall together.

    Attributes
    ----------
    both, only_first, only_second, neither : numbers of cases that passed there
    n_left_out : number of cases that lack a flag
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    n_left_out: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, check_count(value, name))

    @classmethod
    def of(
        cls,
        first: Sequence[Any] | pd.Series | np.ndarray,
        second: Sequence[Any] | pd.Series | np.ndarray,
    ) -> PairedCounts:
        """Count flags that stand beside each other by position.

        Raises
        ------
        ValueError
            If their numbers differ, or one is neither True, False nor NA.

        Examples
        --------
        >>> PairedCounts.of([True, True, False, None], [True, False, False, True])
        PairedCounts(both=1, only_first=1, only_second=0, neither=1, n_left_out=1)
        """
        one, two = flags(first, "first"), flags(second, "second")
        check_lengths(first=one, second=two)
        known = ~(np.isnan(one) | np.isnan(two))
        cells = np.bincount((2 * one[known] + two[known]).astype("int64"), minlength=4)
        neither, only_second, only_first, both = map(int, cells)
        return cls(both, only_first, only_second, neither, int((~known).sum()))

    @property
    def n(self) -> int:
        """Number of cases with both flags."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def passes_first(self) -> int:
        """Number of cases that passed on the first side."""
        return self.both + self.only_first

    @property
    def passes_second(self) -> int:
        """Number of cases that passed on the second side."""
        return self.both + self.only_second

    @property
    def difference(self) -> float | None:
        """Pass rate of the first side minus that of the second, None without a case."""
        return (self.only_first - self.only_second) / self.n if self.n else None
