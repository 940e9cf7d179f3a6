"""Running a system over a golden set.

The work runs on an event loop of our own in a thread of our own, so that a notebook's loop is
neither needed nor touched, and an interrupt stops it at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anthropic
import anyio
import anyio.from_thread
import anyio.to_thread

from evalnb.cassettes import BINDING_HEADER, Binding, Cassettes, Exchange, Mode, bind
from evalnb.clients import REPLAY_KEY, async_client, sync_client, upstream_of
from evalnb.errors import EvalnbError, InputError
from evalnb.frames import OUTPUTS, NaReason
from evalnb.jsontext import writable_text
from evalnb.prices import response_cost_usd
from evalnb.systems import STEP_LIMIT, CallableSystem, Output
from evalnb.transport import CassetteFault, Upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.systems import System

__all__ = ["Progress", "run", "run_async", "run_sync"]

T = TypeVar("T")
Progress = Literal["auto", "log", "none"]

# Errors that every case would meet: the run stops at once.
_FATAL = (
    anthropic.AuthenticationError,
    anthropic.PermissionDeniedError,
    anthropic.NotFoundError,
)
_COMPLETE = frozenset(
    {
        "end_turn",
        "stop_sequence",
        "tool_use",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        STEP_LIMIT,
    }
)

# Ends at which an answer without text and without a tool call is an outcome of the system.
_WITHOUT_ANSWER = frozenset({"refusal", STEP_LIMIT})


def run_sync(function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Await a coroutine function from synchronous code, in a script and in a notebook alike.

    An interrupt cancels it and is raised here, as soon as the loop is free to do so.
    """
    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(function, *arguments)


def run(
    golden: GoldenSet,
    system: System,
    *,
    mode: Mode = "replay",
    repeats: int = 1,
    concurrency: int = 8,
    progress: Progress = "auto",
    cassettes: Cassettes | None = None,
    upstream: Upstream | Literal["auto"] | None = "auto",
    run_id: str | None = None,
) -> pd.DataFrame:
    """Let a system answer every case.

    Parameters
    ----------
    golden : the cases
    system : what answers
    mode : `replay` from the suite's cassettes, `record` what they lack, or `live`
    repeats : how often each case is answered
    concurrency : how many answers are under way at once
    progress : `auto` for a bar (lines in CI), `log` for lines, `none`
    cassettes : other cassettes than the suite's own; they bring their own mode
    upstream : where to ask what is not recorded; None is Anthropic's API, `auto` the local model
        where the system names it, else Anthropic's API
    run_id : stands in every row

    Returns
    -------
    an outputs frame: a row for every case and repeat, failed or not, in the order of `golden`

    Raises
    ------
    InputError
        If the run cannot go on for any case: no credentials, a model that is not there, a
        damaged cassette, a case that does not fit the system.
    """
    return run_sync(
        partial(
            run_async,
            golden,
            system,
            mode=mode,
            repeats=repeats,
            concurrency=concurrency,
            progress=progress,
            cassettes=cassettes,
            upstream=upstream,
            run_id=run_id,
        )
    )


