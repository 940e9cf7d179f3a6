"""What sways judges as a figure, in words and in tables."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.text import Text

from evalnb.probe_evidence import LimitState
from evalnb.probes import public_countings, public_win_rates
from evalnb.reports import bias_tables as tables
from evalnb.reports.bias_figures import bias_effects
from evalnb.reports.bias_words import (
    bias_caption,
    counting_caption,
    effect_groups,
    limit_caption,
    win_rate_caption,
)
from evalnb.reports.probes import describe_limits
from tests.reports import bias_frames as frames
from tests.reports.test_agreement_tables import cells
from tests.reports.test_figures import drawn, texts


def lines_of(figure: Any, colour: str) -> list[list[float]]:
    return [
        [round(float(x), 6) for x in line.get_xdata()]
        for line in figure.axes[1].lines
        if line.get_color() == colour and len(line.get_xdata()) == 2
    ]


def test_levels_and_rates_lie_on_one_axis_of_points() -> None:
    figure = bias_effects(frames.effects({}, frames.CONFLICTS))
    drawn(figure)
    # 0.3 to 0.7 of a level of a scale with 4 steps, and 0.3 to 0.5 of a rate.
    assert sorted(lines_of(figure, "#d55e00")) == [[7.5, 17.5], [30, 50]]
    floors = [line for line in lines_of(figure, "#222222") if line[0] == line[1]]
    assert sorted(floors) == [[0.5, 0.5], [10, 10]]
    assert {"+0.50 level", "0.40", "matters", "n = 40"} <= set(texts(figure))


def test_what_is_real_small_or_not_shown_is_told_apart_in_words() -> None:
    figure = bias_effects(frames.effects({}, frames.NOISE, frames.SMALL, frames.UNKNOWN))
    drawn(figure)
    assert {"matters", "real, but small", "not shown", "noise not known"} <= set(texts(figure))


def test_an_effect_that_is_not_known_has_a_row_all_the_same() -> None:
    figure = bias_effects(frames.effects(frames.ABSENT))
    drawn(figure)
    assert "not known" in texts(figure)


def test_nothing_to_draw_is_said() -> None:
    figure = bias_effects(frames.effects())
    drawn(figure)
    assert "no judge was probed" in texts(figure)


def test_hostile_names_are_text_of_one_line() -> None:
    hostile = frames.effects({"judge": frames.HOSTILE, "scorer": frames.HOSTILE})
    figure = bias_effects(hostile)
    drawn(figure)
    assert not any("\n" in text or "\x1b" in text for text in texts(figure))
    assert not any(
        text.get_parse_math() for text in figure.findobj(Text) if "frac" in text.get_text()
    )
    caption = bias_caption(hostile, {"formatting": "Take marks out."})
    assert "\x1b" not in caption
    assert "<img" not in tables.headline_table(hostile).to_html()
    assert "<img" not in tables.detail_table(hostile).to_html()


def test_groups_come_in_a_fixed_order_and_a_suites_own_probes_last() -> None:
    own = {"probe": "tone_of_voice", "metric": "shift"}
    said = [meaning for meaning, _ in effect_groups(frames.effects(own, {}, frames.CONFLICTS))]
    assert said == [
        "prefers another answer when the two change places",
        "scores higher (right) or lower (left) for a list or bold type",
        "tone of voice: shift",
    ]


def test_words_say_what_is_more_than_noise_and_what_to_change() -> None:
    found = frames.effects({}, frames.NOISE, frames.SMALL, frames.UNKNOWN)
    caption = bias_caption(found, {"formatting": "Take marks out.", "sycophancy": "Not said."})
    assert caption.splitlines() == [
        "What it shows.",
        "More than noise, and it matters:",
        "- axes (tone): formatting +0.50 level beside +0.02 level",
        "More than noise, too small to matter:",
        "- axes (tone): verbosity +0.10 level beside +0.02 level",
        "Not shown to be more than noise:",
        "- axes (tone): sycophancy +0.10 level beside +0.02 level",
        "Its noise is not known:",
        "- axes (tone): injection 0.25",
        "What to do.",
        "- axes (tone), formatting: Take marks out.",
    ]


def test_where_nothing_matters_nothing_is_to_be_done() -> None:
    assert bias_caption(frames.effects(frames.NOISE), {}).endswith("Nothing: no effect matters.")
    assert "No judge was probed" in bias_caption(frames.effects(), {})


def test_a_judge_with_one_level_for_everything_is_named() -> None:
    caption = bias_caption(frames.effects({"warnings": ["one_category"]}), {})
    assert "axes (tone) gives every answer one level" in caption


def test_tables_have_effect_floor_and_verdict() -> None:
    said = cells(tables.headline_table(frames.effects({})))
    assert {"+0.50 level", "0.30 to 0.70", "+0.02 level", "+0.48", "0.006"} <= set(said)
    assert "more than noise, and it matters" in said
    details = frames.effects({"scorer": "tone"}, {"scorer": "facts", **frames.NOISE})
    shown = cells(tables.detail_table(details))
    assert {"tone", "facts", "formatting", "sycophancy"} <= set(shown)


@pytest.mark.parametrize("table", [tables.headline_table, tables.detail_table])
def test_tables_of_nothing_are_shown(table: Any) -> None:
    assert table(frames.effects()).to_html()


def test_noise_that_is_known_of_fewer_pairs_says_so() -> None:
    said = cells(tables.headline_table(frames.effects({"n_net": 12})))
    assert "+0.48 (n = 12)" in said


STATES = [
    LimitState(
        "max_injection_rate", "tone", "failed", counts=False, why="of attacks there are 0.5"
    ),
    LimitState("max_injection_rate", "facts", "not shown", counts=True, why=frames.HOSTILE),
    LimitState("max_conflict_rate", "facts", "shown", counts=True, why="of pairs there are 0.0"),
]


def test_limits_are_shown_by_axis_and_in_words() -> None:
    table = tables.limit_table(STATES)
    said = cells(table)
    assert {
        "tone",
        "max_injection_rate",
        "failed",
        "does not count",
        "not shown",
        "may count",
    } <= set(said)
    assert "<img" not in table.to_html()
    caption = limit_caption(STATES)
    assert "Limits keep tone from counting in the gate." in caption
    assert "1 of 3 limits are kept by what was seen, and not shown to be kept." in caption
    assert "No limit keeps an axis" in limit_caption(STATES[2:])
    assert "Set `max_injection_rate` or" in limit_caption([])
    assert tables.limit_table([]).to_html()
    lines = describe_limits(STATES)
    assert lines[0] == (
        "max_injection_rate, tone: FAILED, does not count in the gate: of attacks there are 0.5"
    )
    assert all("\n" not in line and "\x1b" not in line for line in lines)


def test_public_tables_and_their_words() -> None:
    rates, countings = public_win_rates(), public_countings()
    assert "claude-3-haiku-20240307" in cells(tables.counting_table(countings))
    assert "Vicuna-13B against" in cells(tables.win_rate_table(rates))
    assert "at equal length" in win_rate_caption(rates)
    assert "319 published figures come out" in counting_caption(countings)
    for caption in (win_rate_caption(rates.head(0)), counting_caption(countings.head(0))):
        assert caption.startswith("What it shows. No public")
    assert tables.win_rate_table(rates.head(0)).to_html()
    assert tables.counting_table(countings.head(0)).to_html()
