from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalnb.curation import LabelForm, Labelling, respond, scale_of, state_of
from evalnb.curation.items import Item
from evalnb.judges import Axis

TONE = scale_of(Axis(name="tone", question="How?", levels={1: "bad", 2: "fair", 3: "good"}))


def labelling(path: Path, n: int = 3) -> Labelling:
    items = [
        Item(f"case-{k}", f"h{k}", (TONE,), {"conversation": []}, ({"parts": []},))
        for k in range(n)
    ]
    return Labelling(items, path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels" / "scripted-anna.jsonl"


def ask(rating: Labelling, act: str, item: str | None = None, **more: Any) -> dict[str, Any]:
    current = rating.current.id if rating.current else ""
    message = {"act": act, "seq": 7, "item": current if item is None else item, **more}
    return respond(rating, json.loads(json.dumps(message)))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_an_answer_says_what_came_of_it_after_it_is_on_disk(path: Path) -> None:
    rating = labelling(path)
    first = state_of(rating)["item"]["id"]
    answer = ask(rating, "save", answers={"tone": 2}, note="odd")
    assert (answer["seq"], answer["said"], answer["error"]) == (7, "Saved.", None)
    assert not answer["is_stale"]
    assert [(line["value"], line["note"]) for line in lines(path)] == [(2, "odd")]
    assert answer["state"]["item"]["id"] not in (first, None)
    assert (answer["state"]["n_labelled"], answer["state"]["n_left"]) == (1, 2)
    assert answer["state"]["can_undo"]


def test_what_is_chosen_and_noted_waits_for_the_save(path: Path) -> None:
    rating = labelling(path)
    assert ask(rating, "choose", axis="tone", answer=3)["error"] is None
    assert ask(rating, "note", note="so so")["error"] is None
    shown = ask(rating, "show", item="")["state"]["item"]
    assert (shown["draft"], shown["note"]) == ({"tone": 3}, "so so")
    assert lines(path) == []


def test_a_key_pressed_twice_writes_one_line(path: Path) -> None:
    rating = labelling(path)
    assert rating.current is not None
    first = rating.current.id
    ask(rating, "save", first, answers={"tone": 2}, note="")
    again = ask(rating, "save", first, answers={"tone": 2}, note="")
    assert "nothing was written again" in again["said"]
    undone = ask(rating, "undo")
    assert undone["state"]["item"]["id"] == first
    assert "nothing was written again" in ask(rating, "undo", "another")["said"]
    assert [line["action"] for line in lines(path)] == ["label", "undo"]


def test_a_form_that_has_fallen_behind_another_one_writes_nothing(path: Path) -> None:
    rating, other = labelling(path), labelling(path)
    assert rating.current is not None
    first = rating.current.id
    ask(other, "skip", note="")
    late = ask(rating, "save", first, answers={"tone": 1}, note="")
    assert late["is_stale"]
    assert "nothing was written again" in late["said"]
    assert late["state"]["item"]["id"] != first
    assert [line["action"] for line in lines(path)] == ["skip"]


def test_the_last_item_leaves_a_form_without_one_that_can_be_taken_back(path: Path) -> None:
    rating = labelling(path, 1)
    assert ask(rating, "skip", note="")["state"]["item"] == {}
    assert ask(rating, "undo")["state"]["item"] != {}


@pytest.mark.parametrize(
    ("act", "more", "said"),
    [
        ("save", {"answers": {}, "note": ""}, "no answer yet on tone"),
        ("save", {"answers": {"tone": 9}, "note": ""}, "one of 1, 2, 3"),
        ("choose", {"axis": "tone", "answer": [1]}, "one of 1, 2, 3"),
        ("choose", {"axis": "speed", "answer": 1}, "the axes tone"),
        ("undo", {}, "nothing to take back"),
        ("dance", {}, "sent 'dance'"),
    ],
)
def test_what_cannot_be_done_is_said_and_writes_nothing(
    act: str, more: dict[str, Any], said: str, path: Path
) -> None:
    answer = ask(labelling(path), act, **more)
    assert said in answer["error"]
    assert lines(path) == []


def test_a_file_that_cannot_be_written_is_an_error_and_the_item_stays(path: Path) -> None:
    rating = labelling(path)
    path.parent.write_text("a file where the folder should be")
    answer = ask(rating, "save", answers={"tone": 2}, note="kept")
    assert "scripted-anna.jsonl" in answer["error"]
    assert answer["state"]["item"]["draft"] == {"tone": 2}
    assert answer["state"]["item"]["note"] == "kept"
    path.parent.unlink()
    assert ask(rating, "save", answers={"tone": 2}, note="kept")["error"] is None


def test_a_file_that_went_away_is_said(path: Path) -> None:
    rating = labelling(path)
    ask(rating, "save", answers={"tone": 2}, note="")
    shutil.rmtree(path.parent)
    answer = ask(rating, "skip", note="")
    assert "is gone, with 1 lines that were on disk" in answer["error"]
    assert not path.exists()
    assert answer["state"]["n_labelled"] == 1


def test_the_form_without_a_front_says_how_far_it_has_come_and_keeps_no_item(path: Path) -> None:
    rating = labelling(path)
    form = LabelForm(rating)
    bundle, _ = form._repr_mimebundle_()
    assert bundle["text/html"] == "<p>Label form: 0 of 3 labelled</p>"
    assert "case-" not in json.dumps(form.get_state(), default=str)