async def run_async(
    golden: GoldenSet,
    system: System,
    *,
    mode: Mode = "replay",
    repeats: int = 1,
    concurrency: int = 8,
    progress: Progress = "auto",
    cassettes: Cassettes | None = None,
    upstream: Upstream | Literal["auto"] | None = "auto",
    run_id: str | None = None,
) -> pd.DataFrame:
    """Let a system answer every case, for those who have an event loop; see `run`."""
    if repeats < 1 or concurrency < 1:
        raise ValueError(
            f"repeats and concurrency must be at least 1. Got {repeats} and {concurrency}."
        )
    if cassettes is None:
        if golden.folder is None:
            raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
        cassettes = Cassettes(golden.folder / "cassettes", mode)
    if upstream == "auto":
        upstream = None if cassettes.mode == "replay" else upstream_of(system)
    if upstream is not None and upstream.max_concurrency is not None:
        concurrency = min(concurrency, upstream.max_concurrency)
    plan = [(case, repeat) for case in golden for repeat in range(1, repeats + 1)]
    rows: list[dict[str, Any] | None] = [None] * len(plan)
    fatal: list[EvalnbError] = []
    shared = {"run_id": run_id, "system": system.name, "mode": cassettes.mode}

    async with async_client(cassettes, upstream) as client:
        limiter = anyio.CapacityLimiter(concurrency)
        clients = _Clients(client, cassettes, upstream, anyio.CapacityLimiter(concurrency))
        with closing(clients), _bar(len(plan), progress) as advance:
            async with anyio.create_task_group() as group:

                async def answer(position: int, case: Case, repeat: int) -> None:
                    async with limiter:
                        try:
                            rows[position] = shared | await _row(system, case, repeat, clients)
                        except EvalnbError as error:
                            fatal.append(error)
                            group.cancel_scope.cancel()
                        advance()

                for position, (case, repeat) in enumerate(plan):
                    group.start_soon(answer, position, case, repeat)
    if cassettes.faults:
        raise cassettes.faults[0]
    if fatal:
        raise fatal[0]
    missing = sum(row is None for row in rows)
    if missing:
        raise EvalnbError(f"{missing} of {len(plan)} answers are unaccounted for")
    return OUTPUTS.build(row for row in rows if row is not None)


@dataclass
class _Clients:
    """The clients of one run; the synchronous one is made when it is first needed."""

    asynchronous: anthropic.AsyncAnthropic
    cassettes: Cassettes
    upstream: Upstream | None
    threads: anyio.CapacityLimiter
    _synchronous: anthropic.Anthropic | None = None

    @property
    def synchronous(self) -> anthropic.Anthropic:
        if self._synchronous is None:
            self._synchronous = sync_client(self.cassettes, self.upstream)
        return self._synchronous

    def redacted(self, error: BaseException) -> str:
        """Return what an error says, without the credentials that it may repeat."""
        text = writable_text(f"{type(error).__name__}: {error}")
        for secret in (self.asynchronous.api_key, self.asynchronous.auth_token):
            if secret and secret != REPLAY_KEY:
                text = text.replace(secret, "[credentials]")
        return text

    def close(self) -> None:
        """Close the synchronous client where there is one."""
        if self._synchronous is not None:
            self._synchronous.close()


