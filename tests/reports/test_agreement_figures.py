from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from evalnb.reports.agreement_figures import (
    bias_levels,
    ceiling_intervals,
    confusion_matrix,
    kappa_intervals,
    labels_curve,
)
from tests.reports import agreement_frames as frames
from tests.reports.test_figures import drawn, texts

NONE = frames.decisions()
UNKNOWN = frames.decisions(
    dict.fromkeys(("estimate", "ci_low", "ci_high", "next_grade", "more_labels"))
    | {"reason": "no_overlap", "n": 0}
)


def plain(figure: Figure) -> bool:
    return not any(
        text.get_parse_math() for text in figure.findobj(Text) if "frac" in text.get_text()
    )


def test_each_axis_has_its_interval_and_its_decision() -> None:
    figure = kappa_intervals(frames.decisions({}, frames.STRONG))
    drawn(figure)
    said = texts(figure)
    assert "tone" in said
    assert "pace" in said
    assert said.count("n = 40") == 2
    assert "revise" in said
    assert "strong" in said


def test_a_matrix_has_every_count_and_what_it_adds_up_to() -> None:
    figure = confusion_matrix(frames.confusion([8, 2], [0, 10]), axis="tone", judge="gpt")
    drawn(figure)
    said = texts(figure)
    assert "both say the same on 18 of 20 items" in said
    assert {"8", "80%", "2", "20%", "0", "10", "100%"} <= set(said)
    assert said.count("n = 10") == 2


def test_biases_are_drawn_by_level() -> None:
    figure = bias_levels(frames.biases(0.5, None, -1.25), judge="gpt")
    drawn(figure)
    said = texts(figure)
    assert {"people say 1", "+0.50", "–", "−1.25"} <= set(said)


def test_the_curve_goes_through_today_and_reaches_what_is_needed() -> None:
    figure = labels_curve(frames.decisions({}))
    drawn(figure)
    line: Any
    today: Any
    (line, today) = [line for line in figure.axes[1].lines if line.get_color() == "#0072b2"]
    numbers, lows = line.get_data()
    assert today.get_xydata().tolist() == [[40, 0.55]]
    # atanh(0.72) = 0.907645, atanh(0.55) = 0.618381: at 160 labels half the distance is left
    at_160 = pd.Series(lows, index=numbers).loc[158:163].mean()
    assert at_160 == pytest.approx(0.643, abs=0.003)  # tanh(0.907645 - 0.144632)


def test_people_and_the_judge_stand_side_by_side() -> None:
    figure = ceiling_intervals(frames.ceiling(0.7, 0.6, (-0.2, 0.0), 0.7), judge="gpt")
    drawn(figure)
    assert {"tone", "two people", "gpt"} <= set(texts(figure))


def test_nothing_to_draw_is_said() -> None:
    for figure, said in (
        (kappa_intervals(NONE), "there are no labels yet"),
        (labels_curve(NONE), "no interval to go on from"),
        (labels_curve(UNKNOWN), "no interval to go on from"),
        (confusion_matrix(pd.DataFrame(), axis="", judge=""), "there are no labels yet"),
        (bias_levels(frames.biases(), judge=""), "levels without an order have no bias"),
        (
            ceiling_intervals(frames.ceiling(None, None, None, None), judge="gpt"),
            "one person rated: there is nothing to compare",
        ),
    ):
        drawn(figure)
        assert said in texts(figure)


def test_an_axis_without_kappa_has_a_row_all_the_same() -> None:
    figure = kappa_intervals(UNKNOWN)
    drawn(figure)
    assert "n = 0" in texts(figure)


def test_hostile_names_are_text_of_one_line() -> None:
    hostile = {"axis": frames.HOSTILE, "judge": frames.HOSTILE}
    shown = [
        kappa_intervals(frames.decisions(hostile)),
        labels_curve(frames.decisions(hostile)),
        confusion_matrix(
            frames.confusion([1, 0], [0, 1], names=[frames.HOSTILE, "b"]),
            axis=frames.HOSTILE,
            judge=frames.HOSTILE,
        ),
        bias_levels(frames.biases(0.1, axis=frames.HOSTILE), judge=frames.HOSTILE),
        ceiling_intervals(
            frames.ceiling(0.7, 0.6, (-0.2, 0.0), 0.7).assign(axis=frames.HOSTILE),
            judge=frames.HOSTILE,
        ),
    ]
    for figure in shown:
        drawn(figure)
        assert plain(figure)
        assert not any("\n" in text or "\x1b" in text for text in texts(figure))


@pytest.mark.parametrize("n", [3, 9, 100_000])
def test_few_labels_and_many_are_drawn(n: int) -> None:
    drawn(labels_curve(frames.decisions({"n": n, "more_labels": None})))
    drawn(labels_curve(frames.decisions({"n": n, "ci_low": -0.9})))
