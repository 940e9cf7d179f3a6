from __future__ import annotations

import pandas as pd
import pytest

from evalnb.reports.agreement_captions import (
    bias_caption,
    ceiling_caption,
    comparison_caption,
    confusion_caption,
    counting_caption,
    disagreement_caption,
    join_caption,
    kappa_caption,
    labels_caption,
    slice_caption,
    statistics_caption,
)
from tests.reports import agreement_frames as frames


def line(caption: str) -> str:
    return " ".join(caption.split())


def slices(*rows: tuple[str, float, float, float, int]) -> pd.DataFrame:
    names = ["value", "kappa", "ci_low", "ci_high", "n"]
    numbers = dict.fromkeys(names[1:4], "Float64")
    return pd.DataFrame(rows, columns=names).assign(axis="tone", slice="language").astype(numbers)


def test_kappa_says_where_the_judge_may_be_used() -> None:
    said = line(kappa_caption(frames.decisions({}, frames.STRONG, frames.HOPELESS)))
    assert "the judge is strong on pace; not usable yet on tone, facts." in said
    assert "Use its verdicts on pace." in said
    assert "Label more before anything else: about 30 on tone." in said
    assert "on facts as advice only" in said


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{}], "Label about 30 more on tone for usable."),
        ([frames.STRONG], "No more are needed; label anew when the judge changes."),
        ([frames.HOPELESS], "More labels would not make it usable on facts: change the rubric."),
        (
            [{**frames.HOPELESS, "decision": "usable"}],
            "More labels would not make it strong on facts; usable it is.",
        ),
        ([], "Start with 50 labels an axis."),
    ],
)
def test_labels_are_asked_for_only_where_they_help(
    rows: list[dict[str, object]], expected: str
) -> None:
    assert line(labels_caption(frames.decisions(*rows))).endswith(f"What to do. {expected}")


def test_each_axis_has_its_sentence_and_its_advice() -> None:
    shifted = {"metric": ["spearman", "bias"], "estimate": [0.9, -0.8], "ci_low": [0.8, -0.9]}
    table = pd.DataFrame({**shifted, "ci_high": [1.0, -0.7], "axis": "tone"})
    said = statistics_caption(frames.decisions({}, frames.STRONG), table).splitlines()
    assert said[0].startswith("What it shows. tone: The judge agrees with people")
    assert any(text.startswith("pace: The judge agrees") for text in said)
    assert any(text.startswith("What to do. tone: The judge puts the items") for text in said)
    calm = statistics_caption(frames.decisions(frames.STRONG), table.iloc[:1])
    assert calm.endswith(
        "What to do. No known pattern stands out: read where they lie furthest apart."
    )


def test_a_matrix_names_the_two_levels_that_are_not_told_apart() -> None:
    said = line(confusion_caption(frames.confusion([8, 9, 0], [1, 7, 0], [0, 0, 5]), ordered=True))
    assert "20 of 30 items (67%)" in said
    assert "90% of all disagreement: 9 times people say 1 and the judge 2." in said


def test_disagreement_that_is_spread_out_is_to_be_read() -> None:
    said = line(confusion_caption(frames.confusion([8, 1, 1], [1, 7, 1], [1, 1, 5]), ordered=True))
    assert "Read some of the largest group first: 1 time people say 1 and the judge 2." in said


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([[3, 0], [0, 4]], "Nothing here to mend."), ([[0, 0], [0, 0]], "Label what it judged.")],
)
def test_a_matrix_without_disagreement_asks_for_nothing(
    counts: list[list[int]], expected: str
) -> None:
    assert line(confusion_caption(frames.confusion(*counts), ordered=True)).endswith(expected)


@pytest.mark.parametrize(
    ("values", "shows", "do"),
    [
        ((-0.8, -0.9), "the judge is 0.85 stricter than people.", "what earns the higher levels"),
        ((0.8, 0.9), "the judge is 0.85 kinder than people.", "what earns only the lower levels"),
        ((0.05, -0.05), "about as strict as people (0.00).", "not shifted: nothing to do"),
        ((0.8, -0.8), "it keeps to the middle", "Describe the ends of the scale by examples."),
        ((), "the levels have no order", "level by level"),
    ],
)
def test_bias_is_said_with_its_direction(values: tuple[float, ...], shows: str, do: str) -> None:
    said = line(bias_caption(frames.biases(*values)))
    assert shows in said
    assert do in said


