"""Traffic of the demo: questions of the golden set and of a public set, with made-up thumbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evalnb.curation.candidates.vectors import case_text
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.frames import to_records
from evalnb.jsontext import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.demo.plan import Night
    from evalnb.golden import GoldenSet

__all__ = ["write_traffic"]

_DAYS = 30
_A_DAY = 12
_ELSEWHERE = "flights"
_RATED, _AGREES = 0.6, 0.85


def write_traffic(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    results: pd.DataFrame,
    nights: Sequence[Night],
    path: Path,
    *,
    seed: int = 0,
) -> str:
    """Write a month of conversations, each marked as synthetic.

    Parameters
    ----------
    golden : the suite of the demo
    outputs, results : the recorded answers, and how they came out
    nights : of the demo; traffic is of the last 30 days
    path : the log, JSON Lines with a message a line
    seed : of what is asked and of the thumbs

    Returns
    -------
    the category whose thumbs were planted to go against the scores
        Thumbs follow the scores for the most part; in that category they are down whatever the
        scores say. One conversation in ten or so is of tau-bench, whose kind no case is of.
    """
    draw = np.random.default_rng(seed)
    passing = set(results.loc[results["state"].eq("pass").fillna(value=False), "case_id"])
    texts = {row["case_id"]: row.get("text", "") for row in to_records(outputs)}
    cases = [case for case in golden if case.category and texts.get(case.id)]
    contrary = _best_category([(str(case.category), case.id in passing) for case in cases])
    foreign = _foreign()
    lines: list[dict[str, Any]] = []
    for night in nights[-_DAYS:]:
        for number in range(_A_DAY):
            name = f"synthetic-{night.day:%Y%m%d}-{number:02}"
            at = f"{night.day.isoformat()}T{8 + number:02}:00:00+00:00"
            if draw.random() < 0.1:
                asked, answered = foreign[int(draw.integers(len(foreign)))]
                lines += _messages(name, at, asked, answered, _ELSEWHERE, "en", None)
                continue
            case = cases[int(draw.integers(len(cases)))]
            category = str(case.category)
            thumb = _thumb(draw, case.id in passing and category != contrary)
            lines += _messages(
                name, at, case_text(case), texts[case.id], category, case.language or "en", thumb
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{dump_json(line)}\n" for line in lines), encoding="utf-8")
    return contrary


def _best_category(outcomes: Sequence[tuple[str, bool]]) -> str:
    """Return the category that passes most often, of those with five cases or more."""
    by: dict[str, list[bool]] = {}
    for category, passed in outcomes:
        by.setdefault(category, []).append(passed)
    large = {name: sum(found) / len(found) for name, found in by.items() if len(found) >= 5}
    return max(sorted(large), key=large.__getitem__)


def _thumb(draw: np.random.Generator, passes: bool) -> int | None:
    if draw.random() >= _RATED:
        return None
    agrees = draw.random() < _AGREES
    return 1 if passes == agrees else -1


def _foreign() -> list[tuple[str, str]]:
    """Return the first question and answer of each conversation of tau-bench."""
    logs = load_taubench_airline()
    spoken = logs[logs["role"].isin(["user", "assistant"]) & logs["text"].notna()]
    pairs = []
    for _, rows in spoken.groupby("conversation_id", sort=True):
        asked = rows.loc[rows["role"] == "user", "text"]
        answered = rows.loc[rows["role"] == "assistant", "text"]
        if len(asked) and len(answered):
            pairs.append((str(asked.iloc[0]), str(answered.iloc[0])))
    return pairs


def _messages(
    name: str, at: str, asked: str, answered: str, category: str, language: str, thumb: int | None
) -> Iterator[dict[str, Any]]:
    whole = {"conversation_id": name, "at": at, "category": category, "language": language}
    yield {**whole, "role": "user", "text": asked}
    said = {} if thumb is None else {"feedback": thumb}
    yield {**whole, "role": "assistant", "text": answered, **said}
