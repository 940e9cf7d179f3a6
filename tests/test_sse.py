from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalnb.errors import EvalnbError
from evalnb.sse import message_from_events, message_to_events
from tests.test_jsontext import texts, values
from tests.upstreams import message, tool_use

Json = dict[str, Any]

START: Json = {"type": "message_start", "message": message(content=[], stop_reason=None)}
STOP: Json = {"type": "message_stop"}


def events(*entries: Json) -> str:
    return "".join(f"event: {entry['type']}\ndata: {json.dumps(entry)}\n\n" for entry in entries)


def block(content: Json, *deltas: Json, index: int = 0) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def ending(stop_reason: str = "end_turn", **more: Any) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": 9},
    } | more


def sdk_message(body: str, *, beta: bool = False) -> Json:
    """Return the message that the SDK makes of a stream."""

    def handler(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=body.encode())

    http_client = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(handler))
    asked: Any = {"model": "claude-haiku-5-5", "max_tokens": 9, "messages": []}
    with anthropic.Anthropic(
        api_key="none", max_retries=0, open_telemetry=False, http_client=http_client
    ) as client:
        stream = client.beta.messages.stream if beta else client.messages.stream
        with stream(**asked) as found:
            return found.get_final_message().to_dict()


text_blocks = st.fixed_dictionaries({"type": st.just("text"), "text": texts})
thinking_blocks = st.fixed_dictionaries(
    {"type": st.just("thinking"), "thinking": texts, "signature": texts}
)
tool_blocks = st.builds(
    lambda kind, name, arguments: tool_use(name, arguments) | {"type": kind},
    st.sampled_from(["tool_use", "server_tool_use", "mcp_tool_use"]),
    texts,
    st.dictionaries(texts, values, max_size=4),
)
other_blocks = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["redacted_thinking", "container_upload", "of_tomorrow"]),
        "data": values,
    }
)
messages = st.builds(
    lambda content, reason, details: message(
        content=content, stop_reason=reason, stop_details=details
    ),
    st.lists(text_blocks | thinking_blocks | tool_blocks | other_blocks, max_size=5),
    st.sampled_from(["end_turn", "max_tokens", "tool_use", "refusal", "pause_turn"]),
    st.none() | st.just({"type": "refusal", "category": "cyber", "explanation": None}),
)


@given(messages)
def test_a_message_becomes_events_and_the_same_message_again(given_message: Json) -> None:
    assert message_from_events(message_to_events(given_message)) == given_message


@given(text_blocks | thinking_blocks, st.dictionaries(texts, texts, max_size=3))
def test_the_sdk_reads_the_events_as_the_message(content: Json, arguments: Json) -> None:
    given_message = message(
        content=[content, tool_use("refund", arguments)], stop_reason="tool_use"
    )
    assert sdk_message(message_to_events(given_message)) == given_message


def test_odd_line_separators_in_text_do_not_break_the_events() -> None:
    text = "a\u2028b\u2029c\x85d\r\ne\rf\n\ng\x0b\x0c\x1c\x00"
    given_message = message(text)
    body = message_to_events(given_message)
    assert message_from_events(body) == given_message
    assert sdk_message(body) == given_message


def test_citations_survive() -> None:
    citation = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
        "file_id": None,
    }
    given_message = message(content=[{"type": "text", "text": "x", "citations": [citation] * 2}])
    body = message_to_events(given_message)
    assert message_from_events(body) == given_message
    assert sdk_message(body) == given_message


def test_arguments_cut_off_at_max_tokens_are_read_as_the_sdk_reads_them() -> None:
    pieces = ['{"order": 7, "items": ["a", "b', "c"]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    body = events(START, *block(tool_use("refund", {}), *deltas), ending("max_tokens"), STOP)
    found = message_from_events(body)
    assert found is not None
    assert found["content"][0]["input"] == {"order": 7, "items": ["a"]}
    assert found["content"] == sdk_message(body)["content"]


def test_compaction_and_fallback_are_read_as_the_sdk_reads_them() -> None:
    compaction = {"type": "compaction", "content": None, "encrypted_content": None}
    delta = {"type": "compaction_delta", "content": "So far.", "encrypted_content": "abc"}
    fallback = {
        "type": "fallback",
        "from": {"model": "claude-fable-5-2"},
        "to": {"model": "claude-opus-5-5"},
    }
    body = events(
        START,
        *block(compaction, delta),
        *block(fallback, index=1),
        ending(context_management={"applied_edits": []}, input_transformations=None),
        STOP,
    )
    found = message_from_events(body)
    assert found is not None
    assert found["content"][0] == {
        "type": "compaction",
        "content": "So far.",
        "encrypted_content": "abc",
    }
    assert found["model"] == "claude-opus-5-5"
    assert found["context_management"] == {"applied_edits": []}
    expected = sdk_message(body, beta=True)
    assert {name: found[name] for name in ("content", "model", "context_management", "usage")} == {
        name: expected[name] for name in ("content", "model", "context_management", "usage")
    }


def test_counts_of_the_end_replace_those_of_the_start_where_they_are_given() -> None:
    start = START["message"] | {"usage": {"input_tokens": 5, "output_tokens": 1, "x": 2}}
    usage = {"input_tokens": None, "output_tokens": 9, "cache_read_input_tokens": 3}
    body = events({"type": "message_start", "message": start}, ending(usage=usage), STOP)
    found = message_from_events(body)
    assert found is not None
    assert found["usage"] == {
        "input_tokens": 5,
        "output_tokens": 9,
        "x": 2,
        "cache_read_input_tokens": 3,
    }


def test_pings_comments_and_crlf_are_nothing() -> None:
    body = ": hello\n\n" + events(
        START, {"type": "ping"}, *block({"type": "text", "text": "Hi"}), ending(), STOP
    )
    for text in (body, body.replace("\n", "\r\n")):
        found = message_from_events(text)
        assert found is not None
        assert found["content"] == [{"type": "text", "text": "Hi"}]
        assert found["stop_reason"] == "end_turn"


WHOLE = events(
    START,
    *block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}),
    ending(),
    STOP,
)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "data: {}\n\n",
        WHOLE[: WHOLE.index("event: message_stop")],
        WHOLE[: WHOLE.index("event: message_delta")],
        WHOLE[:-5],
        WHOLE.replace('"text_delta"', '"text_delta'),
        WHOLE.replace('"text": "Hi"', '"text": "\\ud800"'),
        WHOLE + events({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
        events({"type": "error", "error": {"type": "api_error", "message": "x"}}),
        events(*block({"type": "text", "text": ""}), ending(), STOP),
        events(
            START,
            {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta"}},
            STOP,
        ),
        events({"type": "message_start"}, STOP),
        events({"type": "message_start", "message": None}, STOP),
        "data: [1]\n\n" + WHOLE,
    ],
)
def test_what_is_no_whole_message_is_none(body: str) -> None:
    assert message_from_events(body) is None


def test_a_delta_of_tomorrow_is_said_and_not_lost() -> None:
    body = WHOLE.replace("text_delta", "image_delta")
    with pytest.raises(EvalnbError, match="delta of type 'image_delta' cannot be recorded"):
        message_from_events(body)


@given(st.text())
def test_any_text_is_read_or_none(text: str) -> None:
    assert message_from_events(text) is None


@settings(max_examples=300)
@given(st.lists(st.sampled_from([*WHOLE.split("\n\n"), "data: {", 'data: {"type": "error"}'])))
def test_any_order_of_events_is_read_or_none(parts: list[str]) -> None:
    found = message_from_events("\n\n".join(parts))
    assert found is None or found["type"] == "message"
