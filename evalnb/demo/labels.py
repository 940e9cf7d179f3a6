"""Labels of the demo: made from what the judge said, with chance, and by no person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.frames import to_records
from evalnb.holdout import HOLDOUT
from evalnb.jsontext import dump_json
from evalnb.judges import suite_judges

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.demo.plan import Night
    from evalnb.golden import GoldenSet

__all__ = ["RATER", "write_labels"]

RATER = "synthetic-rater"
_FIRST, _STEP = 12, 30
_AT_FIRST, _EACH = 26, 8
_SAME = 0.82
_NOTE = "synthetic: made by `evalnb demo-history` from the recorded verdict and chance"


def write_labels(
    golden: GoldenSet,
    scores: pd.DataFrame,
    nights: Sequence[tuple[Night, str]],
    folder: Path,
    *,
    seed: int = 0,
) -> Path:
    """Write a label file of some outputs a month, each marked as synthetic.

    Parameters
    ----------
    golden : the suite of the demo
    scores : the recorded scores, of whose judges' levels the labels are made
    nights : each night and the id of its run
    folder : where label files go
    seed : of what is rated when, and how it differs from the judge

    Returns
    -------
    the file
        Eight labels of ten are the level that was recorded, the others one beside it.
    """
    draw = np.random.default_rng(seed)
    scales = {axis: scale for one in suite_judges(golden) for axis, scale in one.scales.items()}
    judged = _by_output(golden, scores)
    keys = sorted(judged)
    order = [keys[position] for position in draw.permutation(len(keys))]
    lines = []
    for number in range(_FIRST, len(nights), _STEP):
        night, run_id = nights[number]
        n = _AT_FIRST if number == _FIRST else _EACH
        for key in order[:n]:
            for row in judged[key]:
                low, high = scales[row["scorer"]]
                lines.append(_line(row, run_id, night, _level(draw, row["raw_value"], low, high)))
        order = order[n:]
    path = folder / f"{RATER}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{dump_json(line)}\n" for line in lines), encoding="utf-8")
    return path


def _by_output(
    golden: GoldenSet, scores: pd.DataFrame
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    given = scores[scores["tier"].eq("judge") & scores["raw_value"].notna()]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in to_records(given):
        if golden[row["case_id"]].split != HOLDOUT:
            found.setdefault((row["case_id"], row["output_hash"]), []).append(row)
    return found


def _level(draw: np.random.Generator, recorded: float, low: int, high: int) -> float:
    if draw.random() < _SAME:
        return float(recorded)
    step = 1 if draw.random() < 0.5 else -1
    moved = recorded + step if low <= recorded + step <= high else recorded - step
    return float(moved)


def _line(row: dict[str, Any], run_id: str, night: Night, value: float) -> dict[str, Any]:
    return {
        "case_id": row["case_id"],
        "run_id": run_id,
        "output_hash": row["output_hash"],
        "rater": RATER,
        "axis": row["scorer"],
        "value": value,
        "note": _NOTE,
        "action": "label",
        "at": f"{night.day.isoformat()}T09:00:00+00:00",
    }
