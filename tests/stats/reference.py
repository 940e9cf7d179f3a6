"""Reference values that come from outside the package."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_FILE = Path(__file__).parents[1] / "data" / "statistics_reference.json"


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in json.loads(_FILE.read_text())["cases"]}


def reference(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return inputs and expected values of an entry."""
    entry = _entries()[name]
    return entry["inputs"], entry["expected"]


def unfold(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return an item for each count of a table: position in its row, position in its column."""
    counts = np.array(table)
    first, second = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(first, counts.ravel()), np.repeat(second, counts.ravel())
