"""Suites of any size for benchmarks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

APP = "tests.benchmarks.app:answer"
CONCURRENCY = 64
MODEL = "claude-haiku-5-5"
MAX_TOKENS = 256
SYSTEM = "You answer the customers of a small shop. Be brief, friendly and exact."

_SUITE = 'name = "bench"\n'
_PROMPT = f'model = "{MODEL}"\nmax_tokens = {MAX_TOKENS}\nsystem = "{SYSTEM}"\n'
_SENTENCES = (
    "I placed an order last week and the parcel has not arrived yet.",
    "The tracking page says that it left the warehouse on Monday morning.",
    "My invoice shows a discount that I did not ask for and cannot explain.",
    "When I called the hotline nobody could tell me where the courier is.",
    "Please check whether the address on the label is the one I gave you.",
    "If the goods are lost I want a refund to the card that I paid with.",
    "A voucher would be fine as well, as long as it does not expire too soon.",
)
_KEYWORDS = ("parcel", "tracking", "invoice", "courier", "label", "refund", "voucher")
_CATEGORIES = ("orders", "delivery", "returns", "invoices", "account")
_INPUT_CHARACTERS = 1700  # with the system prompt and the frame around it, a request of 2 kB


def make_suite(folder: Path, n: int) -> Path:
    """Write a suite of `n` cases that the stand-in's replies meet in part."""
    (folder / "systems").mkdir(parents=True)
    (folder / "suite.toml").write_text(_SUITE)
    (folder / "systems" / "v1.toml").write_text(_PROMPT)
    lines = (json.dumps(_case(number)) for number in range(n))
    (folder / "cases.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def first_cases(suite: Path, outputs: Path, folder: Path, n: int) -> Path:
    """Make a suite of another's first cases, with the cassettes that a run of it used."""
    make_suite(folder, n)
    (folder / "cassettes").mkdir()
    with outputs.open() as lines:
        for _, line in zip(range(n), lines, strict=False):
            for key in json.loads(line)["request_keys"]:
                name = f"{key}.json"
                os.link(suite / "cassettes" / name, folder / "cassettes" / name)
    return folder


def request(text: str) -> dict[str, Any]:
    """Return the request that the suite's prompt file makes of an input."""
    return {
        "model": MODEL,
        "max_tokens": MAX_TOKENS,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": text}],
    }


def _case(number: int) -> dict[str, Any]:
    keywords = [_KEYWORDS[(number + step) % len(_KEYWORDS)] for step in range(3)]
    return {
        "id": f"case-{number:05}",
        "category": _CATEGORIES[number % len(_CATEGORIES)],
        "language": "en",
        "tags": ["edge" if number % 4 == 0 else "common"],
        "split": "holdout" if number % 5 == 0 else "dev",
        "input": _input(number),
        "expected_keywords": keywords[:2],
        "must_contain": keywords[2:],
    }


def _input(number: int) -> str:
    sentences = [f"This is about order {number:05}."]
    while sum(map(len, sentences)) < _INPUT_CHARACTERS:
        sentences.append(_SENTENCES[(number + len(sentences)) % len(_SENTENCES)])
    return " ".join(sentences)
