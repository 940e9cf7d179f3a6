from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from evalnb.cassettes import Cassettes, Mode, Slot, bind, bound
from evalnb.errors import InputError, MissError
from evalnb.keys import CanonicalRequest, canonical_request, request_key
from tests.upstreams import message, tool_use

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def request(text: str = "Hi", **more: Any) -> CanonicalRequest:
    body = {
        "model": "claude-haiku-5-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": text}],
    } | more
    return canonical_request("POST", "/v1/messages", None, json.dumps(body).encode())


def record(folder: Path, asked: CanonicalRequest, answer: Json, repeat: int = 1) -> str:
    """Record one answer; give the key."""
    cassettes = Cassettes(folder, "record")
    key = request_key(asked)
    with bind("case", repeat) as binding:
        slot = binding.slot(key)
        assert cassettes.take(slot, asked) is None
        cassettes.put(slot, asked, answer, 12.6)
    return key


def take(
    cassettes: Cassettes,
    asked: CanonicalRequest,
    *,
    case_id: str = "case",
    repeat: int = 1,
    occurrence: int = 1,
) -> Json:
    with bind(case_id, repeat) as binding:
        for _ in range(occurrence):
            slot = binding.slot(request_key(asked))
        exchange = cassettes.take(slot, asked)
    assert exchange is not None
    return dict(exchange.response)


def edit(folder: Path, key: str, **changes: Any) -> None:
    path = folder / f"{key}.json"
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(content), encoding="utf-8")


# Files


def test_a_file_holds_the_request_and_its_responses(tmp_path: Path) -> None:
    asked = request("Grüße")
    key = record(tmp_path, asked, message("one"))
    record(tmp_path, asked, message("two"), repeat=2)
    assert [path.name for path in tmp_path.iterdir()] == [f"{key}.json"]
    stored = json.loads((tmp_path / f"{key}.json").read_text(encoding="utf-8"))
    assert stored == {
        "format": 1,
        "key": key,
        "request": asked,
        "entries": [
            {
                "repeat": 1,
                "occurrence": 1,
                "latency_ms": 13,
                "response": message("one", id=f"msg_{key[:12]}_1_1"),
            },
            {
                "repeat": 2,
                "occurrence": 1,
                "latency_ms": 13,
                "response": message("two", id=f"msg_{key[:12]}_2_1"),
            },
        ],
    }


def test_volatile_ids_are_replaced_and_their_links_kept(tmp_path: Path) -> None:
    asked = request()
    answer = message(
        content=[
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            tool_use("search", {"id": "toolu_x"}, "srvtoolu_1") | {"type": "server_tool_use"},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            tool_use("refund", {"order": 7}, "toolu_2"),
        ],
        container={"id": "container_9", "expires_at": "2026-12-01T00:00:00Z", "skills": ["pdf"]},
    )
    key = record(tmp_path, asked, answer)
    stem = f"{key[:12]}_1_1"
    stored = take(Cassettes(tmp_path), asked)
    assert stored["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": ""},
        {"type": "redacted_thinking", "data": ""},
        tool_use("search", {"id": "toolu_x"}, f"toolu_{stem}_1") | {"type": "server_tool_use"},
        {"type": "web_search_tool_result", "tool_use_id": f"toolu_{stem}_1", "content": []},
        tool_use("refund", {"order": 7}, f"toolu_{stem}_2"),
    ]
    assert stored["container"] == {
        "id": f"container_{stem}",
        "expires_at": None,
        "skills": ["pdf"],
    }


def test_what_a_recording_hands_on_has_its_ids(tmp_path: Path) -> None:
    cassettes, asked, answer = Cassettes(tmp_path, "record"), request(), message()
    slot = cassettes.slot(request_key(asked))
    assert cassettes.put(slot, asked, answer, 1).response is answer


def test_an_id_that_is_no_volatile_one_stays(tmp_path: Path) -> None:
    asked = canonical_request("GET", "/v1/models/claude-haiku-5-5", None, b"")
    record(tmp_path, asked, {"type": "model", "id": "claude-haiku-5-5"})
    assert take(Cassettes(tmp_path), asked)["id"] == "claude-haiku-5-5"


