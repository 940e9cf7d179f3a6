"""Chance that follows from names, so that it is the same in any order and on any machine."""

from __future__ import annotations

import hashlib

__all__ = ["lot"]


def lot(seed: int, *names: str) -> float:
    """Return the lot that falls to what these names say, evenly spread over [0, 1).

    Parameters
    ----------
    seed : another one is another draw
    *names : what the lot is for, and whom it falls to

    Examples
    --------
    >>> lot(0, "order", "case-1") == lot(0, "order", "case-1")
    True
    >>> lot(0, "order", "case-1") == lot(1, "order", "case-1")
    False
    """
    text = "\0".join([str(seed), *names])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64
