"""The recorded traffic of four projects goes through keys, recording and replay."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest

from evalnb.cassettes import Cassettes
from evalnb.keys import canonical_request, request_key
from evalnb.sse import message_from_events, message_to_events
from evalnb.transport import CassetteFault, CassetteTransport
from tests.traffic import Interaction, interactions

if TYPE_CHECKING:
    from pathlib import Path

ALL = interactions()
STREAMS = [entry for entry in ALL if entry.is_stream]
MESSAGES = [entry for entry in ALL if entry.path == "/v1/messages" and entry.status == 200]
FILES = [entry for entry in ALL if entry.path.startswith("/v1/files")]
ERRORS = [entry for entry in ALL if entry.status != 200]
RECORDED = [entry for entry in ALL if entry not in ERRORS and entry not in FILES]

# Headers whose values belong to the people who recorded the traffic.
_PRIVATE_HEADERS = (
    "anthropic-organization-id",
    "cf-ray",
    "request-id",
    "set-cookie",
    "traceresponse",
    "via",
)
_VOLATILE = re.compile(r"\b(?:srv|mcp)?tool(?:u|use)_[A-Za-z0-9_]+|\bfile_01[A-Za-z0-9]+")


def name_of(entry: Interaction) -> str:
    return entry.name


def send(cassettes: Cassettes, entry: Interaction, *, upstream: bool) -> httpx2.Response:
    transport = CassetteTransport(
        cassettes, httpx2.MockTransport(lambda _: entry.response()) if upstream else None
    )
    with httpx2.Client(transport=transport) as client:
        return client.send(entry.request())


def sdk_stream(body: str, *, beta: bool) -> dict[str, Any]:
    """Return the message that the SDK itself makes of a stream."""

    def handler(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=body.encode())

    with client_on(handler) as client:
        stream = client.beta.messages.stream if beta else client.messages.stream
        with stream(**ASKED) as events:
            return events.get_final_message().to_dict()


def sdk_create(message: Any, *, beta: bool) -> dict[str, Any]:
    with client_on(lambda _: httpx2.Response(200, json=message)) as client:
        create = client.beta.messages.create if beta else client.messages.create
        found: dict[str, Any] = create(**ASKED).to_dict()
        return found


def as_stream(message: dict[str, Any]) -> dict[str, Any]:
    """Add what the SDK adds to the message of a stream, also of an API that did not know it."""
    return {"stop_details": None} | message


ASKED: Any = {
    "model": "claude-haiku-5-5",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "Hi"}],
}


def client_on(handler: Any) -> anthropic.Anthropic:
    http_client = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(handler))
    return anthropic.Anthropic(
        api_key="none", max_retries=0, open_telemetry=False, http_client=http_client
    )


def message_of(entry: Interaction) -> Any:
    """Return the message of an interaction as the SDK sees it."""
    if entry.is_stream:
        return sdk_stream(entry.text, beta=entry.is_beta)
    return json.loads(entry.text)


def stable(message: Any) -> Any:
    """Drop what is volatile: the ids by order of appearance, signatures, the container's id."""
    numbers: dict[str, str] = {}
    fresh = count(1)

    def rename(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id_{next(fresh)}")

    def blank(value: Any) -> Any:
        if isinstance(value, list):
            return [blank(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        opaque = {"thinking": "signature", "redacted_thinking": "data"}.get(value.get("type", ""))
        return {key: "" if key == opaque else blank(entry) for key, entry in value.items()}

    message = blank(message)
    message.pop("log_id", None)
    if message.get("type") in ("message", "completion"):
        message |= {"id": "volatile"}
    if message.get("container"):
        message["container"] |= {"id": "volatile", "expires_at": None}
    return json.loads(_VOLATILE.sub(rename, json.dumps(message)))


def test_the_traffic_is_all_there() -> None:
    assert len(ALL) == 206
    assert len({entry.name for entry in ALL}) == 206
    assert (len(STREAMS), len(MESSAGES), len(ERRORS), len(FILES)) == (35, 191, 3, 8)


def visible(entry: Interaction) -> str:
    """Return what the model sees of a request, worked out by other means than the key's."""
    left_out = ("stream", "metadata", "service_tier")
    body = {name: value for name, value in entry.body.items() if name not in left_out}

    def bare(value: Any) -> Any:
        if isinstance(value, list):
            return [bare(part) for part in value]
        if not isinstance(value, dict):
            return value
        opaque = {"thinking": "signature", "redacted_thinking": "data"}.get(
            str(value.get("type")), ""
        )
        return {
            name: bare(part)
            for name, part in sorted(value.items())
            if name not in ("cache_control", opaque)
        }

    numbers: dict[str, str] = {}
    text = re.sub(
        r"\b(?:(?:srv|mcp)?toolu|container)_01\w+",
        lambda found: numbers.setdefault(found[0], f"id_{len(numbers)}"),
        json.dumps(bare(body)),
    )
    betas = sorted(entry.request_headers.get("anthropic-beta", "").split(","))
    return f"{entry.url} {betas} {text}"


def test_keys_tell_apart_what_the_model_can_and_nothing_else() -> None:
    keys_of: dict[str, set[str]] = {}
    seen_with: dict[str, set[str]] = {}
    for entry in [*RECORDED, *ERRORS]:
        headers = entry.request_headers
        canonical = canonical_request(
            entry.method,
            entry.url,
            headers.get("anthropic-beta"),
            entry.content,
            headers.get("content-type"),
        )
        keys_of.setdefault(visible(entry), set()).add(request_key(canonical))
        seen_with.setdefault(request_key(canonical), set()).add(visible(entry))
    assert [keys for keys in keys_of.values() if len(keys) > 1] == []
    assert [requests for requests in seen_with.values() if len(requests) > 1] == []
    assert 100 < len(keys_of) < 198


@pytest.mark.parametrize("entry", RECORDED, ids=name_of)
def test_each_complete_answer_is_recorded_and_replayed(entry: Interaction, tmp_path: Path) -> None:
    recording = send(Cassettes(tmp_path, "record"), entry, upstream=True)
    assert recording.text == entry.text

    replay = Cassettes(tmp_path)
    answer = send(replay, entry, upstream=False)
    if entry.is_stream:
        replayed: Any = sdk_stream(answer.text, beta=entry.is_beta)
    else:
        replayed = answer.json()
    assert stable(replayed) == stable(message_of(entry))
    assert replay.misses == []
    assert replay.unused() == []


@pytest.mark.parametrize("entry", ERRORS, ids=name_of)
def test_errors_are_handed_on_and_not_recorded(entry: Interaction, tmp_path: Path) -> None:
    answer = send(Cassettes(tmp_path, "record"), entry, upstream=True)
    assert (answer.status_code, answer.text) == (entry.status, entry.text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("entry", FILES, ids=name_of)
def test_files_are_refused_before_they_are_asked_for(entry: Interaction, tmp_path: Path) -> None:
    with pytest.raises(CassetteFault, match=r"/v1/files.* cannot be recorded"):
        send(Cassettes(tmp_path, "record"), entry, upstream=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("entry", STREAMS, ids=name_of)
def test_a_stream_is_read_as_the_sdk_reads_it(entry: Interaction) -> None:
    message = message_from_events(entry.text)
    whole = sdk_create(message, beta=entry.is_beta)
    assert as_stream(whole) == sdk_stream(entry.text, beta=entry.is_beta)


@pytest.mark.parametrize("entry", MESSAGES, ids=name_of)
def test_a_message_streams_to_what_it_is(entry: Interaction) -> None:
    message = message_of(entry)
    whole = as_stream(sdk_create(message, beta=entry.is_beta))
    assert sdk_stream(message_to_events(message), beta=entry.is_beta) == whole
    assert message_from_events(message_to_events(message)) == message


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("entry", STREAMS[::6], ids=name_of)
def test_a_stream_that_breaks_off_is_no_message(entry: Interaction, share: float) -> None:
    assert message_from_events(entry.text[: int(len(entry.text) * share)]) is None


def test_nothing_private_is_stored(tmp_path: Path) -> None:
    private = set()
    for entry in RECORDED:
        send(Cassettes(tmp_path, "record"), entry, upstream=True)
        private |= {value for name, value in entry.headers if name in _PRIVATE_HEADERS}
        message = message_of(entry)
        private |= {str(message.get("id") or "msg_"), *re.findall(_VOLATILE, entry.text)}
        if message.get("container"):
            private.add(message["container"]["id"])
    private -= {"msg_"}
    assert len(private) > 250
    stored = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert sorted(value for value in private if value in stored) == []
