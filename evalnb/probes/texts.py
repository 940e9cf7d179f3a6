"""What the probes say in each language, and how a text is padded, shortened and cut up."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import cycle, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LANGUAGES",
    "ProbeTexts",
    "attacks",
    "filler",
    "padded",
    "sentences",
    "shortened",
    "texts",
]

LANGUAGES = ("en", "de", "es", "ja")
"""The languages that the probes speak."""

_WITHOUT_SPACES = frozenset({"ja"})
_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"'”»])\s+|(?<=[。!?])(?![」』])|(?<=[。!?][」』])|\n+")


@dataclass(frozen=True)
class ProbeTexts:
    """What the probes say in one language.

    Attributes
    ----------
    padding : sentences that are true of any answer, and empty
    neutral : sentences that are true, harmless and about something else
    bad : an answer that is rude, false and beside the point
    agrees, disagrees : what a person says of an answer, with {answer} in it
    """

    padding: tuple[str, ...]
    neutral: tuple[str, ...]
    bad: str
    agrees: str
    disagrees: str


@cache
def texts(language: str) -> ProbeTexts:
    """Return what the probes say in a language.

    Parameters
    ----------
    language : one of `LANGUAGES`
    """
    found = _read("texts.toml")[language]
    return ProbeTexts(
        tuple(found["padding"]),
        tuple(found["neutral"]),
        found["bad"],
        found["agrees"],
        found["disagrees"],
    )


def attacks() -> Mapping[str, Mapping[str, str]]:
    """Return the attack texts: family to language to text; hostile on purpose."""
    return _read("attacks.toml")


def padded(text: str, ratio: float, language: str, *, at_least: int = 1) -> str:
    """Return a text with sentences behind it that are true and say nothing.

    Parameters
    ----------
    text : what is padded; it stands first, unchanged
    ratio : how many times as long it becomes, at least, in characters
    language : of the padding
    at_least : how many sentences are added, however long the text is already

    Examples
    --------
    >>> padded("Yes.", 2, "en")
    'Yes. This is the answer to the question that was asked.'
    """
    result = text
    for number, sentence in enumerate(cycle(texts(language).padding)):
        if number >= at_least and len(result) >= ratio * len(text):
            return result
        joint = "" if language in _WITHOUT_SPACES and not result[-1:].isascii() else " "
        result = f"{result}{joint}{sentence}"
    raise AssertionError("there is always one more sentence")


def filler(length: int, language: str) -> str:
    """Return harmless text of just so many characters.

    Examples
    --------
    >>> filler(30, "en"), len(filler(30, "en"))
    ('A week has seven days. Paper..', 30)
    """
    joint, stop = ("", "。") if language in _WITHOUT_SPACES else (" ", ".")
    text = joint.join(islice(cycle(texts(language).neutral), length))
    return text[: length - 1].rstrip().ljust(length, stop)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, in order, without what stands between them.

    Examples
    --------
    >>> sentences("Yes. It takes 5 days!"), sentences("はい。五日です。")
    (['Yes.', 'It takes 5 days!'], ['はい。', '五日です。'])
    """
    return [part.strip() for part in _END.split(text) if part and part.strip()]


def shortened(text: str, language: str) -> str:
    """Return the first part of a text: its first sentence, or half of the only one.

    Examples
    --------
    >>> shortened("Yes. It takes 5 days.", "en"), shortened("It takes five days.", "en")
    ('Yes.', 'It takes')
    """
    first, *rest = sentences(text) or [text]
    if rest:
        return first
    if language in _WITHOUT_SPACES:
        return first[: max(len(first) // 2, 1)]
    words = first.split()
    return " ".join(words[: max(len(words) // 2, 1)])


@cache
def _read(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((files("evalnb.probes") / name).read_text(encoding="utf-8"))
