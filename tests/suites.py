"""Suites for tests: small ones made on the spot, and a copy of the project's own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from evalnb.golden import GoldenSet, read_golden
from evalnb.jsontext import dump_json

REPOSITORY = Path(__file__).parents[1]

PROMPT = """\
model = "claude-haiku-5-5"
max_tokens = 100
system = "Answer in one sentence."

[[tools]]
name = "lookup_order"
description = "Look up an order."
input_schema = { type = "object", properties = { order_id = { type = "string" } } }

[[tools]]
name = "refund"
description = "Refund an order, in cents."
input_schema = { type = "object", properties = { amount_cents = { type = "integer" } } }
"""


def make_suite(folder: Path, cases: list[dict[str, Any]], settings: str = "") -> GoldenSet:
    """Write a suite called `shop` and read it."""
    (folder / "systems").mkdir(parents=True, exist_ok=True)
    (folder / "suite.toml").write_text(f'name = "shop"\n{settings}')
    (folder / "systems" / "v1.toml").write_text(PROMPT)
    (folder / "cases.jsonl").write_text("".join(f"{dump_json(case)}\n" for case in cases))
    return read_golden(folder)


def copy_of_support(folder: Path) -> Path:
    """Copy the project's suite below `folder` and return where it is."""
    suite = folder / "golden" / "support"
    shutil.copytree(REPOSITORY / "golden" / "support", suite)
    return suite
