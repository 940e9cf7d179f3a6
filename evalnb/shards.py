"""Shards: the cases of a suite in parts that machines run side by side."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evalnb.errors import InputError

if TYPE_CHECKING:
    from evalnb.golden import GoldenSet

__all__ = ["Shard", "parse_shard", "shard_number"]

_MOST = 1000


@dataclass(frozen=True, order=True)
class Shard:
    """One of the parts of a suite.

    A case's shard follows from its id alone, so that neither the order of the cases nor what else
    is among them matters.

    Attributes
    ----------
    number : counted from 1
    of : how many parts there are
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def takes(self, case_id: str) -> bool:
        """Tell whether a case is in this shard.

        Examples
        --------
        >>> [shard.number for shard in (Shard(1, 3), Shard(2, 3), Shard(3, 3)) if shard.takes("refund")]
        [2]
        """
        return shard_number(case_id, self.of) == self.number

    def cases_of(self, golden: GoldenSet) -> GoldenSet:
        """Return the cases of a golden set that are in this shard; there may be none."""
        return replace(golden, cases=tuple(case for case in golden if self.takes(case.id)))


def shard_number(case_id: str, of: int) -> int:
    """Return which of so many shards a case is in, counted from 1.

    Examples
    --------
    >>> [shard_number(case_id, 3) for case_id in ("refund", "order-late")]
    [2, 1]
    """
    digest = hashlib.sha256(case_id.encode()).digest()
    return int.from_bytes(digest[:8]) % of + 1


def parse_shard(text: str) -> Shard:
    """Read a shard as the command line has it.

    Parameters
    ----------
    text : number and count, such as "2/5"

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> parse_shard("2/5")
    Shard(number=2, of=5)
    """
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= _MOST:
        raise InputError(
            f"a shard is its number and how many there are, at most {_MOST}, such as 2/5. "
            f"Got {text!r}."
        )
    return shard