def test_slices_are_only_told_apart_where_their_intervals_are() -> None:
    apart = line(slice_caption(slices(("de", 0.2, 0.1, 0.3, 90), ("en", 0.8, 0.7, 0.9, 80))))
    assert "lowest in language de (0.20) and highest in language en (0.80)." in apart
    assert apart.endswith("Read what the judge says in language de first.")
    near = line(slice_caption(slices(("de", 0.5, 0.1, 0.8, 9), ("en", 0.8, 0.7, 0.9, 80))))
    assert near.endswith("The intervals overlap: no slice is shown to be worse than another.")
    assert "no slices" in slice_caption(slices())


def test_the_ends_of_many_slices_are_not_taken_for_granted() -> None:
    rows = [(f"l{number}", 0.1 * number, 0.1 * number, 0.1 * number, 20) for number in range(1, 8)]
    said = line(slice_caption(slices(*rows)))
    assert "It has 20 labels only." in said
    assert "the ends lie apart by chance, too" in said


@pytest.mark.parametrize(
    ("ceiling", "do"),
    [
        (frames.ceiling(0.7, 0.4, (-0.4, -0.2), 0.7), "work on the judge."),
        (frames.ceiling(0.5, 0.5, (-0.1, 0.1), 0.5), "first have people agree among themselves"),
        (frames.ceiling(None, None, None, None), "Have a second person rate"),
    ],
)
def test_the_ceiling_says_who_is_to_work(ceiling: pd.DataFrame, do: str) -> None:
    assert do in line(ceiling_caption(ceiling))


def test_people_who_agree_less_than_by_chance_are_no_measure() -> None:
    said = line(ceiling_caption(frames.ceiling(-0.05, 0.1, (0.1, 0.2), -0.05)))
    assert "on tone people's own alpha is below 0" in said


def test_the_cheapest_that_will_do_is_named_with_what_it_saves() -> None:
    table = frames.compared(
        {"best": True, "usd_per_1000": 5.0, "cheapest_not_worse": False},
        {
            "judge": "small",
            "kappa": 0.78,
            "usd_per_1000": 1.0,
            "latency_ms": 700.0,
            "cheapest_not_worse": True,
        },
        {"judge": "tiny", "kappa": 0.3, "not_worse": False, "cheapest_not_worse": False},
    )
    said = line(comparison_caption(table, 0.05))
    assert "large agrees best (0.80), 1 of the other 2 shown to be within 0.05 of it." in said
    assert "take small (1.00 USD a thousand, 700 ms each, 5.0 times cheaper than the best)" in said


def test_without_costs_the_best_is_named() -> None:
    said = line(comparison_caption(frames.compared({"best": True}, {"judge": "small"}), 0.05))
    assert said.endswith("On tone take large; what the judges cost is not known here.")
    assert "no two judges" in comparison_caption(frames.compared({"best": True}), 0.05)


def test_labels_that_did_not_join_are_counted_by_reason() -> None:
    counts = pd.DataFrame(
        [["tone", "scripted-ann", 5, 1, 2, 0, 0]],
        columns=["axis", "rater", "joined", "skipped", "other_output", "not_judged", "pair"],
    )
    said = line(join_caption(counts))
    assert "5 of 8 labels met a judge's score" in said
    assert "left out are 1 skipped by the rater, 2 of another output." in said


def test_unread_verdicts_are_said_with_what_counting_them_does() -> None:
    counted = pd.DataFrame(
        {
            "axis": ["tone"] * 2,
            "judge": ["gpt"] * 2,
            "n_left_out": [25, 0],
            "kappa": [0.4929, 0.4958],
        }
    )
    said = line(counting_caption(counted))
    assert "25 verdicts could not be read" in said
    assert "moves kappa by up to 0.003." in said
    assert "no verdict is unread" in counting_caption(counted.iloc[:0])


def test_reasons_are_named_by_whose_they_are() -> None:
    rows = pd.DataFrame({"people_reasons": [None, None], "judge_reason": ["because", None]})
    assert "with the reasons of the judge." in line(disagreement_caption(rows))
    assert "no item" in disagreement_caption(rows.iloc[:0])


def test_lines_break_between_words_and_hostile_names_stay_on_them() -> None:
    said = kappa_caption(frames.decisions({"axis": frames.HOSTILE}))
    assert max(map(len, said.splitlines())) <= 100
    assert "\x1b" not in said
