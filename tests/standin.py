"""A stand-in of the Messages API on the loopback interface, for tests and benchmarks.

It is no model: a reply repeats words of the question, as JSON where a schema is asked for.
Messages, batches of them and the count of their tokens are there. Cassettes are never recorded
from it, but for those that a benchmark throws away. On a thread of its own, or as a process:

    with StandIn(latency=20, faults={"429": 0.1}, retry_after=0.1) as standin:
        client = anthropic.AsyncAnthropic(base_url=standin.url, api_key="unused")

    python -m tests.standin --port 0 --latency lognormal:800:0.6 --fault 529=0.05

A process gives `GET /stats` and `GET /answered`, and takes `POST /behaviour` and `POST /reset`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from math import exp
from statistics import NormalDist
from typing import Any
from urllib.parse import parse_qs

Json = dict[str, Any]

_REPLY_WORDS = 60
_REPLY_SHARE = 0.8  # of a question that is shorter
_ERRORS = {
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "408": "timeout_error",
    "409": "conflict_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "504": "timeout_error",
    "529": "overloaded_error",
}
_BREAKS = ("disconnect", "hang", "broken_stream", "error_event", "cut", "bad_json")
_REQUEST_FAULTS = (*_ERRORS, *_BREAKS)
_RESULT_FAULTS = ("batch_errored", "batch_expired", "bad_json")
_BATCHES = "/v1/messages/batches"
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_REQUESTS = 100_000
_KEY_HEADERS = (b"\r\nx-api-key:", b"\r\nauthorization:")


@dataclass(frozen=True)
class Behaviour:
    """How requests are answered.

    Attributes
    ----------
    latency : milliseconds before an answer, or `lognormal:MEDIAN_MS:SIGMA`; errors come at once
    faults : shares of requests by status, or by what breaks: `disconnect` (closed without an
        answer), `hang` (never answered), `broken_stream` (a stream that ends properly, but
        before `message_stop`), `error_event` (an error inside a stream), `cut` (the connection
        is closed in the middle of the answer), `bad_json` (the JSON of a structured output ends
        in the middle). What is for streams or structured outputs leaves other requests whole.
        A status, `disconnect`, `hang` and `cut` befall the calls of the batches as well, of which
        `cut` does what was asked. Of the results of a batch: `batch_errored`, `bad_json`, and
        `batch_expired`, which befalls a request the first time only
    retry_after : seconds in the header of a 429; None for no header
    seed : with the request and its attempt, decides on faults; with the request, on the latency
    rules : the first whose `contains` stands in the request's text decides: `text`, `tool`
        (`name`, `input`; not after tool results), `stop_reason`; or `fault`, which may have an
        `error` with further fields and `attempts`, after which a request is answered. The text of
        a call of the batches is method and path. In a batch, a status makes the result `errored`,
        and `line` is what stands in place of the result, with `CUSTOM_ID` filled in
    batch_seconds : how long a batch takes; those under way take that long as well
    results_url : what batches say of where their results are, if not the truth
    """

    latency: str | float = 0
    faults: dict[str, float] = field(default_factory=dict)
    retry_after: float | None = 0.1
    seed: int = 0
    rules: list[Json] = field(default_factory=list)
    batch_seconds: float = 0
    results_url: str | None = None

    def __post_init__(self) -> None:
        _median_and_sigma(self.latency)
        asked = [*self.faults, *(rule["fault"] for rule in self.rules if "fault" in rule)]
        known = list(dict.fromkeys([*_REQUEST_FAULTS, *_RESULT_FAULTS]))
        unknown = sorted(set(asked) - set(known))
        if unknown:
            raise ValueError(f"faults must be of {known}. Got {unknown}.")

    def seconds(self, key: str) -> float:
        """Return how long the answer to a request takes."""
        median_ms, sigma = _median_and_sigma(self.latency)
        if not sigma:
            return median_ms / 1000
        normal = NormalDist().inv_cdf(_draw(self.seed, key, "latency"))
        return median_ms / 1000 * exp(sigma * normal)

    def fault(self, key: str, attempt: int, kinds: Sequence[str] = _REQUEST_FAULTS) -> str | None:
        """Return what befalls an attempt of a request by the shares, of some kinds of faults."""
        if not self.faults:
            return None
        drawn, reached = _draw(self.seed, key, attempt), 0.0
        for name, share in self.faults.items():
            if name not in kinds:
                continue
            reached += share
            if drawn < reached:
                return name
        return None

    def rule(self, request: Json) -> Json:
        """Return the rule for a request, an empty one where none applies."""
        if not self.rules:
            return {}
        text = "\n".join([_text(request.get("system")), *map(_text, _contents(request))])
        results = _has_results(request)
        return next((rule for rule in self._matching(text) if not (results and "tool" in rule)), {})

    def call_rule(self, call: str) -> Json:
        """Return the rule for a call of the batches, such as "POST /v1/messages/batches"."""
        return next(self._matching(call), {})

    def _matching(self, text: str) -> Iterator[Json]:
        return (rule for rule in self.rules if rule["contains"] in text)


@dataclass
class Stats:
    """What was asked and answered; an answer counts also where nobody waits for it any more."""

    requests: int = 0
    in_flight: int = 0
    in_flight_max: int = 0
    answered: int = 0
    abandoned: int = 0
    batches: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    answers: list[str] = field(default_factory=list)

    def as_json(self) -> Json:
        """Return the counts."""
        counts = {name: value for name, value in vars(self).items() if name != "answers"}
        distinct = len(set(self.answers))
        return counts | {
            "by_status": dict(self.by_status),
            "distinct_answered": distinct,
            "repeated_answers": len(self.answers) - distinct,
        }


class StandIn:
    """The stand-in on a thread of its own, as long as the `with` block lasts."""

    def __init__(self, *, port: int = 0, **behaviour: Any) -> None:
        self._port = port
        self._api = _Api(Behaviour(**behaviour))
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="standin", daemon=True)
        self.url = ""

    def __enter__(self) -> StandIn:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    @property
    def behaviour(self) -> Behaviour:
        """How requests are answered now."""
        return self._api.behaviour

    def set(self, **changes: Any) -> None:
        """Change how requests are answered."""
        self._api.behaviour = replace(self._api.behaviour, **changes)

    def stats(self) -> Json:
        """Return the counts so far."""
        return self._api.stats.as_json()

    def answered(self) -> list[str]:
        """Return the hash of each answered request, in order."""
        return list(self._api.stats.answers)

    def requests(self) -> list[Json]:
        """Return the bodies of the last requests, at most 1,000."""
        return list(self._api.bodies)

    def reset(self) -> None:
        """Forget what was asked, attempts included."""
        self._api.reset()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        async with await serve(self._api, self._port) as server:
            self.url = _url(server)
            self._ready.set()
            await self._stopped.wait()
            self._api.hang_up()


async def serve(api: _Api, port: int) -> asyncio.Server:
    """Listen on the loopback interface."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: _Connection(api), "127.0.0.1", port, backlog=1024)


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive: one request after another."""

    def __init__(self, api: _Api) -> None:
        self._api = api
        self._buffer = bytearray()
        self._busy = False
        self.hangs = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._api.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio names it
        self._api.lost(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def finish(self, data: bytes, *, close: bool = False) -> None:
        """Write an answer, and go on with the next request or close."""
        if self.transport.is_closing():
            return
        self.transport.write(data)
        if close:
            self.transport.close()
            return
        self._busy = False
        if self._buffer:
            self._next()

    def _next(self) -> None:
        end_of_head = self._buffer.find(b"\r\n\r\n")
        if self._busy or end_of_head < 0:
            return
        head = bytes(self._buffer[:end_of_head]).lower()
        start = end_of_head + 4
        end = start + _content_length(head)
        if len(self._buffer) < end:
            return
        body = bytes(self._buffer[start:end])
        del self._buffer[:end]
        self._busy = True
        self._api.handle(self, head, body)


class _Api:
    """What stands behind the connections."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.connections: set[_Connection] = set()
        self.reset()

    def reset(self) -> None:
        self.stats = Stats()
        self.attempts: Counter[str] = Counter()
        self.bodies: deque[Json] = deque(maxlen=1000)
        self.batches: dict[str, _Batch] = {}

    def handle(self, connection: _Connection, head: bytes, body: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        path = target.partition(b"?")[0]
        if (method, path) == (b"post", b"/v1/messages"):
            self._message(connection, head, body)
        elif (method, path) == (b"post", b"/v1/messages/count_tokens"):
            connection.finish(_counted(body))
        elif path.decode().startswith(_BATCHES):
            self._batch_call(connection, head, body)
        else:
            connection.finish(self._control(method, path, body))

    def lost(self, connection: _Connection) -> None:
        self.connections.discard(connection)
        if connection.hangs:
            self.stats.in_flight -= 1

    def hang_up(self) -> None:
        for connection in list(self.connections):
            connection.transport.abort()

    def _message(self, connection: _Connection, head: bytes, body: bytes) -> None:
        self.stats.requests += 1
        if self._lacks_key(connection, head):
            return
        request, problem = _read_request(body)
        if problem:
            self._fail(connection, "400", {"message": problem})
            return
        self.bodies.append(request)
        key = _key(request)
        self.attempts[key] += 1
        rule = self.behaviour.rule(request)
        fault = _fault_of(rule, self.attempts[key]) or self.behaviour.fault(key, self.attempts[key])
        if fault in _ERRORS:
            self._fail(connection, fault, rule.get("error", {}))
        elif fault == "disconnect":
            self.stats.by_status[fault] += 1
            connection.transport.abort()
        else:
            self._reply(connection, key, request, rule, fault)

    def _lacks_key(self, connection: _Connection, head: bytes) -> bool:
        """Refuse a request without a key."""
        if any(name in head for name in _KEY_HEADERS):
            return False
        self._fail(connection, "401", {"message": "x-api-key header is required"})
        return True

    def _batch_call(self, connection: _Connection, head: bytes, body: bytes) -> None:
        if self._lacks_key(connection, head):
            return
        method, target, _ = head.decode().split(" ", 2)
        path, _, query = target.partition("?")
        call = f"{method.upper()} {path}"
        self.attempts[call] += 1
        rule, attempt = self.behaviour.call_rule(call), self.attempts[call]
        fault = _fault_of(rule, attempt) or self.behaviour.fault(call, attempt)
        if fault in _ERRORS:
            self._fail(connection, fault, rule.get("error", {}))
        elif fault == "disconnect":
            connection.transport.abort()
        elif fault != "hang":
            answer = self._batch_answer(method, path.removeprefix(_BATCHES), query, head, body)
            if isinstance(answer, str):
                self._fail(connection, "400", {"message": answer})
            elif answer is None:
                self._fail(connection, "404", {"message": "there is no such batch"})
            elif fault == "cut":
                connection.finish(_response("200", answer)[:-20], close=True)
            else:
                connection.finish(_response("200", answer))

    def _batch_answer(
        self, method: str, name: str, query: str, head: bytes, body: bytes
    ) -> bytes | str | None:
        """Return the answer to a call; text of a problem, None where there is nothing."""
        url = f"http://{_host(head)}{_BATCHES}"
        if (method, name) == ("post", ""):
            return self._create(body, url)
        if (method, name) == ("get", ""):
            newest = list(self.batches.values())[::-1]
            return _dumps(_page([batch.as_json(url, self.behaviour) for batch in newest], query))
        batch = self.batches.get(name.split("/")[1])
        if method != "get" or batch is None:
            return None
        match name.split("/")[2:]:
            case []:
                return _dumps(batch.as_json(url, self.behaviour))
            case ["results"] if batch.ended_at(self.behaviour) is not None:
                return "".join(f"{line}\n" for line in batch.lines).encode()
        return None

    def _create(self, body: bytes, url: str) -> bytes | str:
        requests = _read_batch(body)
        if isinstance(requests, str):
            return requests
        lines = [self._line(entry["custom_id"], entry["params"]) for entry in requests]
        batch_id = f"msgbatch_{len(self.batches) + 1:08}"
        random.Random(f"{self.behaviour.seed}:{batch_id}").shuffle(lines)
        batch = self.batches[batch_id] = _Batch(batch_id, lines)
        self.stats.batches += 1
        return _dumps(batch.as_json(url, self.behaviour))

    def _line(self, custom_id: str, params: Json) -> str:
        """Return the line of a request's result."""
        problem = _problem(params)
        if problem:
            result = _errored("400", {"message": problem})
            return json.dumps({"custom_id": custom_id, "result": result})
        key = _key(params)
        self.attempts[key] += 1
        self.bodies.append(params)
        rule = self.behaviour.rule(params)
        if "line" in rule:
            return str(rule["line"]).replace("CUSTOM_ID", custom_id)
        result = self._result(key, params, rule)
        return json.dumps({"custom_id": custom_id, "result": result})

    def _result(self, key: str, request: Json, rule: Json) -> Json:
        attempt = self.attempts[key]
        fault = _fault_of(rule, attempt)
        if fault is None:
            fault = self.behaviour.fault(key, attempt, _RESULT_FAULTS)
            fault = None if fault == "batch_expired" and attempt > 1 else fault
        if fault in _ERRORS:
            return _errored(fault, rule.get("error", {}))
        if fault == "batch_errored":
            return _errored("500", rule.get("error", {}))
        if fault == "batch_expired":
            return {"type": "expired"}
        message = _reply_to(request, key, rule, broken=fault == "bad_json")
        message["usage"]["service_tier"] = "batch"
        self.stats.answered += 1
        self.stats.answers.append(key)
        return {"type": "succeeded", "message": message}

    def _fail(self, connection: _Connection, status: str, further: Json) -> None:
        self.stats.by_status[status] += 1
        error = {"type": _ERRORS[status], "message": "on demand"} | further
        wait = self.behaviour.retry_after if status == "429" else None
        header = "" if wait is None else f"retry-after: {wait:g}\r\n"
        connection.finish(_response(status, _dumps({"type": "error", "error": error}), header))

    def _reply(
        self, connection: _Connection, key: str, request: Json, rule: Json, fault: str | None
    ) -> None:
        self.stats.in_flight += 1
        self.stats.in_flight_max = max(self.stats.in_flight_max, self.stats.in_flight)
        if fault == "hang":
            self.stats.by_status[fault] += 1
            connection.hangs = True
            return
        message = _reply_to(request, key, rule, broken=fault == "bad_json")
        fault = None if fault == "bad_json" else fault
        data, outcome = _as_response(message, fault, stream=bool(request.get("stream")))
        seconds = self.behaviour.seconds(key)
        if seconds:
            loop = asyncio.get_running_loop()
            loop.call_later(seconds, self._answer, connection, key, data, outcome)
        else:
            self._answer(connection, key, data, outcome)

    def _answer(self, connection: _Connection, key: str, data: bytes, outcome: str) -> None:
        self.stats.in_flight -= 1
        self.stats.by_status[outcome] += 1
        self.stats.abandoned += connection.transport.is_closing()
        if outcome == "200":
            self.stats.answered += 1
            self.stats.answers.append(key)
        connection.finish(data, close=outcome == "cut")

    def _control(self, method: bytes, path: bytes, body: bytes) -> bytes:
        match method, path:
            case b"get", b"/stats":
                return _response("200", _dumps(self.stats.as_json()))
            case b"get", b"/answered":
                return _response("200", _dumps(self.stats.answers))
            case b"post", b"/reset":
                self.reset()
                return _response("200", b"{}")
            case b"post", b"/behaviour":
                return self._change(body)
        error = {"type": "not_found_error", "message": "there is nothing here"}
        return _response("404", _dumps({"type": "error", "error": error}))

    def _change(self, body: bytes) -> bytes:
        try:
            self.behaviour = replace(self.behaviour, **json.loads(body))
        except (TypeError, ValueError) as error:
            known = [item.name for item in fields(Behaviour)]
            return _response("400", _dumps({"error": f"{error}; known: {known}"}))
        return _response("200", _dumps(asdict(self.behaviour)))


@dataclass
class _Batch:
    """A batch whose results are there from the beginning, and shown at its end."""

    id: str
    lines: list[str]
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    def ended_at(self, behaviour: Behaviour) -> datetime | None:
        """Return when it ended, None while it has not."""
        end = self.created + timedelta(seconds=behaviour.batch_seconds)
        return end if datetime.now(UTC) >= end else None

    def as_json(self, url: str, behaviour: Behaviour) -> Json:
        """Return what the API says of it, at an address of batches."""
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        ended_at = self.ended_at(behaviour)
        if ended_at is None:
            counts["processing"] = len(self.lines)
        else:
            counts.update(Counter(_kind_of(line) for line in self.lines))
        results_url = behaviour.results_url or f"{url}/{self.id}/results"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "ended" if ended_at else "in_progress",
            "request_counts": counts,
            "created_at": self.created.isoformat(),
            "expires_at": (self.created + timedelta(hours=24)).isoformat(),
            "ended_at": ended_at.isoformat() if ended_at else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": results_url if ended_at else None,
        }


