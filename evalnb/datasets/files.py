"""The files of public data that are in the package."""

from __future__ import annotations

import gzip
import io
from importlib.resources import files

__all__ = ["packed_text"]


def packed_text(name: str) -> io.StringIO:
    """Return the text of a file of public data.

    Parameters
    ----------
    name : of the file, without `.gz`
    """
    packed = files("evalnb.datasets").joinpath(f"{name}.gz").read_bytes()
    return io.StringIO(gzip.decompress(packed).decode("utf-8"))
