"""Conversations for tests, on literal texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import LOGS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["logs_of", "talk"]


def talk(name: str, *texts: str | None, **more: Any) -> list[dict[str, Any]]:
    """Return a conversation in which the user begins, and each is answered."""
    return [
        {
            "conversation_id": name,
            "turn": turn,
            "role": "assistant" if turn % 2 == 0 else "user",
            "text": text,
            **more,
        }
        for turn, text in enumerate(texts, 1)
    ]


def logs_of(*talks: list[dict[str, Any]]) -> pd.DataFrame:
    """Return conversations as a logs frame."""
    return LOGS.build(row for one in talks for row in one)
