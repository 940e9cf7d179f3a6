from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from evalnb.curation.logs.damage import DamagedLogWarning, read_damaged
from evalnb.curation.logs.reading import read_logs
from evalnb.frames import LOGS
from tests.tracing import KeptSpans
from tests.traffic import interactions

COLUMNS = ["conversation_id", "turn", "role", "text"]


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def said(logs: pd.DataFrame) -> list[list[Any]]:
    return logs[COLUMNS].astype("object").to_numpy().tolist()


def reply(text: str, **usage: int) -> dict[str, Any]:
    return {
        "id": f"msg_{text}",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5-20260601",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2, **usage},
    }


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def test_requests_without_conversation_ids_are_joined_by_their_history(tmp_path: Path) -> None:
    first = [user("Hi")]
    second = [user("Hi"), assistant("Hello."), user("Help"), user("please")]
    third = [*second, assistant("How?"), user("Refund")]
    other = [user("Bye"), assistant("Hello."), user("Help")]
    records = [
        {"timestamp": 3, "request": {"model": "m", "messages": third}, "response": reply("Done.")},
        {"timestamp": 1, "request": {"model": "m", "messages": first}, "response": reply("Hello.")},
        {"timestamp": 2, "request": {"model": "m", "messages": second}, "response": json.dumps(reply("How?"))},
        {"timestamp": 4, "request": {"model": "m", "messages": other}, "response": {"type": "error", "error": {"type": "overloaded_error"}}},
    ]  # fmt: skip
    logs = read_logs(write(tmp_path / "l.jsonl", records))
    talks = [part["text"].tolist() for _, part in logs.groupby("conversation_id")]
    assert sorted(talks, key=len) == [
        ["Bye", "Hello.", "Help"],
        ["Hi", "Hello.", "Help", "please", "How?", "Refund", "Done."],
    ]


def test_what_stands_beside_a_request_is_found_by_usual_names(tmp_path: Path) -> None:
    record = {
        "session_id": "s1",
        "created_at": "2026-03-01T10:00:00Z",
        "duration_ms": 1234.5,
        "user_feedback": "down",
        "request": {
            "body": {
                "model": "claude-haiku-5-5",
                "system": "Be brief.",
                "messages": [
                    user("Where is 7?"),
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t", "name": "find", "input": {"id": 7}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "at sea"}]}, {"type": "text", "text": "And?"}, {"type": "image", "source": {}}]},
                ],
            }
        },
        "response": reply("At sea.", cache_read_input_tokens=100),
    }  # fmt: skip
    logs = read_logs(write(tmp_path / "l.jsonl", [record]))
    assert said(logs) == [
        ["s1", 1, "system", "Be brief."],
        ["s1", 2, "user", "Where is 7?"],
        ["s1", 3, "tool_call", '{"name": "find", "arguments": {"id": 7}}'],
        ["s1", 4, "tool_result", "at sea"],
        ["s1", 5, "user", "And?[image]"],
        ["s1", 6, "assistant", "At sea."],
    ]
    last = logs.iloc[5]
    assert last[["model", "input_tokens", "output_tokens", "latency_ms", "feedback", "feedback_raw", "trace_id", "at"]].tolist() == [
        "claude-haiku-5-5-20260601", 105, 2, 1234.5, -1, "down", "msg_At sea.", "2026-03-01T10:00:00.000+00:00",
    ]  # fmt: skip
    assert logs["feedback"].isna().sum() == 5


