"""Outputs of two sides for tests on phrases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DATA = Path(__file__).parent.parent / "data" / "phrases"


def outputs(texts: Mapping[str, str | Sequence[str | None] | None]) -> pd.DataFrame:
    """Make the columns that a comparison reads: case to its text, or to one a repeat."""
    rows = [
        {"case_id": case_id, "repeat": repeat, "text": text, "na_reason": None}
        for case_id, given in texts.items()
        for repeat, text in enumerate(
            [given] if given is None or isinstance(given, str) else given, 1
        )
    ]
    frame = pd.DataFrame(rows, columns=["case_id", "repeat", "text", "na_reason"])
    return frame.astype({"case_id": "string", "text": "string", "na_reason": "string"})


def missing(answers: pd.DataFrame, case_id: str) -> pd.DataFrame:
    """Take the answers to a case away, as if no server had given them."""
    gone = answers["case_id"] == case_id
    return answers.assign(
        text=answers["text"].mask(gone), na_reason=answers["na_reason"].mask(gone, "server")
    )


def recorded(name: str) -> pd.DataFrame:
    """Return a recorded run of the local model: 60 cases, three repeats."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return pd.DataFrame(map(json.loads, lines)).assign(na_reason=None)


def planted(
    answers: pd.DataFrame, old: str, new: str, share: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Put a phrase in the place of another in some of the answers that hold it."""
    chosen = rng.random(len(answers)) < share
    texts = answers["text"].where(~chosen, answers["text"].str.replace(old, new))
    return answers.assign(text=texts)
