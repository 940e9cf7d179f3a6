from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from evalnb.disagreements import confusion_table, reliability_by_level
from evalnb.frames import SLICES, to_records
from evalnb.histories import HISTORY
from evalnb.planning import Plan
from evalnb.ratings import AxisScale
from evalnb.reports import kept_figures as figures
from evalnb.review.changes import CHANGES
from evalnb.review.kappas import KAPPAS
from evalnb.review.plane import PLANE
from evalnb.review.spending import SPENDING
from tests.reports import agreement_frames, bias_frames
from tests.review.frames import history_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATINGS = pd.DataFrame(
    [
        {"item": f"i{number}", "axis": "tone", "rater": rater, "kind": kind, "value": value}
        for number, pair in enumerate([(1, 1), (1, 2), (2, 3), (3, 3), (3, 3)])
        for rater, kind, value in (("ann", "human", pair[0]), ("gpt", "judge", pair[1]))
    ]
).assign(cluster=None, text=None, reason=None)
SCALES = {"tone": AxisScale((1, 2, 3), names={1: "$poor$"})}

HOSTILE = "$x^$ <b>bold</b>\nnext"


def new_axes() -> Axes:
    return Figure(figsize=(8, 4)).add_subplot()


def drawn(axes: Axes) -> Axes:
    axes.figure.canvas.draw()
    return axes


def legend(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    ("draw", "frames"),
    [
        (figures.trend, (HISTORY.empty(), CHANGES.empty())),
        (figures.slice_forest, (SLICES.empty(),)),
        (figures.coverage_plane, (PLANE.empty(),)),
        (figures.cost, (SPENDING.empty(),)),
        (figures.kappa_trend, (KAPPAS.empty(),)),
        (figures.confusion, (pd.DataFrame(),)),
        (figures.bias_levels, (agreement_frames.biases(),)),
        (figures.bias_probes, (bias_frames.effects(),)),
        (figures.reliability, (reliability_by_level(RATINGS, "gpt", scales={}),)),
    ],
)
def test_without_rows_a_figure_says_so_on_the_axes_it_was_given(draw: Any, frames: Any) -> None:
    axes = new_axes()
    assert draw(axes, *frames) is axes
    assert [text.get_text() for text in drawn(axes).texts]


def test_a_trend_joins_only_what_compares_and_marks_what_changed() -> None:
    history = history_of(
        4, series=[0, 0, 1, 1], mean=[0.9, 0.8, 0.5, 0.4], outcome=["pass", "pass", "fail", "fail"]
    )
    changes = CHANGES.build([{"day": "2026-05-03", "what": "golden_version", "run_id": "r2"}])
    axes = drawn(figures.trend(new_axes(), history, changes))
    drawn_lines: Any = axes.lines
    lines = [list(line.get_ydata()) for line in drawn_lines if line.get_linestyle() == "-"]
    assert [0.9, 0.8] in lines
    assert [0.5, 0.4] in lines
    assert legend(axes) == ["blocked (2 runs)", "another golden set"]
    assert axes.lines[-1].get_linestyle() == ":"


def test_a_judge_and_its_model_that_change_at_once_are_one_line() -> None:
    changes = CHANGES.build(
        {"day": "2026-05-03", "what": what, "scorer": "tone", "run_id": "r2"}
        for what in ("judge_answered", "judge_fingerprint")
    )
    axes = drawn(figures.trend(new_axes(), history_of(4), changes))
    assert legend(axes) == ["another judge"]


def test_a_forest_has_a_row_a_slice_with_its_n_and_no_formula() -> None:
    row = {"n_planned": 4, "n_scored": 4, "pass_rate": 0.5, "ci_low": 0.2, "ci_high": 0.8}
    slices = SLICES.build(
        [{"slice": "all", "value": "all", **row}, {"slice": "tag", "value": HOSTILE, **row}]
    )
    axes = drawn(figures.slice_forest(new_axes(), slices))
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["all cases  n = 4", "tag: $x^$ <b>bold</b> next  n = 4"]