def test_real_traffic_is_read_streams_and_all(tmp_path: Path) -> None:
    """Every recorded answer in plain text comes out as it was."""
    kept = [
        one
        for one in interactions()
        if one.path == "/v1/messages" and one.status == 200 and one.method == "POST"
    ]
    records = [
        {"conversation_id": str(n), "request": one.body, "response": one.text}
        for n, one in enumerate(kept)
    ]
    logs = read_logs(write(tmp_path / "l.jsonl", records), damaged=tmp_path / "side.jsonl")
    assert logs["conversation_id"].nunique() == len(kept) > 150
    n_compared = 0
    for n, one in enumerate(kept):
        if one.is_stream:
            continue
        message = one.response().json()
        parts = message["content"]
        if not parts or {part["type"] for part in parts} - {"text", "thinking"}:
            continue
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        last = logs[logs["conversation_id"] == str(n)].iloc[-1]
        assert (last["role"], last["text"]) == ("assistant", text)
        assert last["output_tokens"] == message["usage"]["output_tokens"]
        n_compared += 1
    assert n_compared > 30


def test_the_sdks_own_tracing(tmp_path: Path) -> None:
    answers = iter([reply("Hello."), reply("Done.", cache_read_input_tokens=40)])
    spans = KeptSpans()
    client = anthropic.Anthropic(
        api_key="unused",
        http_client=anthropic.DefaultHttpxClient(
            transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=next(answers)))
        ),
        open_telemetry={
            "tracer_provider": spans,
            "conversation_id": "conv-1",
            "traces": {"content_mode": "content"},
        },
    )
    history: list[Any] = [user("Hi")]
    options: Any = {"model": "claude-haiku-5-5", "max_tokens": 10, "system": "Be brief."}
    with client:
        client.messages.create(messages=history, **options)
        history += [assistant("Hello."), user("Refund me")]
        client.messages.create(messages=history, **options)
    (tmp_path / "spans.json").write_text(json.dumps(spans.document()))
    logs = read_logs(tmp_path / "spans.json")
    assert said(logs) == [
        ["conv-1", 1, "system", "Be brief."],
        ["conv-1", 2, "user", "Hi"],
        ["conv-1", 3, "assistant", "Hello."],
        ["conv-1", 4, "user", "Refund me"],
        ["conv-1", 5, "assistant", "Done."],
    ]
    assert logs["model"].dropna().tolist() == ["claude-haiku-5-5-20260601"] * 2
    assert logs["input_tokens"].dropna().tolist() == [5, 45]
    assert logs["latency_ms"].notna().sum() == 2


def otlp(name: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": f"s{name}",
        "name": name,
        "startTimeUnixNano": "1772359200000000000",
        "endTimeUnixNano": "1772359201500000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
        **more,
    }


def test_spans_in_older_and_newer_conventions_with_feedback(tmp_path: Path) -> None:
    parts = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    out = [{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}, {"type": "tool_call", "id": "c", "name": "look", "arguments": {"a": 1}}], "finish_reason": "stop"}]  # fmt: skip
    new = otlp(
        "chat m",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "new",
            "gen_ai.input.messages": json.dumps(parts),
            "gen_ai.output.messages": json.dumps(out),
            "gen_ai.response.id": "r1",
        },
        events=[
            {
                "name": "gen_ai.evaluation.result",
                "attributes": [
                    {"key": "gen_ai.evaluation.name", "value": {"stringValue": "user_feedback"}},
                    {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": -1.0}},
                ],
            }
        ],
    )
    old = {
        "name": "chat m",
        "context": {"trace_id": "0xt2", "span_id": "0xs2"},
        "start_time": "2026-03-01T10:00:00.000000Z",
        "end_time": "2026-03-01T10:00:00.250000Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3},
        "events": [
            {"name": "gen_ai.user.message", "attributes": {"content": "Old?"}},
            {"name": "gen_ai.choice", "attributes": {"message": '{"role": "assistant", "content": "Yes."}', "index": 0}},
        ],
    }  # fmt: skip
    other = otlp("POST /chat", {"http.method": "POST"})
    silent = otlp("chat silent", {"gen_ai.operation.name": "chat"})
    told = otlp("chat told", {"gen_ai.operation.name": "chat"})
    details = {
        "timeUnixNano": "1772359300000000000",
        "traceId": "t9",
        "spanId": "schat told",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": [
            {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(parts)}}
        ],
    }
    records = [
        {"resourceSpans": [{"scopeSpans": [{"spans": [other, new, silent, told]}]}]},
        old,
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [details]}]}]},
    ]
    with pytest.warns(DamagedLogWarning, match="1 could not be read"):
        logs = read_logs(write(tmp_path / "l.jsonl", records), damaged=tmp_path / "side.jsonl")
    assert said(logs) == [
        ["0xt2", 1, "user", "Old?"],
        ["0xt2", 2, "assistant", "Yes."],
        ["new", 1, "user", "Hi"],
        ["new", 2, "assistant", "Hello."],
        ["new", 3, "tool_call", '{"name": "look", "arguments": {"a": 1}}'],
        ["t9", 1, "user", "Hi"],
    ]
    assert logs["feedback"].dropna().tolist() == [-1]
    assert logs["latency_ms"].dropna().tolist() == [250.0, 1500.0]
    assert "traced without" in read_damaged(tmp_path / "side.jsonl")["problem"].iloc[0]


