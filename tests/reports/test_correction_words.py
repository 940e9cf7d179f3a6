from __future__ import annotations

import pandas as pd
import pytest

from evalnb.reports.correction_words import (
    audit_sentence,
    corrected_mean_sentence,
    corrected_rate_sentence,
    correction_sentences,
    failure_bound_sentence,
    mean_sentence,
    pass_rate_sentence,
    rogan_gladen_sentence,
    warning_sentences,
)
from evalnb.stats.audit import AUDIT, suggest_audit
from evalnb.stats.corrected_means import corrected_mean
from evalnb.stats.correction import CORRECTED_RATES, corrected_pass_rate
from evalnb.stats.means import mean_score
from evalnb.stats.rates import failure_bound, na_bounds, pass_rate, zero_failures_bound
from evalnb.stats.rogan_gladen import rogan_gladen

CLUSTERS = [1, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6]
CLUSTERED = [1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0]

TEXTS = [
    (
        pass_rate_sentence(na_bounds(52, 4, 4)),
        (
            "Pass rate 0.93 (0.83 to 0.97), 52 of the 56 scored, 4 not scored; between 0.87 and 0.93 "
            "if all of those had failed or passed."
        ),
    ),
    (
        pass_rate_sentence(pass_rate([True] * 57 + [False] * 3)),
        "Pass rate 0.95 (0.86 to 0.98), 57 of the 60 scored.",
    ),
    (pass_rate_sentence(pass_rate([None])), "No pass rate: none of the 1 case was scored."),
    # 0.0099361 is rounded up: a bound is never said lower than it is
    (
        failure_bound_sentence(zero_failures_bound(300)),
        "No failure in 300: the rate of failures is below 1% (one-sided, 95%).",
    ),
    # 1 - 0.05^(1/30) = 0.0950
    (
        failure_bound_sentence(zero_failures_bound(30)),
        "No failure in 30: the rate of failures is below 9.6% (one-sided, 95%).",
    ),
    # 1 - 0.01^(1/3000) = 0.001534
    (
        failure_bound_sentence(zero_failures_bound(3000, level=0.99)),
        "No failure in 3,000: the rate of failures is below 0.16% (one-sided, 99%).",
    ),
    # two-sided 90% Clopper-Pearson of 2 in 300 by statsmodels: 0.02083
    (
        failure_bound_sentence(failure_bound(2, 300)),
        "2 failures in 300: the rate of failures is below 2.1% (one-sided, 95%).",
    ),
    (
        failure_bound_sentence(failure_bound(1, 1)),
        "1 failure in 1: nothing bounds the rate of failures.",
    ),
    (
        failure_bound_sentence(zero_failures_bound(0)),
        "Nothing was tried: nothing is known of how often it fails.",
    ),
    # 18 / 1.825926 = 9.86
    (
        mean_sentence(mean_score(CLUSTERED, clusters=CLUSTERS, low=0, high=1)),
        "Mean 0.67 (0.27 to 1.00), 18 cases; in 6 clusters they tell as much as 10 on their own.",
    ),
    (
        mean_sentence(mean_score([4, None])),
        "Mean 4.00 (no interval: too few values), 1 case, 1 not scored.",
    ),
    (mean_sentence(mean_score([3, 3])), "Mean 3.00 (no interval: nothing varies), 2 cases."),
    (mean_sentence(mean_score([None, None])), "No mean: none of the 2 cases has a score."),
    (
        rogan_gladen_sentence(rogan_gladen(400, 1000, 180, 200, 140, 200)),
        (
            "The judge passes 40%; it passes 90% of the 200 that people pass and fails 70% of the 200 "
            "that they fail: corrected 0.17 (0.06 to 0.26)."
        ),
    ),
    (
        rogan_gladen_sentence(rogan_gladen(50, 100, 10, 20, 10, 20)),
        (
            "The judge passes 50%; it passes 50% of the 20 that people pass and fails 50% of the 20 "
            "that they fail: not shown to be better than chance, so that nothing can be corrected."
        ),
    ),
    (
        rogan_gladen_sentence(rogan_gladen(50, 100, 0, 0, 10, 20)),
        "Too few labels or verdicts to correct the judge by its errors.",
    ),
    (
        audit_sentence(
            suggest_audit(
                pd.DataFrame({"case_id": list("abcdef"), "judged": [True] * 4 + [False] * 2}),
                pd.DataFrame({"case_id": [], "value": []}),
                n=4,
            )
        ),
        "Label 4 more cases: 2 judged False, 2 judged True.",
    ),
    (audit_sentence(AUDIT.empty()), "No case is left to label."),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_estimates_have_their_sentence(text: str, expected: str) -> None:
    assert text == expected


def corrected(raw: float, estimate: float, low: float, high: float) -> pd.DataFrame:
    shared = {"n_labels": 60, "n_cases": 200, "n_left_out": 0, "target": "system"}
    return CORRECTED_RATES.build(
        [
            {"metric": "raw", "estimate": raw, "n": 200, **shared},
            {"metric": "labels_only", "n": 60, **shared},
            {
                "metric": "corrected",
                "estimate": estimate,
                "ci_low": low,
                "ci_high": high,
                "n": 60,
                **shared,
            },
        ]
    )


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            corrected(0.91, 0.857, 0.7792, 0.9171),
            "The judge passes 91%; corrected by 60 labels: 0.86 (0.78 to 0.92).",
        ),
        # nearly all is not all, and all is
        (
            corrected(0.997, 0.99, 0.95, 0.998),
            "The judge passes 99.7%; corrected by 60 labels: 0.99 (0.95 to 1.00).",
        ),
        (
            corrected(1.0, 1.0, 0.95, 1.0),
            "The judge passes 100%; corrected by 60 labels: 1.00 (0.95 to 1.00).",
        ),
    ],
)
def test_a_corrected_rate_has_its_sentence(frame: pd.DataFrame, expected: str) -> None:
    assert corrected_rate_sentence(frame) == expected


