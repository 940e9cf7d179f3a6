"""The language of an answer, by its script and its commonest words."""

from __future__ import annotations

import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files

import regex

from evalnb.phrases.tokens import kind_of, pieces

__all__ = ["is_known_language", "language_of"]

_SCRIPTS = {
    "ja": r"[\p{Hiragana}\p{Katakana}]",
    "ko": r"\p{Hangul}",
    "zh": r"\p{Han}",
    "th": r"\p{Thai}",
    "el": r"\p{Greek}",
    "he": r"\p{Hebrew}",
    "cyrillic": r"\p{Cyrillic}",
    "arabic": r"\p{Arabic}",
    "devanagari": r"\p{Devanagari}",
    "latin": r"\p{Latin}",
}
_LETTERS = {name: regex.compile(pattern) for name, pattern in _SCRIPTS.items()}
_KANA_SHARE = 0.1
_FEWEST_WORDS = 2
_CODE_LENGTH = 2


def language_of(text: str) -> str | None:
    """Return the language of a text, as far as its script and commonest words tell.

    Parameters
    ----------
    text : any

    Returns
    -------
    a code such as `de`; the name of a script that several languages share; None where too little
    tells, as in a number, a name or a JSON object
        Of Latin script, seven languages are known; a text that has no two function words of one of
        them, or as many of another, is None.

    Examples
    --------
    >>> language_of("Ihre Bestellung ist auf dem Weg."), language_of("注文は発送されました")
    ('de', 'ja')
    >>> language_of("B-77123") is None
    True
    """
    if text.lstrip().startswith(("{", "[")):
        return None
    counts = {name: len(letters.findall(text)) for name, letters in _LETTERS.items()}
    total = sum(counts.values())
    if not total:
        return None
    if counts["ja"] >= _KANA_SHARE * (counts["ja"] + counts["zh"]) > 0:
        counts["ja"] += counts.pop("zh")
    script = max(counts, key=lambda name: counts[name])
    return _of_latin(text) if script == "latin" else script


def is_known_language(code: str) -> bool:
    """Tell whether `language_of` can tell a language from others.

    Parameters
    ----------
    code : such as `de`

    Examples
    --------
    >>> is_known_language("de"), is_known_language("ja"), is_known_language("ru")
    (True, True, False)
    """
    own_script = code in _SCRIPTS and len(code) == _CODE_LENGTH
    return own_script or any(code in codes for codes in _languages().values())


def _of_latin(text: str) -> str | None:
    words = [token.text for token in map(kind_of, pieces(text)) if token.kind == "word"]
    hits = Counter(code for word in words for code in _languages().get(word, ()))
    (code, most), (_, second) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
    return code if most >= _FEWEST_WORDS and most > second else None


@cache
def _languages() -> dict[str, list[str]]:
    """Return function word to the languages that have it."""
    content = files("evalnb.shifts").joinpath("languages.toml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for code, words in tomllib.loads(content).items():
        for word in words:
            found.setdefault(word, []).append(code)
    return found
