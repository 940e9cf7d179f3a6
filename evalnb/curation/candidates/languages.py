"""The languages of conversations: as the log names them, else as the texts tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.curation.candidates.conversations import asked, conversations
from evalnb.frames import FrameSchema, to_records
from evalnb.shifts import language_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SPOKEN", "base_language", "spoken_languages"]

SPOKEN = FrameSchema(
    "spoken languages",
    {"conversation_id": "string", "language": "string", "source": "string"},
    key=("conversation_id",),
)
"""A row a conversation. `source` is `log` where the log names the language, `text` where it is told
from what the user says; both are NA where neither tells."""


def base_language(tag: str) -> str:
    """Return the language of a tag, without region and script.

    Examples
    --------
    >>> base_language("pt-BR")
    'pt'
    """
    return tag.replace("_", "-").partition("-")[0].strip().casefold()


def spoken_languages(logs: pd.DataFrame) -> pd.DataFrame:
    """Return the language of each conversation, without its region.

    Parameters
    ----------
    logs : a logs frame

    Returns
    -------
    a frame as `SPOKEN` says, in the order of names; see `evalnb.shifts.language_of` for what texts
    can tell

    Examples
    --------
    >>> from evalnb.frames import LOGS
    >>> row = {"turn": 1, "role": "user", "text": "Wo ist das Paket?"}
    >>> logs = LOGS.build([{**row, "conversation_id": "a", "language": "en-GB"}, {**row, "conversation_id": "b"}])
    >>> spoken_languages(logs)[["language", "source"]].values.tolist()
    [['en', 'log'], ['de', 'text']]
    """
    rows = []
    for one in to_records(conversations(logs)):
        named = base_language(one.get("language", ""))
        told = None if named else language_of(asked(one))
        source = "log" if named else "text" if told else None
        rows.append(
            {
                "conversation_id": one["conversation_id"],
                "language": named or told,
                "source": source,
            }
        )
    return SPOKEN.build(rows)
