"""Inputs with expected values that come from outside the package, and how to read a frame."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_FILE = Path(__file__).parents[1] / "data" / "statistics_reference.json"


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in json.loads(_FILE.read_text("utf-8"))["cases"]}


def reference(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return inputs and expected values of an entry."""
    entry = _entries()[name]
    return deepcopy(entry["inputs"]), deepcopy(entry["expected"])


def metric(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return the first row of a metric."""
    return frame.drop(columns="metric")[frame["metric"] == name].iloc[0]


def interval_of(row: pd.Series) -> list[float]:
    """Return both ends of the interval."""
    return [float(row["ci_low"]), float(row["ci_high"])]


def unfold(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return an item for each count of a table: position in its row, position in its column."""
    counts = np.array(table)
    first, second = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(first, counts.ravel()), np.repeat(second, counts.ravel())
