from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.curation.items import Item, items_to_rate, pairs_to_rate
from evalnb.curation.labelling import Labelling
from evalnb.curation.labels import LabelFile, append_label
from evalnb.curation.opening import describe_labelling, open_labelling
from evalnb.curation.samples import write_sample
from evalnb.curation.sampling import sample_for_rating
from evalnb.curation.scales import Scale, scale_of, suite_scales
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import OUTPUTS, SCORES
from evalnb.golden import GoldenSet, read_golden
from evalnb.holdout import read_looks
from evalnb.judges import Axis
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem
from tests.suites import copy_of_support, make_suite

TONE = scale_of(Axis(name="tone", question="How?", levels={1: "bad", 2: "fair", 3: "good"}))
SENSE = scale_of(Axis(name="sense", question="Any?", levels={0: "no", 1: "yes"}))


class Clock:
    """Ten seconds later each time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 31, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


def items_of(n: int, scales: tuple[Scale, ...] = (TONE, SENSE)) -> list[Item]:
    return [
        Item(f"case-{k}", f"h{k}", scales, {"conversation": []}, ({"parts": []},), run_id="run-1")
        for k in range(n)
    ]


def labelling(path: Path, items: list[Item] | None = None, **given: Any) -> Labelling:
    return Labelling(items_of(4) if items is None else items, path, clock=Clock(), **given)


def rate(rating: Labelling, *answers: float | str) -> str:
    """Answer the scales of the current item in order; return its case."""
    assert rating.current is not None
    case_id = rating.current.case_id
    for scale, answer in zip(rating.current.scales, answers, strict=True):
        rating.label(scale.name, answer)
    rating.save()
    return case_id


def state(rating: Labelling) -> Any:
    current = rating.current.id if rating.current else None
    return current, rating.progress, rating.draft, rating.can_undo, rating.shown()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels" / "scripted-anna.jsonl"


def test_nothing_is_written_before_something_is_said(path: Path) -> None:
    rating = labelling(path)
    rating.label("tone", 3)
    assert str(rating.progress) == "0 of 4 labelled"
    assert not path.parent.exists()


def test_an_item_is_saved_when_all_its_axes_have_an_answer(path: Path) -> None:
    rating = labelling(path)
    first = rating.current
    assert first is not None
    rating.label("sense", 1)
    assert rating.missing() == ["tone"]
    with pytest.raises(ValueError, match="no answer yet on tone"):
        rating.save()
    rating.label("tone", 2)
    rating.note(" odd \ud800")
    rating.save()

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    shared = {
        "case_id": first.case_id,
        "run_id": "run-1",
        "output_hash": first.output_hash,
        "rater": "scripted-anna",
        "note": "odd ?",
        "action": "label",
        "at": "2026-05-31T09:00:10.000+00:00",
    }
    assert lines == [
        {**shared, "axis": "tone", "value": 2},
        {**shared, "axis": "sense", "value": 1},
    ]
    assert rating.current not in (first, None)
    assert rating.draft == {}
    assert rating.shown()["note"] == ""


def test_a_rater_goes_through_all_items_and_no_item_is_left(path: Path) -> None:
    rating = labelling(path)
    seen = [rate(rating, 1, 0) for _ in range(3)]
    assert rating.current is not None
    seen.append(rating.current.case_id)
    rating.skip()
    assert sorted(seen) == ["case-0", "case-1", "case-2", "case-3"]
    assert rating.current is None
    assert rating.shown() == {}
    progress = rating.progress
    assert (progress.n_labelled, progress.n_skipped, progress.n_left) == (3, 1, 0)
    assert progress.seconds_an_item == 10.0
    with pytest.raises(ValueError, match="no item is left"):
        rating.skip()


def test_undo_brings_back_the_item_with_what_was_said_of_it(path: Path) -> None:
    rating = labelling(path)
    first = rate(rating, 3, 1)
    second = rate(rating, 2, 0)
    rating.undo()
    assert rating.current is not None
    assert rating.current.case_id == second
    assert rating.draft == {"tone": 2, "sense": 0}
    rating.label("tone", 1)
    rating.save()
    rating.undo()
    rating.undo()
    assert rating.current is not None
    assert rating.current.case_id == first
    assert rating.draft == {"tone": 3, "sense": 1}
    with pytest.raises(ValueError, match="nothing to take back"):
        rating.undo()


def test_undo_leaves_what_was_said_of_other_items_alone(path: Path) -> None:
    other = labelling(path, items_of(6)[4:])
    rate(other, 1, 1)
    rating = labelling(path)
    assert not rating.can_undo
    rate(rating, 2, 0)
    rate(other, 1, 1)
    rating.undo()
    assert rating.progress.n_labelled == 0
    other.catch_up()
    assert other.progress.n_labelled == 2


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("label"), st.integers(1, 3), st.integers(0, 1)),
        st.just(("skip",)),
        st.just(("undo",)),
        st.just(("resume",)),
    ),
    max_size=12,
)


@given(actions=ACTIONS)
def test_whatever_was_done_a_new_labelling_stands_where_the_old_one_stood(
    actions: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("labels") / "scripted-anna.jsonl"
    clock = Clock()
    rating = Labelling(items_of(4), path, clock=clock)
    done: list[tuple[str, Any]] = []  # what a plain list of actions comes to
    for name, *answers in actions:
        if name == "resume":
            rating = Labelling(items_of(4), path, clock=clock)
        elif name == "undo":
            if done:
                case_id, _ = done.pop()
                rating.undo()
                assert rating.current is not None
                assert rating.current.case_id == case_id
        elif rating.current is not None:
            case_id = rating.current.case_id
            if name == "skip":
                rating.skip()
                done.append((case_id, None))
            else:
                done.append((rate(rating, *answers), tuple(answers)))
        assert state(rating) == state(Labelling(items_of(4), path))
        assert rating.progress.n_labelled == sum(said is not None for _, said in done)
        assert rating.progress.n_skipped == sum(said is None for _, said in done)
    values: dict[str, list[float | None]] = {}
    for line in LabelFile(path).catch_up().rows().values():
        values.setdefault(line["case_id"], []).append(line.get("value"))
    assert values == {
        case_id: [None, None] if said is None else list(said) for case_id, said in done
    }


def test_raters_have_orders_of_their_own_that_the_seed_decides(tmp_path: Path) -> None:
    def order(rater: str, seed: int, items: list[Item]) -> list[str]:
        rating = labelling(tmp_path / f"{rater}.jsonl", items, seed=seed)
        return [item.id for item in rating.items]

    items = items_of(12)
    anna = order("scripted-anna", 0, items)
    assert anna == order("scripted-anna", 0, items[::-1])
    assert anna != order("scripted-ben", 0, items)
    assert anna != order("scripted-anna", 1, items)
    assert sorted(anna) == sorted(item.id for item in items)


def test_two_labellings_of_one_rater_see_each_others_labels(path: Path) -> None:
    one, other = labelling(path), labelling(path)
    first = rate(one, 1, 1)
    other.catch_up()
    assert rate(other, 2, 1) != first
    one.catch_up()
    assert one.progress.n_labelled == 2


def test_an_item_of_which_a_kill_left_half_is_taken_up_again(path: Path) -> None:
    rating = labelling(path)
    first = rate(rating, 3, 1)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    again = labelling(path)
    assert again.current is not None
    assert again.current.case_id == first
    assert again.draft == {"tone": 3}
    assert "lines cannot be read" in "\n".join(describe_labelling(again))
    rate(again, 3, 0)
    assert again.progress.n_labelled == 1


def test_an_axis_that_came_later_is_asked_for_and_skipping_it_leaves_the_others(
    path: Path,
) -> None:
    before = labelling(path, items_of(1, (TONE,)))
    rate(before, 3)
    rating = labelling(path, items_of(1))
    assert rating.draft == {"tone": 3}
    assert rating.missing() == ["sense"]
    rating.skip()
    assert rating.progress.n_labelled == 1
    rows = LabelFile(path).catch_up().rows().values()
    assert [(row["axis"], row["action"]) for row in rows] == [("tone", "label"), ("sense", "skip")]


@pytest.mark.parametrize(
    ("axis", "answer", "said"),
    [
        ("tone", 4, "tone is answered by one of 1, 2, 3"),
        ("tone", "3", "Got '3'"),
        ("tone", 2.5, "Got 2.5"),
        ("sense", True, "Got True"),
        ("speed", 1, "the item has the axes tone, sense"),
    ],
)
def test_an_answer_that_is_none_is_refused(axis: str, answer: Any, said: str, path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        labelling(path).label(axis, answer)


def test_who_has_no_name_can_look_and_saves_nothing(tmp_path: Path) -> None:
    rating = labelling(tmp_path / "labels" / "your-name.jsonl")
    assert rating.is_anonymous
    assert rating.current is not None
    with pytest.raises(InputError, match="say who rates"):
        rating.skip()
    assert not (tmp_path / "labels").exists()


def test_a_pause_does_not_count_as_pace(path: Path) -> None:
    at = [0, 10, 30, 4000, 4020]
    for number, seconds in enumerate(at):
        line = {
            "case_id": f"case-{number}",
            "output_hash": f"h{number}",
            "rater": "scripted-anna",
            "axis": "tone",
            "value": 1,
            "action": "label",
            "at": (datetime(2026, 5, 31, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat(),
        }
        append_label(path, line)
    rating = labelling(path, items_of(6, (TONE,)))
    assert rating.progress.seconds_an_item == 20.0  # of 10, 20 and 20


# Pairs


def pair_items(n: int) -> list[Item]:
    golden = GoldenSet(
        tuple(Case(id=f"case-{k}", input="Hello?", must_contain=["hello"]) for k in range(n))
    )
    rows = [{"case_id": f"case-{k}", "repeat": 1, "text": f"of case {k}"} for k in range(n)]
    sides = [
        OUTPUTS.build(
            {**row, "text": f"{side} {row['text']}", "output_hash": f"{side}{row['case_id']}"}
            for row in rows
        )
        for side in ("a", "b")
    ]
    return pairs_to_rate(golden, *sides)[0]


def test_sides_are_shuffled_and_the_value_is_of_the_output_that_is_named_first(
    path: Path,
) -> None:
    rating = labelling(path, pair_items(30))
    shown_first: dict[str, str] = {}
    while rating.current is not None:
        item = rating.current
        side = rating.shown()["answers"][0]["parts"][0]["text"][0]
        shown_first[item.case_id] = side
        rating.label("preference", "first")
        rating.save()
    assert 5 < list(shown_first.values()).count("a") < 25
    for line in map(json.loads, path.read_text().splitlines()):
        case_id = line["case_id"]
        assert (line["output_hash"], line["other_hash"]) == (f"a{case_id}", f"b{case_id}")
        assert line["value"] == (1.0 if shown_first[case_id] == "a" else 0.0)


def test_a_tie_is_a_half_and_undo_brings_the_answer_back_as_it_was_shown(path: Path) -> None:
    rating = labelling(path, pair_items(4))
    for answer in ("tie", "second", "first", "second"):
        rate(rating, answer)
        rating.undo()
        assert rating.draft == {"preference": answer}
        rating.save()
    assert json.loads(path.read_text().splitlines()[0])["value"] == 0.5


def test_pairs_that_are_equal_or_lack_a_side_are_left_out_and_counted() -> None:
    golden = GoldenSet(
        tuple(Case(id=name, input="Hello?", must_contain=["hello"]) for name in "abcd")
    )

    def side(**hashes: str | None) -> Any:
        return OUTPUTS.build(
            {"case_id": name, "repeat": 1, "output_hash": digest, "text": digest}
            for name, digest in hashes.items()
        )

    items, left_out = pairs_to_rate(
        golden, side(a="1", b="2", c="3", d=None), side(a="1", b="9", d="4")
    )
    assert [(item.case_id, item.output_hash, item.other_hash) for item in items] == [
        ("b", "2", "9")
    ]
    assert left_out == {
        "without an answer": 1,
        "the same in both runs": 1,
        "without an answer of the other run": 1,
    }


# What is shown


def test_an_item_shows_the_case_and_the_output_and_nothing_of_who_gave_it() -> None:
    case = Case.model_validate(
        {
            "id": "refund-must-be-refused",
            "category": "secret-category",
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]},
                {"role": "user", "content": "Pay me."},
            ],
            "context": [{"id": "terms", "text": "No refunds."}],
            "state": {"date": "2026-05-31"},
            "rubric": ["Declines."],
            "reference": "secret reference",
        }
    )
    outputs = OUTPUTS.build(
        [
            {
                "case_id": case.id,
                "repeat": 1,
                "output_hash": "h",
                "system": "secret-system",
                "model": "secret-model",
                "text": "No.",
                "tool_calls": [{"name": "log", "arguments": {"a": "ü"}}],
                "messages": [{"role": "assistant", "content": "secret trajectory"}],
                "stop_reason": "end_turn",
                "mode": "secret-mode",
            }
        ]
    )
    scales = (scale_of(Axis(name="rubric", question="?", levels={1: "a", 2: "b"})),)
    (item,), _ = items_to_rate(GoldenSet((case,)), outputs, scales)
    shown = Labelling([item], Path("scripted-anna.jsonl")).shown()
    assert shown["question"] == {
        "conversation": [
            {"who": "User", "text": "Hi"},
            {"who": "Assistant", "text": "Yes?"},
            {"who": "User", "text": "Pay me."},
        ],
        "context": [
            {"title": "terms", "text": "No refunds."},
            {"title": "date", "text": "2026-05-31"},
        ],
        "criteria": [],
    }
    assert shown["answers"] == [
        {
            "parts": [
                {
                    "title": "",
                    "text": "No.",
                    "calls": [{"name": "log", "arguments": '{\n "a": "ü"\n}'}],
                    "remark": "",
                }
            ]
        }
    ]
    text = json.dumps(shown)
    assert "secret" not in text
    assert case.id not in text


def test_the_criteria_are_shown_to_who_rates_by_them(tmp_path: Path) -> None:
    golden = make_suite(
        tmp_path / "golden" / "shop",
        [
            {"id": "a", "input": "Hi", "rubric": ["Greets back."]},
            {"id": "b", "input": "Hi", "must_contain": ["hi"]},
        ],
    )
    outputs = OUTPUTS.build(
        {"case_id": name, "repeat": 1, "output_hash": "h", "text": "Hi"} for name in "ab"
    )
    scales = suite_scales(golden)
    # The suite's judges are by default `rubric` and `reference`: the axes are the package's.
    assert [scale.name for scale in scales] == ["politeness", "factual", "relevance", "rubric"]
    items, _ = items_to_rate(golden, outputs, scales)
    assert [len(item.scales) for item in items] == [4, 3]
    assert [item.question["criteria"] for item in items] == [["Greets back."], []]

    only, left_out = items_to_rate(golden, outputs, suite_scales(golden, ["rubric"]))
    assert [item.case_id for item in only] == ["a"]
    assert left_out == {"of cases that none of the axes is about": 1}


def test_axes_are_those_of_the_suites_judges_or_taken_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "golden" / "shop"
    (folder / "judges").mkdir(parents=True)
    (folder / "judges" / "tone.toml").write_text(
        'kind = "axes"\n[[axes]]\nname = "tone"\nquestion = "How?"\n'
        '[axes.levels]\n0 = "bad"\n1 = "good"\n'
    )
    golden = make_suite(
        folder,
        [{"id": "a", "input": "Hi", "must_contain": ["hi"]}],
        '[judging]\njudges = ["tone"]\npass_score = 1.0',
    )
    (scale,) = suite_scales(golden)
    assert (scale.name, [option.key for option in scale.options]) == ("tone", ["0", "1"])
    named = suite_scales(golden, ["passed", "factual", "tone"])
    assert [scale.name for scale in named] == ["passed", "factual", "tone"]
    with pytest.raises(InputError, match=r"no axis 'factul'\. Did you mean 'factual'"):
        suite_scales(golden, ["factul"])


def test_levels_without_a_digit_of_their_own_have_other_keys() -> None:
    scale = scale_of(Axis(name="ten", question="?", levels={k: str(k) for k in range(1, 12)}))
    assert [option.key for option in scale.options] == [*"1234567890", ""]


def test_turns_are_shown_turn_by_turn_and_what_is_not_there_is_said() -> None:
    case = Case(
        id="a",
        turns=[{"input": "Hi", "must_contain": ["x"]}, {"input": "And?"}],  # type: ignore[list-item]
    )
    turns = [
        {"text": "Hello", "tool_calls": []},
        {"text": "", "tool_calls": [], "stop_reason": "refusal"},
    ]
    outputs = OUTPUTS.build(
        [{"case_id": "a", "repeat": 1, "output_hash": "h", "text": "", "turns": turns}]
    )
    (item,), _ = items_to_rate(GoldenSet((case,)), outputs, (TONE,))
    assert [part["who"] for part in item.question["conversation"]] == [
        "User, turn 1",
        "User, turn 2",
    ]
    assert [(part["title"], part["remark"]) for part in item.answers[0]["parts"]] == [
        ("Turn 1", ""),
        ("Turn 2", "The assistant declined to answer."),
    ]


# Opening


def run_of(golden: GoldenSet, second: int = 0) -> Path:
    async def answer(case: Any, client: Any) -> str:
        return f"answer {second} to {case.id}"

    folder = new_run_folder(golden, datetime(2026, 12, 1, 0, 0, second, tzinfo=UTC))
    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=folder.name,
        as_of=datetime(2026, 12, 1, tzinfo=UTC).date(),
        progress="none",
    )
    write_run(folder, run)
    return folder


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    cases: list[dict[str, Any]] = [
        {"id": f"case-{k}", "input": "Hello?", "must_contain": ["answer"]} for k in range(6)
    ]
    cases[0]["split"] = "holdout"
    return make_suite(tmp_path / "golden" / "shop", cases)


def test_the_newest_run_is_rated_without_its_holdout_cases(golden: GoldenSet) -> None:
    run_of(golden)
    folder = run_of(golden, 1)
    rating = open_labelling(golden, "scripted-anna")
    assert {item.run_id for item in rating.items} == {folder.name}
    assert describe_labelling(rating) == [
        f"shop, run {folder.name}, rated by scripted-anna",
        "  0 of 5 labelled, 5 to come",
        "  left out: 1 of holdout cases",
    ]
    assert "cases" not in read_looks(folder)["kind"].tolist()


def test_looking_at_holdout_cases_is_counted(golden: GoldenSet) -> None:
    folder = run_of(golden)
    rating = open_labelling(golden, "scripted-anna", holdout=True)
    assert len(rating.items) == 6
    looks = read_looks(folder)
    assert looks.loc[looks["kind"] == "cases", "run_id"].tolist() == [folder.name]


def test_a_sample_is_rated_as_it_was_drawn_from_the_run_that_it_is_of(golden: GoldenSet) -> None:
    folder = run_of(golden)
    outputs = open_labelling(golden, "scripted-anna").items
    frame = OUTPUTS.build(
        {
            "case_id": item.case_id,
            "repeat": 1,
            "output_hash": item.output_hash,
            "run_id": folder.name,
        }
        for item in outputs
    )
    name = write_sample(golden, sample_for_rating(frame, SCORES.empty(), n=3)).stem
    newer = run_of(golden, 1)
    rating = open_labelling(golden, "scripted-anna", sample=name)
    assert {(item.run_id, item.sample) for item in rating.items} == {(folder.name, name)}
    assert len(rating.items) == 3
    other = open_labelling(golden, "scripted-anna", sample=name, run=newer.name)
    assert other.items == []
    assert other.left_out == {"drawn, but not among these outputs": 3}


def test_two_runs_are_rated_beside_each_other(golden: GoldenSet) -> None:
    first, second = run_of(golden), run_of(golden, 1)
    rating = open_labelling(golden, "scripted-anna", run=first.name, other_run=str(second))
    assert len(rating.items) == 5
    assert rating.source == f"shop, run {first.name} beside run {second.name}"
    assert all(item.other_hash for item in rating.items)


def test_without_a_run_the_baseline_is_rated(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    rating = open_labelling(golden, "scripted-anna")
    assert rating.source == "support, the baseline"
    assert len(rating.items) == 80
    assert {item.run_id for item in rating.items} == {"20261202T232113Z-8c4b82"}
    with pytest.raises(InputError, match="looks at them are counted beside runs"):
        open_labelling(golden, "scripted-anna", holdout=True)
    with pytest.raises(InputError, match="there is no run 'yesterday'"):
        open_labelling(golden, "scripted-anna", run="yesterday")
    named = open_labelling(golden, "scripted-anna", run="20261202T232113Z-8c4b82")
    assert named.source == rating.source


def test_a_suite_without_run_and_baseline_has_nothing_to_rate(golden: GoldenSet) -> None:
    with pytest.raises(InputError, match="nothing to rate"):
        open_labelling(golden, "scripted-anna")