def test_all_that_belongs_to_a_corrected_rate_is_said() -> None:
    judged = [True] * 75 + [False] * 25 + [None]
    labels = [True] * 18 + [False] * 2 + [None] * 55 + [False] * 3 + [True] + [None] * 22
    said = correction_sentences(corrected_pass_rate(judged, labels, target="cases"))
    # 0.75 * 18/20 + 0.25 * 1/4 = 0.7375; Wilson of 19 in 24 by statsmodels 0.5953 to 0.9076
    assert said[0].startswith("The judge passes 75%; corrected by 24 labels: 0.74 (")
    assert said[1:] == [
        "The labels alone say 0.79 (0.60 to 0.91).",
        (
            "The corrected figure is of these cases only; 24 of the 100 cases with a verdict have a "
            "label."
        ),
        "Left out for want of a verdict: 1 case.",
        "Few labels: have at least 5 of each verdict, and 20 in all for a mean.",
    ]


def test_a_rate_that_labels_leave_open_is_said_to_be_open() -> None:
    frame = corrected_pass_rate([True] * 9 + [False], [True, True, False] + [None] * 7)
    text = corrected_rate_sentence(frame)
    assert text.startswith("The judge passes 90%; 3 labels do not tell what it should be: it may")
    assert "A verdict has no label: label at least 5 of it." in warning_sentences(frame)


@pytest.mark.parametrize(
    ("judged", "labels", "expected"),
    [
        ([], [], "The judge gave no verdict: there is nothing to correct."),
        ([True, False], [None, None], "The judge passes 50% of 2 cases; no label corrects it."),
    ],
)
def test_without_verdicts_or_labels_that_is_said(
    judged: list[bool], labels: list[bool | None], expected: str
) -> None:
    assert corrected_rate_sentence(corrected_pass_rate(judged, labels)) == expected


def test_a_corrected_mean_has_its_sentences() -> None:
    # 4 + (0 - 1 + 0 - 1)/4 = 3.5; differences have variance 0.263158, judge's 0.526316, 20 each:
    # se 0.198680, t 2.093024
    judged, labels = [4, 5, 3, 4] * 10, [4, 4, 3, 3] * 5 + [None] * 20
    assert correction_sentences(corrected_mean(judged, labels)) == [
        "The judge's mean is 4.00; corrected by 20 labels: 3.50 (3.08 to 3.92).",
        # variance 0.263158, se 0.114708
        "The labels alone say 3.50 (3.26 to 3.74).",
        (
            "The corrected figure is of the system in general; 20 of the 40 cases with a verdict have "
            "a label."
        ),
        (
            "The labels alone give a shorter interval: for the next ones, fix a lambda below 1 in "
            "advance."
        ),
    ]


@pytest.mark.parametrize(
    ("judged", "labels", "expected"),
    [
        ([], [], "The judge gave no score: there is nothing to correct."),
        ([4, 5], [None, None], "The judge's mean is 4.50 over 2 cases; too few labels correct it."),
        (
            [4, 5, 4],
            [4, None, None],
            "The judge's mean is 4.33; corrected by 1 label: 4.50 (no interval: too few values).",
        ),
    ],
)
def test_a_mean_that_cannot_be_corrected_says_so(
    judged: list[float], labels: list[float | None], expected: str
) -> None:
    assert corrected_mean_sentence(corrected_mean(judged, labels)) == expected


@pytest.mark.parametrize(
    ("frame", "start"),
    [
        (mean_score([1, 0, 1], clusters=["a", "a", "b"]), "Below 10 clusters the interval is"),
        (rogan_gladen(2, 100, 90, 100, 90, 100), "The corrected figure was beyond its range"),
        (corrected_mean([3] * 9, [3, 4, 5, None, None] + [None] * 4), "Few labels"),
    ],
)
def test_warnings_are_sentences(frame: pd.DataFrame, start: str) -> None:
    assert warning_sentences(frame)[0].startswith(start)
    assert all(text.endswith(".") for text in warning_sentences(frame))