def test_power_rises_with_the_drop_and_with_repeats() -> None:
    planned = Plan(60, 3, 0.9, 0.07, 0.01, tests=1, margin=0.02, source="")
    axes = drawn(figures.power_curve(new_axes(), planned))
    curves: dict[Any, Any] = {
        line.get_label(): line.get_ydata()
        for line in axes.lines
        if "repeat" in str(line.get_label())
    }
    assert list(curves) == ["1 repeat", "3 repeats", "5 repeats"]
    assert all(curve[-1] > curve[0] for curve in curves.values())
    assert curves["5 repeats"][10] > curves["1 repeat"][10]


def test_cost_stacks_system_and_judges_below_what_is_projected() -> None:
    spending = SPENDING.build(
        [
            {
                "month": "2026-05",
                "n_runs": 3,
                "cost_usd": 3.0,
                "judge_cost_usd": 1.0,
                "projected_usd": 5.0,
                "budget_usd": 4.0,
            }
        ]
    )
    axes = drawn(figures.cost(new_axes(), spending))
    bars: Any = axes.patches
    assert [bar.get_height() for bar in bars] == [2.0, 1.0, 2.0]
    assert axes.get_ylim()[1] > 5.0
    assert set(legend(axes)) == {"system", "judges", "projected", "budget"}


def test_kappa_stands_by_month_with_the_end_of_the_certificate() -> None:
    row = {"axis": "tone", "judge": "j", "ci_low": 0.5, "ci_high": 0.8, "n": 50}
    kappas = KAPPAS.build([{"month": f"2026-0{month}", "estimate": 0.7, **row} for month in (4, 5)])
    axes = drawn(figures.kappa_trend(new_axes(), kappas, expires=date(2026, 5, 20)))
    assert legend(axes) == ["tone (n = 50)"]
    other = figures.kappa_trend(new_axes(), kappas.assign(judge_fingerprint=["a", "b"]))
    assert "another judge" in legend(drawn(other))
    assert other.lines[-1].get_xdata()[0] == 0.5  # type: ignore[index]  # between the two months
    assert any("until 2026-05-20" in text.get_text() for text in axes.texts)


def test_the_plane_tells_kinds_apart_by_shape_and_counts_them() -> None:
    points = PLANE.build(
        {"name": kind, "kind": kind, "x": 0.1, "y": 0.2} for kind in ("near", "case", "far")
    )
    axes = drawn(figures.coverage_plane(new_axes(), points))
    assert len({line.get_marker() for line in axes.lines}) == 3
    assert all("(n = 1)" in name for name in legend(axes))


def test_reliability_is_what_people_say_where_the_judge_says_a_level() -> None:
    levels = reliability_by_level(RATINGS, "gpt", scales=SCALES)
    # Of what gpt puts on 3 ann says 2, 3 and 3: 2.6667, and t(2) at 97.5% is 4.302653 times a standard
    # error of 1/3, so from 1.2324 on.
    last = to_records(levels)[-1]
    assert (last["level"], last["n"]) == ("3", 3)
    assert last["people"] == pytest.approx(8 / 3)
    assert last["ci_low"] == pytest.approx(1.232449, abs=1e-6)
    assert levels["reason"].tolist()[:2] == ["too_few", "too_few"]
    axes = drawn(figures.reliability(new_axes(), levels, judge=HOSTILE))
    assert [text.get_text() for text in axes.texts] == ["n = 1", "n = 1", "n = 3"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["$poor$", "2", "3"]
    assert not any(text.get_parse_math() for text in axes.findobj(Text) if "x^" in text.get_text())


def test_confusion_and_bias_are_drawn_on_the_axes_that_are_given() -> None:
    axes = new_axes()
    assert (
        figures.confusion(axes, confusion_table(RATINGS, "gpt", axis="tone", scale=SCALES["tone"]))
        is axes
    )
    said = [text.get_text() for text in drawn(axes).texts]
    assert said.count("n = 2") == 2
    assert "the judge says" in said
    axes = drawn(figures.bias_levels(new_axes(), agreement_frames.biases(0.5, None), judge=HOSTILE))
    assert {"people say 1", "n = 10", "+0.50"} <= {text.get_text() for text in axes.texts}
    axes = drawn(figures.bias_probes(new_axes(), bias_frames.effects({}, bias_frames.CONFLICTS)))
    assert {"+0.50 level", "0.40", "matters", "n = 40"} <= {text.get_text() for text in axes.texts}
