"""Curating without a browser; all curators and conversations are scripted."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalnb.cases import Case
from evalnb.curation.candidates.files import write_candidates
from evalnb.curation.candidates.picks import candidates_of
from evalnb.curation.logs.damage import DamagedLogWarning
from evalnb.curation.logs.reading import read_logs
from evalnb.curation.staging.adding import add_staged, describe_adding
from evalnb.curation.staging.curating import Curating
from evalnb.curation.staging.exchange import curating_state, respond_to_curator
from evalnb.curation.staging.files import StagedFile, staged_path
from evalnb.curation.staging.items import items_to_curate
from evalnb.curation.staging.opening import (
    Picked,
    describe_gaps,
    open_curating,
    pick_candidates,
)
from evalnb.errors import InputError
from evalnb.frames import LOGS
from evalnb.golden import GoldenSet, read_golden
from evalnb.results import results_root
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.curation.staging.items import CurationItem

CASE: dict[str, Any] = {"id": "hello", "input": "Where is my parcel?", "must_contain": ["parcel"]}
GOLDEN = GoldenSet((Case(**CASE),))
KEYWORDS = {"expected_keywords": "refund\n\n refund \nfive days"}


def logs(n: int = 4) -> Any:
    rows = []
    for number in range(n):
        said = [
            ("user", f"I want my money back for order {number}."),
            ("tool_call", '{"name": "look_up", "arguments": {}}'),
            ("assistant", "One moment."),
            ("assistant", "Your refund takes five days."),
            ("user", "And when does it begin?"),
            ("assistant", "Today."),
        ]
        rows += [
            {"conversation_id": f"c-{number}", "turn": turn, "role": role, "text": text,
             "category": "Refunds & more", "language": "en",
             "feedback": 1 if turn == 6 and number % 2 else None}
            for turn, (role, text) in enumerate(said, 1)
        ]  # fmt: skip
    return LOGS.build(rows)


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "shop", [CASE])


@cache
def items_of(cases: GoldenSet = GOLDEN, n: int = 4) -> list[CurationItem]:
    picks = [{"conversation_id": f"c-{k}", "reason": "asked twice"} for k in range(n)]
    return items_to_curate(cases, candidates_of("struggling", picks), logs(n), source="the log")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 12, 3, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


def curating(golden: GoldenSet, n: int = 4) -> Curating:
    return Curating(items_of(n=n), staged_path(golden, "scripted-anna"), clock=Clock())


def lines(golden: GoldenSet) -> list[dict[str, Any]]:
    path = staged_path(golden, "scripted-anna")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_accepted_conversation_is_a_case_with_its_provenance(golden: GoldenSet) -> None:
    session = curating(golden)
    case = session.accept({**KEYWORDS, "tags": "edge", "note": " why \n"})
    assert case.canonical() == {
        "id": case.id,
        "category": "Refunds & more",
        "language": "en",
        "tags": ["edge"],
        "input": "I want my money back for order 0.",
        "expected_keywords": ["refund", "five days"],
        "split": "dev",
        "added": "2026-12-03",
        "source": "the log: conversation c-0, picked by struggling, redacted",
        "reviewed_by": "scripted-anna",
        "note": "why",
    }
    assert case.id.startswith("refunds-more-")
    assert [line["action"] for line in lines(golden)] == ["edit", "accept"]
    assert lines(golden)[1]["case"] == case.canonical()
    assert session.current is not None
    assert session.current.conversation_id == "c-1"


def test_a_case_may_end_with_a_later_message(golden: GoldenSet) -> None:
    case = curating(golden).accept({**KEYWORDS, "ends_with": "2", "input": "When does it begin?"})
    assert case.conversation() == [
        {"role": "user", "content": "I want my money back for order 0."},
        {"role": "assistant", "content": "One moment.\nYour refund takes five days."},
        {"role": "user", "content": "When does it begin?"},
    ]


@pytest.mark.parametrize(
    ("edits", "field", "said"),
    [
        ({}, "expected_keywords", "Write a keyword to expect"),
        ({**KEYWORDS, "input": "  "}, "input", "is empty"),
        ({**KEYWORDS, "ends_with": "3"}, "ends_with", "1 to 2. Got '3'"),
        ({**KEYWORDS, "split": "test"}, "split", "holdout"),
        ({"must_not_include": "\u200b"}, "must_not_include", "more than spaces"),
    ],
)
def test_what_makes_no_case_is_said_by_field_and_loses_nothing(
    golden: GoldenSet, edits: dict[str, str], field: str, said: str
) -> None:
    session = curating(golden)
    assert session.current is not None
    item = session.current.id
    answer = respond_to_curator(
        session, {"act": "accept", "edits": {**edits, "note": "kept"}, "item": item, "seq": 7}
    )
    assert answer["error"]
    assert (answer["seq"], answer["state"]["item"]["id"]) == (7, item)
    assert field in {problem["field"] for problem in answer["problems"]}
    assert any(said in problem["message"] for problem in answer["problems"])
    assert answer["error"] == "the case was not accepted"
    again = curating(golden)
    assert again.edits["note"] == "kept"
    assert again.progress.n_accepted == 0


def test_a_language_that_the_log_does_not_name_is_told_from_the_texts(golden: GoldenSet) -> None:
    said = ["Wo ist mein Paket? Ich warte schon eine Woche.", "Das weiß ich nicht."]
    talk = LOGS.build(
        {"conversation_id": "c", "turn": turn, "role": role, "text": text}
        for turn, (role, text) in enumerate(zip(("user", "assistant"), said, strict=True), 1)
    )
    picks = candidates_of("uniform", [{"conversation_id": "c", "reason": "drawn"}])
    (item,) = items_to_curate(golden, picks, talk)
    session = Curating([item], staged_path(golden, "scripted-anna"), clock=Clock())
    assert session.shown()["about"] == ["de"]
    assert session.accept(KEYWORDS).language == "de"


def test_what_was_said_before_the_user_is_no_history_and_a_name_acts_not_unseen(
    golden: GoldenSet,
) -> None:
    said = [("assistant", "Hello!"), ("user", "Hi."), ("assistant", "Yes?"), ("user", "A refund.")]
    name = "../../x\u202e\n\x1b[31m"
    talk = LOGS.build(
        {"conversation_id": name, "turn": turn, "role": role, "text": text}
        for turn, (role, text) in enumerate(said, 1)
    )
    picks = candidates_of("uniform", [{"conversation_id": name, "reason": "drawn"}])
    (item,) = items_to_curate(golden, picks, talk)
    session = Curating([item], staged_path(golden, "scripted-anna"), clock=Clock())
    case = session.accept({**KEYWORDS, "ends_with": "2", "input": "A refund."})
    assert case.conversation() == [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "A refund."},
    ]
    assert case.source == (
        "production log: conversation ../../x\ufffd \ufffd[31m, picked by uniform, redacted"
    )


def test_a_rejection_needs_a_reason(golden: GoldenSet) -> None:
    session = curating(golden)
    with pytest.raises(ValueError, match="write why"):
        session.reject("  ")
    session.reject("spam")
    assert lines(golden)[-1]["reason"] == "spam"


def test_a_field_that_nobody_knows_is_refused(golden: GoldenSet) -> None:
    with pytest.raises(ValueError, match="edited by ends_with, input"):
        curating(golden).edit({"id": "../../x"})
    with pytest.raises(ValueError, match="must hold a text"):
        curating(golden).edit({"note": 3})


def test_nobody_curates_under_the_placeholder(golden: GoldenSet) -> None:
    session = Curating(items_of(), staged_path(golden, "your-name"))
    assert session.is_anonymous
    with pytest.raises(InputError, match="say who curates"):
        session.skip()


def test_a_message_about_another_item_does_nothing(golden: GoldenSet) -> None:
    session = curating(golden)
    answer = respond_to_curator(session, {"act": "skip", "item": "another", "seq": 1})
    assert answer["is_stale"]
    assert session.progress.n_left == 4


def test_the_nearest_case_and_words_of_good_answers_are_shown(golden: GoldenSet) -> None:
    shown = curating(golden, n=6).shown()
    assert shown["nearest"]["case_id"] == "hello"
    assert 0 <= shown["nearest"]["similarity"] < 1
    assert {"refund", "takes", "five"} & set(shown["terms"]) == set()  # all answers have them
    assert shown["conversation"][1]["who"] == "Tool call"
    assert shown["why"] == "asked twice (struggling)"


def test_what_a_holdout_case_says_is_not_shown(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "shop", [{**CASE, "split": "holdout"}])
    items = items_of.__wrapped__(golden)
    shown = Curating(items, staged_path(golden, "scripted-anna")).shown()
    assert shown["nearest"]["case_id"] == "hello"
    assert "parcel" not in str(shown["nearest"])
    assert "a holdout case" in shown["nearest"]["text"]


ACTIONS = st.lists(
    st.sampled_from(["accept", "reject", "skip", "undo", "edit", "resume", "torn"]), max_size=12
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_whatever_was_done_a_new_session_stands_where_the_old_one_stood(
    actions: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    golden = make_suite(tmp_path_factory.mktemp("suite") / "shop", [CASE])
    session = curating(golden)
    done: list[tuple[str, str]] = []  # what a plain list of decisions comes to
    for action in actions:
        current = session.current
        name = current.conversation_id if current else ""
        if action == "torn":
            if session.path.exists():
                with session.path.open("a") as file:
                    file.write('{"conversation_id": "c-1", "acti')
        elif action == "resume":
            session = curating(golden)
        elif action == "undo":
            if done:
                name, _ = done.pop()
                session.undo()
                assert session.current is not None
                assert session.current.conversation_id == name
        elif current is None:
            continue
        elif action == "edit":
            session.edit({"note": f"about {name}"})
        else:
            if action == "accept":
                session.accept(KEYWORDS)
            elif action == "reject":
                session.reject("no")
            else:
                session.skip()
            done.append((name, action))
        session.catch_up()
        again = curating(golden)
        assert again.current == session.current
        assert again.edits == session.edits
        assert again.progress == session.progress
        counts = [action for _, action in done]
        assert again.progress.n_accepted == counts.count("accept")
        assert again.progress.n_rejected == counts.count("reject")
    decisions = StagedFile(session.path).catch_up().decisions
    assert [(one["conversation_id"], one["action"]) for one in decisions] == done


def test_staged_cases_are_added_once(golden: GoldenSet) -> None:
    session = curating(golden)
    first = session.accept(KEYWORDS)
    session.reject("no")
    session.accept(KEYWORDS)
    session.accept(KEYWORDS)
    session.undo()
    assert golden.folder is not None
    done = add_staged(golden, session.path)
    assert describe_adding(done)[:2] == [
        "2 cases added, 0 there already, 0 refused",
        f"  added {first.id}",
    ]
    added = read_golden(golden.folder)
    assert [case.id for case in added][:2] == ["hello", first.id]
    assert added[first.id] == first
    again = add_staged(added, session.path)
    assert describe_adding(again) == ["0 cases added, 2 there already, 0 refused"]


def test_what_others_added_meanwhile_stays(golden: GoldenSet) -> None:
    session = curating(golden)
    first = session.accept(KEYWORDS)
    assert golden.folder is not None
    other = {"id": "other", "input": "Do you ship to Malta?", "must_contain": ["Malta"]}
    with (golden.folder / "cases.jsonl").open("a") as file:
        file.write(json.dumps(other) + "\n")
    assert [case.id for case in golden] == ["hello"]
    done = add_staged(golden, session.path)
    assert [case.id for case in done.golden] == ["hello", "other", first.id]
    assert [case.id for case in read_golden(golden.folder)] == ["hello", "other", first.id]


def test_what_is_wrong_is_refused_by_line_and_the_rest_is_added(
    golden: GoldenSet, tmp_path: Path
) -> None:
    cases = [
        {"id": "new", "input": "Do you ship to Malta?", "must_contain": ["Malta"]},
        {"id": "hello", "input": "Other", "must_contain": ["x"]},
        {"id": "twin", "input": "Where is my parcel?", "must_contain": ["x"]},
        {"id": "bad", "input": "x", "must_contains": ["x"]},
        {"id": "none", "input": "Nothing is expected."},
        {"id": "near", "input": "Where is  my parcel", "must_contain": ["x"]},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    said_of_all = describe_adding(add_staged(golden, path))
    assert said_of_all[0] == "2 cases added, 0 there already, 4 refused"
    assert "  added near (nearly what `hello` says)" in said_of_all
    for number, said in ((2, "is the id of another case"), (3, "asks what case `hello` asks"),
                         (4, "is no known field"), (5, "states no expectation")):  # fmt: skip
        (line,) = (line for line in said_of_all if f"cases.jsonl:{number}:" in line)
        assert said in line
    assert golden.folder is not None
    assert [case.id for case in read_golden(golden.folder)] == ["hello", "new", "near"]


def test_logs_are_redacted_before_anything_is_picked_and_damage_is_kept_with_the_results(
    golden: GoldenSet, tmp_path: Path
) -> None:
    said = {"session": "ada@example.org", "role": "user", "content": "I am ada@example.org, hello?"}
    path = tmp_path / "day.jsonl"
    path.write_text(f'{json.dumps(said)}\n{{"content": "ada@example.org')
    with pytest.warns(DamagedLogWarning, match="1 could not be read"):
        picked = pick_candidates(golden, str(path), n=1)
    (damaged,) = results_root(golden).iterdir()
    assert "<EMAIL_1>" in damaged.read_text()
    folder = tmp_path / "picked"
    write_candidates(folder, picked.candidates, picked.logs)
    again = pick_candidates(golden, str(folder))
    for one in (picked, again):
        session = open_curating(golden, "scripted-anna", one)
        assert session.shown()["asked"] == ["I am <EMAIL_1>, hello?"]
        assert "@" not in str(curating_state(session))
    with pytest.warns(DamagedLogWarning, match="1 could not be read"):
        raw = read_logs(path, damaged=damaged)
    named = picked.candidates.assign(conversation_id=raw["conversation_id"])
    write_candidates(folder, named, raw)  # as a version wrote them that did not redact names
    session = open_curating(golden, "scripted-anna", pick_candidates(golden, str(folder)))
    assert session.shown()["asked"] == ["I am <EMAIL_1>, hello?"]
    assert "@" not in str(session.accept(KEYWORDS).canonical())


def test_gaps_are_said_of_traffic_and_not_of_what_was_picked(golden: GoldenSet) -> None:
    picks = candidates_of("uniform", [{"conversation_id": "c-0", "reason": "drawn"}])
    traffic = Picked(picks, logs(4), "the log", [])
    said = describe_gaps(golden, traffic)
    assert said[0].endswith("n = 4) are far from every golden case")
    assert any(line.startswith("  missing: ") for line in said)
    assert [line.partition(":")[0] for line in said[-2:]] == ["category", "language"]
    (said_of_picked,) = describe_gaps(golden, replace(traffic, is_traffic=False))
    assert "they do not say" in said_of_picked


def test_a_file_that_is_not_there_or_torn_adds_nothing(golden: GoldenSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no staged cases at"):
        add_staged(golden, tmp_path / "none.jsonl")
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "input": "b", "must_contain": ["c"]}\n{"id": \n')
    with pytest.raises(InputError, match="cannot be used"):
        add_staged(golden, path)
    assert golden.folder is not None
    assert len(read_golden(golden.folder)) == 1
