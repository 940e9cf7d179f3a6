"""Inputs with expected values, by id, from tests/data/statistics_reference.json."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

_FILE = Path(__file__).parents[1] / "data" / "statistics_reference.json"


@lru_cache(maxsize=1)
def _cases() -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in json.loads(_FILE.read_text("utf-8"))["cases"]}


def inputs_and_expected(case_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    case = _cases()[case_id]
    return deepcopy(case["inputs"]), deepcopy(case["expected"])


def metric(frame: pd.DataFrame, name: str) -> pd.Series:
    return frame.drop(columns="metric")[frame["metric"] == name].iloc[0]


def interval_of(row: pd.Series) -> list[float]:
    return [float(row["ci_low"]), float(row["ci_high"])]
