from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from evalnb.frames import METRICS
from evalnb.reports.agreement_words import agreement_advice, kappa_sentence
from evalnb.stats.agreement import agreement_statistics
from tests.reports.agreement_frames import HOPELESS, STRONG, decided


def statistics(**estimates: Any) -> pd.DataFrame:
    """Return statistics; a tuple is an estimate with its interval."""
    rows = []
    for metric, given in estimates.items():
        estimate, low, high = given if isinstance(given, tuple) else (given, None, None)
        rows.append({"metric": metric, "estimate": estimate, "ci_low": low, "ci_high": high})
    return METRICS.build(rows)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {},
            (
                "The judge agrees with people beyond chance at 0.72 (95%: 0.55 to 0.83, 40 labels). "
                "Usable needs 0.60 at the lower end: about 30 more labels, or a sharper rubric."
            ),
        ),
        (STRONG, "at 0.90 (95%: 0.85 to 0.94, 40 labels). That is strong."),
        (HOPELESS, "That is too low for any number of labels to lift it: sharpen the rubric."),
        ({"more_labels": None}, "no number of labels is enough for that"),
        (
            {"estimate": None, "reason": "no_overlap"},
            "Nothing can be said of the judge's agreement with people: no item has both",
        ),
    ],
)
def test_kappa_is_said_with_what_is_next(row: dict[str, Any], expected: str) -> None:
    assert expected in kappa_sentence(decided(**row))


def test_a_level_that_dominates_is_named_as_the_cause() -> None:
    # STATISTICS: [[80, 10], [5, 5]] agrees on 85% with kappa 0.32
    people = [1] * 90 + [0] * 10
    judge = [1] * 80 + [0] * 10 + [1] * 5 + [0] * 5
    said = agreement_advice(agreement_statistics(people, judge, levels=[0, 1]))
    assert said[0].startswith("85% of verdicts match, yet kappa is 0.32, because one level")
    assert said[0].endswith("Label more items of the other levels.")


def test_a_shifted_scale_is_said_where_the_order_is_right() -> None:
    (said,) = agreement_advice(statistics(spearman=0.9, bias=(-0.8, -1.0, -0.6)))
    assert "in people's order (Spearman 0.90) and is stricter by 0.80 of a level" in said
    assert agreement_advice(statistics(spearman=0.9, bias=(-0.8, -2.0, 0.4))) == []
    assert agreement_advice(statistics(spearman=0.9, bias=(-0.2, -0.3, -0.1))) == []


def test_no_common_order_is_a_vague_axis() -> None:
    (said,) = agreement_advice(statistics(spearman=0.3, kappa_quadratic=(0.3, 0.2, 0.4)))
    assert said.startswith("The judge does not put the items in people's order (Spearman 0.30)")
    assert agreement_advice(statistics(spearman=0.4, kappa_quadratic=(0.5, 0.2, 0.7))) == []


def test_levels_used_otherwise_set_a_limit() -> None:
    (said,) = agreement_advice(statistics(kappa_max=0.64, kappa_quadratic=0.3, bias=-0.8))
    assert "even in perfect order kappa could be 0.64 at most" in said


def test_without_a_pattern_nothing_is_said() -> None:
    assert agreement_advice(METRICS.empty()) == []
    assert (
        agreement_advice(agreement_statistics([1, 2, 3] * 9, [1, 2, 3] * 9, levels=[1, 2, 3])) == []
    )
