"""Every reference value of agreement, rates, means and corrections has a test."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.stats.reference import reference_ids

# First and last entry of agreement, of rates and means, of corrections; retrieval in the end.
PARTS = [
    ("kappa_2x2_balanced", "judge_decision_24"),
    ("pass_rate_81_of_263", "pass_k_8_5_3"),
    ("rogan_gladen_1000", "stratified_ppi_2"),
    ("retrieval_graded", "retrieval_no_relevant"),
]


@cache
def ids_in_tests() -> frozenset[str]:
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    own = Path(__file__).read_text("utf-8")
    return frozenset(name for text in texts if text != own for name in re.findall(r'"(\w+)"', text))


def ids_of(first: str, last: str) -> list[str]:
    ids = reference_ids()
    return ids[ids.index(first) : ids.index(last) + 1]


@pytest.mark.parametrize("name", [name for part in PARTS for name in ids_of(*part)])
def test_every_entry_is_named_in_a_test(name: str) -> None:
    assert name in ids_in_tests()
