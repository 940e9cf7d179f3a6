"""Records of every form that a log may have, with anything in the place of anything."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.curation.logs.damage import DamagedLogWarning, read_damaged
from evalnb.curation.logs.reading import read_logs

if TYPE_CHECKING:
    from pathlib import Path

SAID = [{"role": "user", "content": "Where is it?"}]
MESSAGES_API = {
    "request": {"model": "m", "system": "Be brief.", "messages": SAID},
    "response": {
        "id": "r1",
        "model": "m",
        "content": [{"type": "text", "text": "There."}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "timestamp": "2026-03-01T10:00:00Z",
    "conversation_id": "c1",
    "feedback": "up",
}
LANGFUSE = {
    "id": "o1",
    "traceId": "t1",
    "type": "GENERATION",
    "startTime": "2026-03-01T10:00:00Z",
    "endTime": "2026-03-01T10:00:02Z",
    "parentObservationId": None,
    "sessionId": "c1",
    "input": SAID,
    "output": {"role": "assistant", "content": "There."},
    "usageDetails": {"input": 3, "output": 2},
    "model": "m",
}
SCORE = {"traceId": "t1", "name": "user-feedback", "value": 1, "dataType": "NUMERIC"}
ATTRIBUTES = [
    {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
    {"key": "gen_ai.conversation.id", "value": {"stringValue": "c1"}},
    {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}},
    {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(SAID)}},
]
SPAN = {"name": "chat m", "traceId": "t1", "spanId": "s1", "attributes": ATTRIBUTES, "events": []}
TELEMETRY = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}
CONVERSATION = {
    "conversation_id": "c1",
    "messages": [
        *SAID,
        {"role": "bot", "content": None, "tool_calls": [{"function": {"name": "f"}}]},
    ],
    "feedback": 1,
}
MESSAGE = {"conversation_id": "c1", "turn": 1, "role": "user", "text": "Where is it?", "at": 0}

ANYTHING: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "[1]", '{"role": 5}', [], [None], [[1]], {}),
    *({"a": None}, {"intValue": "x"}, {"arrayValue": 1}, {"content": [{"type": "tool_use"}]}),
]


def places(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to each value in another one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, one in inside:
        found.append((*before, key))
        if isinstance(one, (dict, list)):
            found += places(one, (*before, key))
    return found


def spoiled(record: dict[str, Any], way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(record)
    inside: Any = made
    for key in way[:-1]:
        inside = inside[key]
    inside[way[-1]] = value
    return made


@pytest.mark.parametrize(
    "records",
    [[MESSAGES_API], [LANGFUSE, SCORE], [TELEMETRY], [CONVERSATION], [MESSAGE]],
    ids=["messages-api", "langfuse", "telemetry", "conversation", "message"],
)
def test_whatever_stands_in_a_record_the_others_are_read(
    records: list[dict[str, Any]], tmp_path: Path
) -> None:
    text = json.dumps(records).replace('"c1"', '"good"').replace('"t1"', '"t2"')
    good = json.loads(text.replace('"s1"', '"s2"').replace('"o1"', '"o2"'))
    bad = [
        spoiled(record, way, value)
        for record in records
        for way in places(record)
        for value in ANYTHING
    ]
    path = tmp_path / "day.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in [*good, *bad]))
    with pytest.warns(DamagedLogWarning, match="could not be read"):
        read = read_logs(path, damaged=tmp_path / "damaged.jsonl")
    of_good = read[read["conversation_id"].eq("good")]
    assert "Where is it?" in of_good["text"].tolist()
    assert len(read_damaged(tmp_path / "damaged.jsonl")) > 0