def _kind_of(line: str) -> str:
    """Return how a result counts; what a rule made unreadable counts as succeeded."""
    try:
        return str(json.loads(line)["result"]["type"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return "succeeded"


def _page(batches: list[Json], query: str) -> Json:
    """Return the part of a list that a query asks for."""
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    ids = [batch["id"] for batch in batches]
    start = ids.index(asked["after_id"]) + 1 if asked.get("after_id") in ids else 0
    end = start + int(asked.get("limit", 20))
    shown = batches[start:end]
    return {
        "data": shown,
        "has_more": end < len(batches),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


def _errored(status: str, further: Json) -> Json:
    error = {"type": _ERRORS[status], "message": "on demand"} | further
    return {"type": "errored", "error": {"type": "error", "error": error}}


def _host(head: bytes) -> str:
    return head.partition(b"\r\nhost:")[2].partition(b"\r\n")[0].decode().strip()


def _median_and_sigma(latency: str | float) -> tuple[float, float]:
    text = str(latency)
    if not text.startswith("lognormal:"):
        return float(text), 0.0
    _, median_ms, sigma = text.split(":")
    return float(median_ms), float(sigma)


def _draw(seed: int, *parts: object) -> float:
    """Return a number above 0 and below 1 that follows from its arguments."""
    text = ":".join(map(str, (seed, *parts)))
    number = int.from_bytes(blake2b(text.encode(), digest_size=6).digest())
    return (number + 0.5) / 2**48


def _content_length(head: bytes) -> int:
    _, found, rest = head.partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


def _read_request(body: bytes) -> tuple[Json, str | None]:
    """Return a request, and what the API would not take about it."""
    try:
        request = json.loads(body)
    except ValueError:
        return {}, "the body is not JSON"
    if not isinstance(request, dict):
        return {}, "the body is no object"
    return request, _problem(request)


def _problem(request: Json) -> str | None:
    for name in ("model", "max_tokens", "messages"):
        if not request.get(name):
            return f"{name}: Field required"
    for message in request["messages"]:
        if message.get("role") not in ("user", "assistant", "system"):
            return "messages.role: Input should be 'user' or 'assistant'"
    return None


def _read_batch(body: bytes) -> list[Json] | str:
    """Return the requests of a batch, or what the API would not take about it."""
    try:
        requests = json.loads(body)["requests"]
    except (ValueError, LookupError, TypeError):
        return "requests: Field required"
    if not isinstance(requests, list) or not 1 <= len(requests) <= _MOST_REQUESTS:
        return f"requests: List should have 1 to {_MOST_REQUESTS} items"
    custom_ids = [request.get("custom_id") for request in requests]
    for number, request in enumerate(requests):
        custom_id, params = custom_ids[number], request.get("params")
        if not isinstance(custom_id, str) or not _CUSTOM_ID.fullmatch(custom_id):
            return f"requests.{number}.custom_id: String should match pattern"
        if not isinstance(params, dict):
            return f"requests.{number}.params: Field required"
        if "stream" in params:
            return f"requests.{number}.params.stream: Extra inputs are not permitted"
    if len(set(custom_ids)) < len(custom_ids):
        return "requests: custom_id must be unique"
    return requests


def _key(request: Json) -> str:
    """Return what tells a request from others, however it was written and streamed or not."""
    asked = {name: value for name, value in request.items() if name != "stream"}
    text = json.dumps(asked, sort_keys=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _contents(request: Json) -> list[Any]:
    return [message["content"] for message in request["messages"]]


def _text(content: Any) -> str:
    """Return the text of a content, whatever its blocks."""
    if isinstance(content, str):
        return content
    parts = [block.get("text") or block.get("content") for block in content or []]
    return "\n".join(part if isinstance(part, str) else _text(part) for part in parts)


def _has_results(request: Json) -> bool:
    last = request["messages"][-1]["content"]
    return isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)


def _fault_of(rule: Json, attempt: int) -> str | None:
    return rule.get("fault") if attempt <= rule.get("attempts", attempt) else None


def _counted(body: bytes) -> bytes:
    """Answer how many tokens a request has."""
    try:
        request = json.loads(body)
        return _response("200", _dumps({"input_tokens": _input_tokens(request)}))
    except (ValueError, KeyError, TypeError):
        return _response("400", _dumps({"type": "error", "error": {"type": _ERRORS["400"]}}))


def _input_tokens(request: Json) -> int:
    parts = [request.get("system"), *_contents(request)]
    return sum(len(_text(content)) for content in parts) // 4 + 1


def _schema(request: Json) -> Json | None:
    form = (request.get("output_config") or {}).get("format") or {}
    return form.get("schema") if form.get("type") == "json_schema" else None


def _fitting(schema: Json, words: list[str], key: str, path: str = "") -> Any:
    """Return a value that fits a schema; what is free in it is drawn from the request."""
    drawn = _draw(0, key, "schema", path)
    if "enum" in schema:
        return schema["enum"][int(drawn * len(schema["enum"]))]
    match schema.get("type"):
        case "object":
            return {
                name: _fitting(part, words, key, f"{path}.{name}")
                for name, part in schema["properties"].items()
            }
        case "array":
            return [
                _fitting(schema["items"], words, key, f"{path}[{number}]")
                for number in range(int(3 * drawn))
            ]
        case _:
            return " ".join(words[: 1 + int(5 * drawn)])


def _reply_to(request: Json, key: str, rule: Json, *, broken: bool = False) -> Json:
    schema = _schema(request)
    if schema is not None and not {"text", "tool"} & rule.keys():
        written = json.dumps(_fitting(schema, _words(request, key), key))
        words = [written[: len(written) // 2] if broken else written]
    elif "text" in rule:
        words = [rule["text"]] if rule["text"] else []
    else:
        words = [] if "tool" in rule else _words(request, key)
    cut = len(words) > request["max_tokens"]
    text = " ".join(words[: request["max_tokens"]])
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    stop_reason = "max_tokens" if cut else "end_turn"
    if "tool" in rule:
        blocks.append({"type": "tool_use", "id": f"toolu_{key}", **rule["tool"]})
        stop_reason = "tool_use"
    return {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": blocks,
        "stop_reason": rule.get("stop_reason", stop_reason),
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": _input_tokens(request),
            "output_tokens": len(text) // 4 + 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _words(request: Json, key: str) -> list[str]:
    """Return a window of the question's own words, drawn from the request."""
    words = _text(request["messages"][-1]["content"]).split() or ["Yes."]
    width = min(_REPLY_WORDS, max(1, round(_REPLY_SHARE * len(words))))
    start = int(_draw(0, key, "words") * (len(words) - width + 1))
    return words[start : start + width]


def _as_response(message: Json, fault: str | None, *, stream: bool) -> tuple[bytes, str]:
    """Return an answer's bytes, and what it counts as: a status or what is broken about it."""
    if not stream:
        data = _response("200", _dumps(message))
        return (data[:-20], "cut") if fault == "cut" else (data, "200")
    events = _events(message)
    if fault == "error_event":
        error = {"type": "overloaded_error", "message": "on demand"}
        events = [*events[: len(events) // 2], {"type": "error", "error": error}]
    elif fault in ("broken_stream", "cut"):
        events = events[: len(events) // 2]
    chunks = b"".join(map(_chunk, events)) + (b"" if fault == "cut" else b"0\r\n\r\n")
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return head + chunks, fault or "200"


def _events(message: Json) -> list[Json]:
    start = {**message, "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    end = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    events.append({"type": "message_delta", "delta": end, "usage": message["usage"]})
    return [*events, {"type": "message_stop"}]


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    if block["type"] == "text":
        pieces = _pieces(block["text"], 40)
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
    pieces = _pieces(json.dumps(block["input"]), 20)
    deltas: list[Json] = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return {**block, "input": {}}, deltas


def _pieces(text: str, width: int) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]


def _chunk(event: Json) -> bytes:
    data = b"event: %b\ndata: %b\n\n" % (event["type"].encode(), _dumps(event))
    return b"%x\r\n%b\r\n" % (len(data), data)


def _response(status: str, body: bytes, header: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nrequest-id: req_standin\r\n{header}\r\n"
    )
    return head.encode() + body


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _url(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _main(port: int, behaviour: Behaviour) -> None:
    async with await serve(_Api(behaviour), port) as server:
        print(_url(server), flush=True)
        await server.serve_forever()


def main() -> None:
    """Run as a process until it is ended."""
    parser = argparse.ArgumentParser(description="A stand-in of the Messages API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", default="0", help="milliseconds, or lognormal:MEDIAN:SIGMA")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=SHARE")
    parser.add_argument("--retry-after", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-seconds", type=float, default=0.0)
    given = parser.parse_args()
    faults = {name: float(share) for name, share in (pair.split("=") for pair in given.fault)}
    behaviour = Behaviour(
        given.latency,
        faults,
        given.retry_after,
        given.seed,
        batch_seconds=given.batch_seconds,
    )
    asyncio.run(_main(given.port, behaviour))


if __name__ == "__main__":
    main()