def test_langfuse_by_schedule_and_by_button(tmp_path: Path) -> None:
    root: dict[str, Any] = {"id": "o1", "trace_id": "t1", "session_id": "s1", "type": "SPAN", "parent_observation_id": None, "start_time": "2026-03-01T10:00:00Z", "end_time": "2026-03-01T10:00:02Z", "input": '{"question": "Refund?"}', "output": "Yes."}  # fmt: skip
    generations = [
        {"id": f"g{n}", "trace_id": "t1", "session_id": "s1", "type": "GENERATION", "parent_observation_id": "o1", "start_time": f"2026-03-01T10:00:0{n}Z", "input": "internal", "output": "internal", "provided_model_name": "m-1", "usage_details": {"input": 10, "output": n}}
        for n in (1, 2)
    ]  # fmt: skip
    button = {"id": "g9", "traceId": "t2", "sessionId": "s1", "type": "GENERATION", "parentObservationId": None, "startTime": "2026-03-01T10:05:00Z", "latency": 1.5, "input": [{"role": "user", "content": "Refund?"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "When?"}], "output": {"role": "assistant", "content": "Soon."}, "providedModelName": "m-1"}  # fmt: skip
    scores = [
        {"id": "1", "trace_id": "t1", "name": "user-feedback", "value": 0, "data_type": "BOOLEAN", "source": "API"},
        {"id": "2", "trace_id": "t1", "name": "correctness", "value": 1, "data_type": "NUMERIC", "source": "EVAL"},
        {"id": "3", "trace_id": "t2", "name": "csat", "value": 0, "string_value": "so-so", "data_type": "CATEGORICAL", "source": "ANNOTATION"},
    ]  # fmt: skip
    write(tmp_path / "observations_v2.jsonl", [button, generations[1], root, generations[0]])
    write(tmp_path / "scores.jsonl", scores)
    logs = read_logs(tmp_path)
    expected: list[dict[str, Any]] = [
        {"role": "user", "text": "Refund?", "at": "2026-03-01T10:00:00.000+00:00"},
        {"role": "assistant", "text": "Yes.", "at": "2026-03-01T10:00:00.000+00:00", "model": "m-1", "input_tokens": 20, "output_tokens": 3, "latency_ms": 2000.0, "trace_id": "t1", "feedback": -1, "feedback_raw": "0"},
        {"role": "user", "text": "When?", "at": "2026-03-01T10:05:00.000+00:00"},
        {"role": "assistant", "text": "Soon.", "at": "2026-03-01T10:05:00.000+00:00", "model": "m-1", "latency_ms": 1500.0, "trace_id": "t2", "feedback_raw": "so-so"},
    ]  # fmt: skip
    rows = [{"conversation_id": "s1", "turn": n, **row} for n, row in enumerate(expected, 1)]
    assert_frame_equal(logs, LOGS.build(rows))