async def _row(system: System, case: Case, repeat: int, clients: _Clients) -> dict[str, Any]:
    """Answer one case once; whatever happens to it alone becomes its row."""
    with bind(case.id, repeat) as binding:
        given: dict[str, Any] = {}
        failure: tuple[NaReason, str] | None = None
        try:
            given = _writable(await _answer(system, case, clients, binding))
        except _FATAL as error:
            raise InputError(f"the run stopped at case {case.id}: {error}") from error
        except (InputError, CassetteFault):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # it is the run that is stopped
                raise
            failure = (NaReason.SYSTEM_ERROR, clients.redacted(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a failure is a row with a reason
            failure = (_na_reason(error), clients.redacted(error))
    row = {"case_id": case.id, "repeat": repeat, **_usage(binding)}
    if binding.misses:
        # What the application made of it does not count: it was answered by nobody.
        return row | {"na_reason": NaReason.MISS, "error": _misses_text(binding)}
    if binding.incomplete:
        broken = failure[1] if failure else "a response broke off or could not be read"
        return row | {"na_reason": NaReason.INCOMPLETE, "error": broken}
    if failure is not None:
        return row | {"na_reason": failure[0], "error": failure[1]}
    stop_reason = given["stop_reason"] or row.get("stop_reason")
    return {
        **row,
        **given,
        "output_hash": _output_hash(given),
        "stop_reason": stop_reason,
        "na_reason": _unusable(given, stop_reason),
    }


def _writable(answer: Output | str) -> dict[str, Any]:
    """Return what a system gave as plain JSON values that can be written.

    Half surrogate pairs, which no file can hold, become a question mark.

    Raises
    ------
    TypeError
        If it is neither text nor an `Output`, or holds what JSON cannot.
    ValueError
        If it holds NaN or Infinity.
    """
    output = Output(answer) if isinstance(answer, str) else answer
    if not isinstance(output, Output) or not isinstance(output.text, (str, NoneType)):
        raise TypeError(f"a system must return an Output or text. Got {type(answer).__name__}.")
    content = {
        "text": output.text,
        "tool_calls": [asdict(call) for call in output.tool_calls],
        "messages": list(output.messages),
        "stop_reason": output.stop_reason,
    }
    written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    plain: dict[str, Any] = json.loads(written.encode("utf-8", "replace"))
    return plain


async def _answer(system: System, case: Case, clients: _Clients, binding: Binding) -> Output | str:
    # The client says whose it is, since not every thread inherits a context variable.
    headers = {BINDING_HEADER: binding.token}
    if isinstance(system, CallableSystem) and not system.is_async:
        client = clients.synchronous.with_options(default_headers=headers)
        function: Any = partial(system.function, case, client)
        return await anyio.to_thread.run_sync(
            function, abandon_on_cancel=True, limiter=clients.threads
        )
    return await system.answer(case, clients.asynchronous.with_options(default_headers=headers))


def _usage(binding: Binding) -> dict[str, Any]:
    """Sum up what the API counted for a case and repeat."""
    messages = [
        entry for entry in binding.exchanges if isinstance(entry.response.get("usage"), dict)
    ]
    if not messages:
        return {}
    latencies = [entry.latency_ms for entry in messages if entry.latency_ms is not None]
    costs = [response_cost_usd(entry.response) for entry in messages]
    last = messages[-1].response
    return {
        "model": last.get("model") if isinstance(last.get("model"), str) else None,
        "stop_reason": last.get("stop_reason"),
        "input_tokens": _total(messages, "input_tokens"),
        "output_tokens": _total(messages, "output_tokens"),
        "cache_read_tokens": _total(messages, "cache_read_input_tokens"),
        "cache_write_tokens": _total(messages, "cache_creation_input_tokens"),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        "latency_ms": sum(latencies) if latencies else None,
        "request_keys": [entry.key for entry in binding.exchanges],
    }


def _total(messages: Sequence[Exchange], name: str) -> int | None:
    """Return a sum of counts, None where one of them is no count."""
    counts = [entry.response["usage"].get(name) or 0 for entry in messages]
    return sum(counts) if all(type(count) is int for count in counts) else None


def _na_reason(error: BaseException) -> NaReason:
    match error:
        case anthropic.BadRequestError():
            return NaReason.BAD_REQUEST
        case anthropic.APIError():
            return NaReason.SERVER
        case _:
            return NaReason.SYSTEM_ERROR


def _unusable(given: Mapping[str, Any], stop_reason: str | None) -> NaReason | None:
    """Say why an answer cannot be scored, None where it can."""
    if stop_reason is not None and stop_reason not in _COMPLETE:
        return NaReason.UNKNOWN_STOP
    if not given["text"] and not given["tool_calls"] and stop_reason not in _WITHOUT_ANSWER:
        return NaReason.EMPTY
    return None


def _misses_text(binding: Binding) -> str:
    slots = [f"{miss.kind} {miss.slot.key}" for miss in binding.misses]
    return f"not recorded: {', '.join(dict.fromkeys(slots))}"


def _output_hash(given: Mapping[str, Any]) -> str:
    content = json.dumps([given["text"], given["tool_calls"]], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@contextmanager
def _bar(total: int, progress: Progress) -> Iterator[Callable[[], Any]]:
    """Show how far a run is; yields what to call after each answer."""
    if progress not in ("auto", "log", "none"):
        raise ValueError(f"progress must be auto, log or none. Got {progress!r}.")
    if progress == "none":
        yield lambda: None
        return
    lines = progress == "log" or bool(os.environ.get("CI"))
    if lines:
        from tqdm import tqdm as bar
    else:
        from tqdm.auto import tqdm as bar
    interval = 30.0 if lines else 0.1
    with bar(total=total, desc="answers", unit="case", mininterval=interval) as shown:
        yield shown.update