def test_used_and_unused_files_are_told_apart(tmp_path: Path) -> None:
    one, other = (
        record(tmp_path, request("1"), message()),
        record(tmp_path, request("2"), message()),
    )
    cassettes = Cassettes(tmp_path)
    assert cassettes.unused() == cassettes.keys() == sorted([one, other])
    take(cassettes, request("1"))
    assert cassettes.unused() == [other]
    cassettes.remove(cassettes.unused())
    assert cassettes.keys() == [one]
    assert Cassettes(tmp_path / "none").keys() == []


def test_a_cassette_can_be_read_by_its_key(tmp_path: Path) -> None:
    key = record(tmp_path, request(), message("x"), repeat=2)
    asked, entries = Cassettes(tmp_path).read(key)
    assert asked == request()
    assert [(place, entry.latency_ms) for place, entry in entries.items()] == [((2, 1), 13)]
    with pytest.raises(InputError, match="there is no cassette"):
        Cassettes(tmp_path).read("0" * 24)


def test_modes_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mode must be one of replay, record, live\. Got 'all'"):
        Cassettes(tmp_path, "all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="refresh needs the mode `record`"):
        Cassettes(tmp_path, refresh=True)


def test_live_neither_reads_nor_writes(tmp_path: Path) -> None:
    asked = request()
    record(tmp_path, asked, message("old"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    cassettes = Cassettes(tmp_path, "live")
    slot = cassettes.slot(request_key(asked))
    assert cassettes.take(slot, asked) is None
    assert cassettes.put(slot, asked, message("new"), 1).response == message("new")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# Slots


def test_a_binding_counts_its_own_occurrences() -> None:
    with bind("a", 2) as one:
        assert bound() is one
        assert [one.slot("k"), one.slot("k"), one.slot("l")] == [
            Slot("k", 2, 1),
            Slot("k", 2, 2),
            Slot("l", 2, 1),
        ]
        with bind("a", 3) as other:
            assert bound() is other
            assert other.slot("k") == Slot("k", 3, 1)
        assert bound() is one
    assert bound() is None


def test_a_slot_that_was_given_back_is_the_next_one() -> None:
    with bind("a", 1) as binding:
        first, second = binding.slot("k"), binding.slot("k")
        binding.release(first)
        assert binding.slot("k") == first
        assert binding.slot("k").occurrence == 3
        binding.release(second)
        assert binding.slot("k") == second


def test_tasks_and_threads_of_a_case_share_its_binding() -> None:
    async def main() -> list[int]:
        with bind("a", 1) as binding:
            slots = await asyncio.gather(
                *(asyncio.to_thread(lambda: (bound() or binding).slot("k")) for _ in range(20))
            )
            assert bound() is binding
        return sorted(slot.occurrence for slot in slots)

    assert asyncio.run(main()) == list(range(1, 21))


# Misses


def miss_of(cassettes: Cassettes, asked: CanonicalRequest, message: str, **where: Any) -> None:
    with pytest.raises(MissError, match=message):
        take(cassettes, asked, **where)


def test_there_are_three_kinds_of_misses(tmp_path: Path) -> None:
    asked = request("Refund order 7")
    key = record(tmp_path, asked, message())
    cassettes = Cassettes(tmp_path)
    other = request("Refund order 8")
    miss_of(
        cassettes, other, f"case c1: request {request_key(other)} was never recorded", case_id="c1"
    )
    miss_of(cassettes, asked, f"request {key} was not recorded for repeat 2", repeat=2)
    miss_of(cassettes, asked, f"request {key} was not recorded for occurrence 2", occurrence=2)
    expected = pd.DataFrame(
        {
            "case_id": pd.array(["c1", "case", "case"], "string"),
            "repeat": pd.array([1, 2, 1], "Int64"),
            "occurrence": pd.array([1, 1, 2], "Int64"),
            "kind": pd.array(["request", "repeat", "occurrence"], "string"),
            "key": pd.array([request_key(other), key, key], "string"),
            "nearest_key": pd.array([key, key, key], "string"),
            "differences": pd.Series([["`messages[0].content` changed"], [], []], dtype="object"),
            "explanation": pd.array(
                [
                    "`messages[0].content` changed",
                    "repeat 2 was never recorded",
                    "occurrence 2 of the request was never recorded",
                ],
                "string",
            ),
        }
    )
    assert_frame_equal(cassettes.misses_frame(), expected)


def test_a_miss_names_the_nearest_request_and_what_differs(tmp_path: Path) -> None:
    def tools(description: str) -> list[Json]:
        names = ("lookup", "refund")
        return [
            {
                "name": name,
                "description": description if name == "refund" else "Find.",
                "input_schema": {"type": "object"},
            }
            for name in names
        ]

    keys = [
        record(tmp_path, request(f"Order {n}", tools=tools("Old.")), message()) for n in range(5)
    ]
    cassettes = Cassettes(tmp_path)
    for n in range(5):
        miss_of(
            cassettes, request(f"Order {n}", tools=tools("New.")), "never recorded", case_id=f"c{n}"
        )
    frame = cassettes.misses_frame()
    assert frame["nearest_key"].tolist() == keys
    assert frame["explanation"].tolist() == ["`tools[refund].description` changed"] * 5


def test_a_miss_without_anything_recorded_says_so(tmp_path: Path) -> None:
    cassettes = Cassettes(tmp_path)
    miss_of(cassettes, request(), "never recorded")
    frame = cassettes.misses_frame()
    assert frame["nearest_key"].isna().tolist() == [True]
    assert frame["explanation"].tolist() == ["nothing like it was ever recorded"]


def test_many_differences_are_cut_short(tmp_path: Path) -> None:
    record(tmp_path, request(a=1, b=1, c=1, d=1, e=1, f=1), message())
    cassettes = Cassettes(tmp_path)
    miss_of(cassettes, request(a=2, b=2, c=2, d=2, e=2, f=2), "never recorded")
    assert cassettes.misses_frame()["explanation"][0] == (
        "`a` changed, `b` changed, `c` changed, `d` changed and 2 more"
    )


def test_a_miss_without_a_binding_is_kept_too(tmp_path: Path) -> None:
    cassettes, asked = Cassettes(tmp_path), request()
    caught: list[Exception] = []

    def ask() -> None:
        try:
            cassettes.take(cassettes.slot(request_key(asked)), asked)
        except MissError as error:
            caught.append(error)

    with bind("case", 1):
        thread = threading.Thread(target=ask, args=())
        contextvars.Context().run(thread.start)
        thread.join()
    assert [str(error) for error in caught] == [f"request {request_key(asked)} was never recorded"]
    assert [miss.case_id for miss in cassettes.misses] == [None]
    assert cassettes.misses_frame()["case_id"].isna().all()


def test_no_miss_gives_an_empty_frame(tmp_path: Path) -> None:
    assert len(Cassettes(tmp_path).misses_frame()) == 0


# Damage


def torn(folder: Path, key: str) -> None:
    path = folder / f"{key}.json"
    path.write_bytes(path.read_bytes()[:-20])


def not_utf8(folder: Path, key: str) -> None:
    path = folder / f"{key}.json"
    path.write_bytes(path.read_bytes().replace(b"Hello.", b"\xff"))


def empty(folder: Path, key: str) -> None:
    (folder / f"{key}.json").write_bytes(b"")


def other_request(folder: Path, key: str) -> None:
    edit(folder, key, request=request("Bye"))


def no_entries(folder: Path, key: str) -> None:
    path = folder / f"{key}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["entries"]
    path.write_text(json.dumps(content), encoding="utf-8")


def entry(**changes: Any) -> Json:
    return {"repeat": 1, "occurrence": 1, "latency_ms": 1, "response": {}} | changes


@pytest.mark.parametrize(
    ("damage", "message_of_it"),
    [
        (torn, "is not JSON: "),
        (not_utf8, "cannot be read: UnicodeDecodeError"),
        (empty, "is not JSON: Expecting value at column 1"),
        (other_request, "holds another request than its name says"),
        (no_entries, r"cannot be read: KeyError\('entries'\)"),
        (lambda folder, key: edit(folder, key, format=2), "has format 2; this version reads 1"),
        (lambda folder, key: edit(folder, key, entries=[entry(response="x")]), "cannot be read: "),
        (lambda folder, key: edit(folder, key, entries=[entry(repeat="1")]), "cannot be read: "),
        (lambda folder, key: edit(folder, key, entries=["x"]), "cannot be read: "),
        (lambda folder, key: edit(folder, key, entries=[entry(), entry()]), "holds two responses"),
        (lambda folder, key: (folder / f"{key}.json").write_text("[]"), "cannot be read: "),
    ],
)
def test_damage_is_said_as_such(tmp_path: Path, damage: Any, message_of_it: str) -> None:
    asked = request()
    key = record(tmp_path, asked, message())
    damage(tmp_path, key)
    modes: list[Mode] = ["replay", "record"]
    for mode in modes:
        cassettes = Cassettes(tmp_path, mode)
        for _ in range(2):
            with pytest.raises(InputError, match=message_of_it) as caught:
                take(cassettes, asked)
        [problem] = caught.value.problems
        assert problem.file == str(tmp_path / f"{key}.json")
        assert problem.remedy == "Delete the file and record it again."
        assert cassettes.misses == []
        assert [fault.problems for fault in cassettes.faults] == [(problem,)]


def test_a_renamed_file_is_said_beside_the_miss(tmp_path: Path) -> None:
    asked = request()
    key = record(tmp_path, asked, message())
    (tmp_path / f"{key}.json").rename(tmp_path / f"{'0' * 24}.json")
    cassettes = Cassettes(tmp_path)
    miss_of(cassettes, asked, "was never recorded")
    assert cassettes.misses_frame()["explanation"][0] == "nothing like it was ever recorded"
    [fault] = cassettes.faults
    assert "holds another request than its name says" in str(fault)
    assert fault.problems[0].file == str(tmp_path / f"{'0' * 24}.json")


@pytest.mark.parametrize(
    ("asked", "answered", "fits"),
    [
        ("claude-haiku-5-5", "claude-haiku-5-5", True),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001", True),
        ("claude-3-opus-latest", "claude-3-opus-20240229", True),
        ("claude-sonnet-4-0", "claude-sonnet-4-20250514", True),
        ("claude-opus-4", "claude-opus-4-8", False),
        ("claude-opus-4-0", "claude-opus-4-8", False),
        ("claude-haiku-5-5", "claude-sonnet-5-5", False),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5", False),
        ("claude-haiku-4.5", "claude-haiku-4-5-20251001", False),
    ],
)
def test_the_model_that_answered_must_be_the_one_asked(
    tmp_path: Path, asked: str, answered: str, fits: bool
) -> None:
    key = record(tmp_path, request(model=asked), message(model=answered if fits else asked))
    path = tmp_path / f"{key}.json"
    content = json.loads(path.read_text())
    content["entries"][0]["response"]["model"] = answered
    path.write_text(json.dumps(content))
    cassettes = Cassettes(tmp_path)
    if fits:
        assert take(cassettes, request(model=asked))["model"] == answered
        return
    what = f"was answered by '{answered}', but '{asked}' was asked"
    with pytest.raises(InputError, match=what) as caught:
        take(cassettes, request(model=asked))
    assert cassettes.misses == []
    assert cassettes.faults == [caught.value]


def test_an_answer_of_another_model_is_not_stored(tmp_path: Path) -> None:
    cassettes = Cassettes(tmp_path, "record")
    asked = request(model="claude-haiku-5-5")
    slot = cassettes.slot(request_key(asked))
    with pytest.raises(InputError, match="was answered by 'claude-sonnet-5-5'") as caught:
        cassettes.put(slot, asked, message(model="claude-sonnet-5-5"), 1)
    assert (cassettes.keys(), cassettes.n_recorded) == ([], 0)
    assert cassettes.faults == [caught.value]


def test_a_response_that_cannot_be_written_is_not_handed_on(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("in the way")
    cassettes = Cassettes(folder, "record")
    asked = request()
    slot = cassettes.slot(request_key(asked))
    with pytest.raises(InputError, match="cannot be written"):
        cassettes.put(slot, asked, message(), 1)
    assert cassettes.take(slot, asked) is None
    assert cassettes.n_recorded == 0


def test_refresh_replaces_a_damaged_file(tmp_path: Path) -> None:
    asked = request()
    key = record(tmp_path, asked, message("old"))
    torn(tmp_path, key)
    cassettes = Cassettes(tmp_path, "record", refresh=True)
    slot = cassettes.slot(key)
    assert cassettes.take(slot, asked) is None
    cassettes.put(slot, asked, message("new"), 1)
    assert take(Cassettes(tmp_path), asked)["content"][0]["text"] == "new"
