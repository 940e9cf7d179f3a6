from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evalnb.cases import Case
from evalnb.drops import DROPS, where_it_drops
from evalnb.frames import BASELINE
from evalnb.golden import GoldenSet


def golden(*groups: tuple[int, dict[str, Any]]) -> GoldenSet:
    fields = [each for number, each in groups for _ in range(number)]
    return GoldenSet(
        tuple(
            Case.model_validate({"id": f"c{n:03}", "input": "Hi", "expected_exact": "x"} | each)
            for n, each in enumerate(fields)
        )
    )


def means(suite: GoldenSet, *values: float | None) -> pd.DataFrame:
    return BASELINE.build(
        {"case_id": case.id, "scorer": "(case)", "n_repeats": 1, "mean": value}
        for case, value in zip(suite, values, strict=True)
    )


def test_a_drop_in_one_language_is_found_there() -> None:
    suite = golden((30, {"language": "en"}), (20, {"language": "ja"}))
    found = where_it_drops(suite, means(suite, *[1.0] * 50), means(suite, *[1.0] * 38, *[0.0] * 12))
    row = found.iloc[0]
    assert row["slice"] == "language=ja"
    assert (row["mean_a"], row["mean_b"], row["n"]) == (1.0, 0.4, 20)
    assert row["p_value"] == pytest.approx(2**-12)  # twelve cases, all down
    assert row["case_ids"] == [f"c{number:03}" for number in range(38, 50)]
    assert "language=en" not in set(found["slice"])


def test_a_drop_where_two_slices_meet_is_found_there() -> None:
    suite = golden(
        (20, {"language": "en", "category": "orders"}),
        (20, {"language": "de", "category": "orders"}),
        (20, {"language": "en", "category": "returns"}),
    )
    after = [*[1.0] * 20, *[0.0] * 12, *[1.0] * 28]
    found = where_it_drops(suite, means(suite, *[1.0] * 60), means(suite, *after))
    # In German, all cases are of orders: the two slices are one.
    row = found.iloc[0]
    assert {row["slice"], *row["folded"]} == {"language=de", "category=orders & language=de"}


def test_no_change_is_no_drop() -> None:
    suite = golden((30, {"language": "en"}))
    same = means(suite, *[1.0, 0.0] * 15)
    pd.testing.assert_frame_equal(where_it_drops(suite, same, same), DROPS.empty())


def test_few_cases_are_not_searched() -> None:
    suite = golden((7, {"language": "en"}))
    found = where_it_drops(suite, means(suite, *[1.0] * 7), means(suite, *[0.0] * 7))
    assert found.empty


def test_cases_that_one_side_did_not_score_have_no_part() -> None:
    suite = golden((12, {"language": "en"}))
    found = where_it_drops(
        suite, means(suite, *[1.0] * 12), means(suite, *[0.0] * 9, None, None, None)
    )
    assert found["n"].tolist() == [9]
