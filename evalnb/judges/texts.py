"""What a judge is shown: untrusted text between tags that nobody can close who did not set them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from evalnb.jsontext import writable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evalnb.cases import Case

__all__ = [
    "MAX_BLOCK_CHARACTERS",
    "candidate_text",
    "code_of",
    "context_text",
    "conversation_text",
    "message",
    "tagged",
]

MAX_BLOCK_CHARACTERS = 200_000
"""Longest text between two tags; of a longer one the middle is left out, and the text says so."""

_CODE_DIGITS = 16
_NAMES = ("conversation", "context", "criteria", "reference", "candidate", "first", "second")
_UNSEEN = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef"
)
_LIKE_TAG = re.compile(
    rf"[<＜﹤](?=[\s/／{_UNSEEN}]{{0,16}}(?:"
    + "|".join(f"[{_UNSEEN}]{{0,4}}".join(name) for name in _NAMES)
    + "))",
    re.IGNORECASE,
)
"""Where a text sets a tag like ours, with or without the code."""

_CALL = "[tool call]"
_LIKE_CALL = re.compile(
    rf"((?:^|[\r\v\f\x85\u2028\u2029])[\s{_UNSEEN}]{{0,16}})[\[［](?=[\s{_UNSEEN}]{{0,4}}"
    + rf"[\s{_UNSEEN}]{{0,4}}".join("toolcall")
    + ")",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a line of a text says, like a line of ours, that a tool was called."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}\s*")


def code_of(*parts: str) -> str:
    """Return the code of a message: it follows from all that the message shows.

    Nobody who writes a part of it can know it, and the same message has the same code again, so
    that a recorded response is found.
    """
    content = json.dumps(parts, ensure_ascii=True).encode()
    return hashlib.sha256(content).hexdigest()[:_CODE_DIGITS]


def tagged(name: str, text: str, code: str) -> str:
    """Return a text between tags; what looks like such a tag within it is none any more."""
    return f"<{name}-{code}>\n{_harmless(text)}\n</{name}-{code}>"


def message(template: str, blocks: Mapping[str, str], code: str) -> str:
    """Fill a template with blocks between their tags; one without text leaves nothing.

    Parameters
    ----------
    template : text with names of blocks in braces
    blocks : name to text, untrusted
    code : of the message

    Returns
    -------
    the message, the code in its first line
    """
    shown = {name: text for name, text in blocks.items() if text}
    kept = _PLACEHOLDER.sub(lambda found: found[0] if found[1] in shown else "", template)
    filled = re.sub(
        r"\{([A-Za-z_]+)\}",
        lambda found: tagged(found[1], shown[found[1]], code),
        kept.strip(),
    )
    return f"Code: {code}\n\n{filled}"


def conversation_text(case: Case) -> str:
    """Return what was said before the answer."""
    if case.turns is not None:
        return _lines(f"User, turn {n}: {turn.input}" for n, turn in enumerate(case.turns, 1))
    if case.messages is None:
        return case.input or ""
    return _lines(
        f"{message.role.capitalize()}: {_content_text(message.content)}"
        for message in case.messages
    )


def context_text(case: Case) -> str:
    """Return the passages that the system was given, and the session's state."""
    passages = [
        f"[{passage.id}] {passage.text}" if passage.id else passage.text
        for passage in case.context or ()
    ]
    state = [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in (case.state or {}).items()
    ]
    return _lines([*passages, *state])


def candidate_text(row: Mapping[str, Any]) -> str:
    """Return an output as a judge reads it: texts and tool calls, turn by turn.

    A text that writes of a tool call as we do shows none: only what was called is a call.
    """
    turns = row.get("turns") or ()
    if not turns:
        return _answer_text(row)
    return "\n\n".join(
        f"Turn {number}:\n{_answer_text(turn)}" for number, turn in enumerate(turns, 1)
    )


def _answer_text(output: Mapping[str, Any]) -> str:
    calls = [
        f"{_CALL} {call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}"
        for call in output.get("tool_calls") or ()
    ]
    text = _LIKE_CALL.sub(r"\1‹", output.get("text") or "")
    ended = "[the assistant declined to answer]" if output.get("stop_reason") == "refusal" else ""
    return _lines([*calls, text, ended]) or "[the answer is empty]"


def _content_text(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return _lines(
        str(block["text"]) if "text" in block else json.dumps(block, ensure_ascii=False)
        for block in content
    )


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _harmless(text: str) -> str:
    return _LIKE_TAG.sub("‹", _shortened(writable_text(text)))


def _shortened(text: str) -> str:
    left_out = len(text) - MAX_BLOCK_CHARACTERS
    if left_out <= 0:
        return text
    half = MAX_BLOCK_CHARACTERS // 2
    return f"{text[:half]}\n[… {left_out:,} characters are left out here …]\n{text[-half:]}"
