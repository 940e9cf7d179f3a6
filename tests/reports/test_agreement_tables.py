from __future__ import annotations

import re

from evalnb.agreement import (
    agreement,
    agreement_by_slice,
    countings,
    human_ceilings,
)
from evalnb.disagreements import largest_disagreements
from evalnb.frames import LABELS, SCORES
from evalnb.joining import join_counts
from evalnb.ratings import AxisScale
from evalnb.reports import agreement_tables as tables
from tests.reports import agreement_frames as frames
from tests.test_agreement import ratings

FIVE = AxisScale((1, 2, 3, 4, 5))


def cells(table: object) -> list[str]:
    """Return the text of all cells and headers, in order."""
    html = table.to_html()  # type: ignore[attr-defined]
    body = re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)
    return [
        re.sub(r"<.*?>", "", cell).strip()
        for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", body)
    ]


def test_a_decision_is_shown_with_what_is_still_needed() -> None:
    said = cells(tables.decision_table(frames.decisions({}, frames.HOPELESS)))
    assert {"0.72", "0.55 to 0.83", "about 30 for usable"} <= set(said)
    constant = frames.decisions(
        {"warnings": ["constant_rater"], "reason": "constant_rater", "more_labels": None}
    )
    found = cells(tables.decision_table(constant))
    assert "one side says one level only" in found
    assert "no number is enough for usable" in found


def test_statistics_stand_in_one_order_with_their_meaning() -> None:
    frame = ratings([1, 2, 3, 4, 5, 1], [1, 2, 3, 4.5, 5, 2])
    said = cells(tables.statistics_table(agreement(frame, "gpt", scales={"tone": FIVE})))
    assert said.index("kappa quadratic") < said.index("exact agreement") < said.index("spearman")
    assert "judge less people, in levels: below 0 the judge is stricter" in said
    assert any(cell.startswith("p ") for cell in said)
    assert "" not in said[3:]


def test_slices_with_the_most_labels_are_shown_and_the_others_counted() -> None:
    values = [str(number) for number in range(25) for _ in range(2)] + ["big"] * 10
    n = len(values)
    frame = ratings([1.0, 2.0] * (n // 2), [1.0, 3.0] * (n // 2), slices={"topic": values})
    table = tables.slice_table(agreement_by_slice(frame, "gpt", scales={"tone": FIVE}))
    said = cells(table)
    assert said.count("topic") == 20
    assert "big" in said
    assert "6 values with fewer labels not shown" in table.to_html()


def test_costs_are_shown_where_they_are_known() -> None:
    bare = cells(tables.comparison_table(frames.compared({"best": True}, {"judge": "small"})))
    assert "a thousand verdicts" not in bare
    priced = frames.compared(
        {"best": True, "usd_per_1000": 5.0, "cheapest_not_worse": False},
        {"judge": "small", "usd_per_1000": 1.0, "cheapest_not_worse": True, "not_worse": True},
        {"judge": "tiny", "not_worse": False, "cheapest_not_worse": False},
    )
    said = cells(tables.comparison_table(priced))
    assert {"5.00 USD", "1.00 USD", "this one", "the best", "not shown"} <= set(said)
    assert "a verdict takes" not in said


def test_both_countings_are_shown_to_the_digits_that_papers_print() -> None:
    frame = ratings([1, 1, 2, 2], [1, 1, 2, None])
    counted = countings(frame, ["gpt"], scales={"tone": AxisScale((1, 2))}, unread_as=1)
    assert {"100.00%", "75.00%", "1.0000", "0.5000"} <= set(cells(tables.counting_table(counted)))


def test_what_cannot_be_said_has_words() -> None:
    ceiling = human_ceilings(ratings([1, 2], [1, 2]), "gpt", scales={"tone": FIVE})
    assert "nothing in common" in cells(tables.ceiling_table(ceiling))


def test_hostile_text_is_shown_and_not_run() -> None:
    frame = ratings(
        [1, 5],
        [5, 1],
        axis="<b>tone</b>",
        reason=["<script>alert(1)</script>"] * 4,
        text=["<img src=x onerror=alert(1)>"] * 4,
    )
    scales = {"<b>tone</b>": FIVE}
    shown = [
        tables.disagreement_table(largest_disagreements(frame, "gpt", scales=scales)),
        tables.statistics_table(agreement(frame, "gpt", scales=scales)),
        tables.ceiling_table(human_ceilings(frame, "gpt", scales=scales)),
        tables.decision_table(frames.decisions({"axis": frames.HOSTILE})),
        tables.comparison_table(frames.compared({"judge": frames.HOSTILE})),
    ]
    for table in shown:
        html = table.to_html()
        assert not re.search(r"<(script|img|b)\b", html)


def test_an_empty_frame_is_an_empty_table() -> None:
    empty = ratings([], [])
    scales: dict[str, AxisScale] = {}
    shown = [
        tables.disagreement_table(largest_disagreements(empty, "", scales=scales)),
        tables.statistics_table(agreement(empty, "", scales=scales)),
        tables.slice_table(agreement_by_slice(empty, "", scales=scales)),
        tables.counting_table(countings(empty, [], scales=scales, unread_as=0)),
        tables.ceiling_table(human_ceilings(empty, "", scales=scales)),
        tables.join_table(join_counts(LABELS.empty(), SCORES.empty())),
        tables.decision_table(frames.decisions()),
    ]
    for table in shown:
        assert "<td" not in table.to_html()
