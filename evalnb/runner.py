"""Running a system over a golden set.

The work runs on an event loop of our own in a thread of our own, so that a notebook's loop is
neither needed nor touched, and an interrupt stops it at once.
"""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import anyio
import anyio.from_thread

from evalnb.access import ReplayAccess
from evalnb.cassettes import Binding, Cassettes, Exchange, Mode, bind
from evalnb.control import RunControl
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.frames import OUTPUTS, NaReason
from evalnb.names import LOCAL_MODEL
from evalnb.pace import Pace
from evalnb.prices import response_cost_usd
from evalnb.systems import (
    STEP_LIMIT,
    DirectSystem,
    HttpSystem,
    Output,
    output_content,
    output_hash,
)
from evalnb.systems.playing import play

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.journal import Journal
    from evalnb.systems import System
    from evalnb.transport import Upstream

__all__ = [
    "Access",
    "Follower",
    "Progress",
    "model_access",
    "run",
    "run_async",
    "run_sync",
    "upstream_of",
]

T = TypeVar("T")
Progress = Literal["auto", "log", "none"]

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

_MOST = 2**53
"""More tokens than any response has."""
_FIRST_CASES = 5
"""Where none of so many first answers has a request that the API accepts, no other will."""


def run_sync(function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Await a coroutine function from synchronous code, in a script and in a notebook alike.

    An interrupt cancels it and is raised here, as soon as the loop is free to do so.
    """
    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(function, *arguments)


def run(
    golden: GoldenSet,
    system: System | DirectSystem,
    *,
    mode: Mode = "replay",
    repeats: int = 1,
    concurrency: int = 8,
    progress: Progress = "auto",
    cassettes: Cassettes | None = None,
    upstream: Upstream | Literal["auto"] | None = "auto",
    journal: Journal | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    run_id: str | None = None,
    follower: Follower | None = None,
) -> pd.DataFrame:
    """Let a system answer every case.

    Parameters
    ----------
    golden : the cases; `[live]` of their settings bounds the run where the arguments do not
    system : what answers
    mode : `replay` from the suite's cassettes, `record` what they lack, or `live`
    repeats : how often each case is answered
    concurrency : how many requests are under way at once
    progress : `auto` for a bar (lines in CI), `log` for lines, `none`
    cassettes : other cassettes than the suite's own; they bring their own mode
    upstream : where to ask what is not recorded; None is Anthropic's API, `auto` the local model
        where the system names it, else Anthropic's API
    journal : of a live run: where each response is kept, and what an earlier part of the run
        left is taken from
    max_minutes : after this nothing more is asked; what is left is NA `deadline`
    budget_usd : what the run may cost; what is left is NA `budget`
    run_id : stands in every row
    follower : is given each row as soon as it is there

    Returns
    -------
    an outputs frame: a row for every case and repeat, failed or not, in the order of `golden`

    Raises
    ------
    InputError
        If the run cannot go on for any case: no credentials, a model that is not there, a
        damaged cassette, a case that does not fit the system. What was done is in the journal.
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
            journal=journal,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
            run_id=run_id,
            follower=follower,
        )
    )


async def run_async(
    golden: GoldenSet,
    system: System | DirectSystem,
    *,
    mode: Mode = "replay",
    repeats: int = 1,
    concurrency: int = 8,
    progress: Progress = "auto",
    cassettes: Cassettes | None = None,
    upstream: Upstream | Literal["auto"] | None = "auto",
    journal: Journal | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
    run_id: str | None = None,
    follower: Follower | None = None,
) -> pd.DataFrame:
    """Let a system answer every case, for those who have an event loop; see `run`."""
    if repeats < 1 or concurrency < 1:
        raise ValueError(
            f"repeats and concurrency must be at least 1. Got {repeats} and {concurrency}."
        )
    if cassettes is None:
        if golden.folder is None:
            raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
        cassettes = Cassettes(golden.folder / "cassettes", mode, journal=journal)
    control = RunControl.of(
        golden.settings.live,
        asks=cassettes.mode != "replay",
        max_minutes=max_minutes,
        budget_usd=budget_usd,
        spent_usd=_spent_usd(journal),
    )
    pace = Pace()
    work = _Work(
        control,
        model_access(
            system,
            cassettes,
            upstream_of(system, cassettes) if upstream == "auto" else upstream,
            control=control,
            pace=pace,
            concurrency=concurrency,
        ),
        journal,
        {"run_id": run_id, "system": system.name, "mode": cassettes.mode},
        follower,
    )
    plan = [(case, repeat) for case in golden for repeat in range(1, repeats + 1)]
    async with aclosing(work.access), aclosing(follower) if follower else nullcontext():
        if follower is not None:
            follower.begin(cassettes, control, pace, concurrency)
        try:
            with _bar(len(plan), progress) as advance:
                await work.do(plan, advance)
        finally:
            control.end()
    if cassettes.faults:
        raise cassettes.faults[0]
    missing = len(plan) - len(work.rows)
    if missing:
        raise EvalnbError(f"{missing} of {len(plan)} answers are unaccounted for")
    return OUTPUTS.build(work.rows.pop(position) for position in range(len(plan)))


class Follower(Protocol):
    """What is done with each output beside the runner's own work, under the same bounds."""

    def begin(
        self, cassettes: Cassettes, control: RunControl, pace: Pace, concurrency: int
    ) -> None:
        """Make ready, within the event loop of the run."""

    async def follow(self, row: Mapping[str, Any]) -> None:
        """Take an output, a record of an outputs frame; many may be under way at once.

        It raises nothing: what every other output would meet stops the run by its control.
        """

    async def aclose(self) -> None:
        """End."""


class Access(Protocol):
    """How the runner asks: through the SDK, or in replay past it."""

    n_workers: int

    async def answer(self, case: Case) -> Output | str:
        """Let the system answer a case."""

    async def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a Messages API request, both as plain JSON values."""

    def failure(self, error: BaseException) -> tuple[NaReason, str]:
        """Say what an error means for a case."""

    async def aclose(self) -> None:
        """Close the connections."""


def upstream_of(asked: object, cassettes: Cassettes) -> Upstream | None:
    """Return where the model of a system or judge is to be asked for what is not recorded.

    None stands for Anthropic's API, and in replay for nowhere.
    """
    if cassettes.mode == "replay" or getattr(asked, "model", None) != LOCAL_MODEL:
        return None
    from evalnb.local import LocalTransport

    return LocalTransport()


def model_access(
    system: System | DirectSystem | None,
    cassettes: Cassettes,
    upstream: Upstream | None,
    *,
    control: RunControl,
    pace: Pace,
    concurrency: int,
    batches: Path | None = None,
) -> Access:
    """Return what a run asks through.

    Parameters
    ----------
    system : what answers; None where plain requests alone are made
    cassettes : where responses are taken from and stored
    upstream : where to ask for what they do not hold; None for Anthropic's API
    control : bounds of the run
    pace : how long to wait after a failure
    concurrency : how many requests are under way at once
    batches : where it is kept which request is in which batch; None to ask one by one
    """
    is_direct = system is None or isinstance(system, DirectSystem)
    if cassettes.mode == "replay" and is_direct:
        return ReplayAccess(system, cassettes)  # type: ignore[arg-type]
    from evalnb.clients import SdkAccess  # the SDK takes long to import

    replays = cassettes.mode == "replay"
    if upstream is not None and upstream.max_concurrency is not None:
        concurrency = min(concurrency, upstream.max_concurrency)
    return SdkAccess(
        system,
        cassettes,
        upstream,
        control=control,
        pace=pace,
        concurrency=concurrency,
        needs_key=upstream is None and not replays and not isinstance(system, HttpSystem),
        batches=batches,
    )


def _spent_usd(journal: Journal | None) -> float:
    if journal is None:
        return 0.0
    costs = (response_cost_usd(line["response"]) for line in journal.exchanges())
    return sum(cost for cost in costs if cost is not None)


@dataclass
class _Work:
    """The cases of one run, being answered."""

    control: RunControl
    access: Access
    journal: Journal | None
    shared: Mapping[str, Any]
    follower: Follower | None = None
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    n_refused: int = 0

    async def do(self, plan: Sequence[tuple[Case, int]], advance: Callable[[], Any]) -> None:
        """Answer every case and repeat of a plan, several at once.

        Raises
        ------
        InputError
            If every other case would meet the same.
        """
        todo = iter(enumerate(plan))
        self.control.start()
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            self.control.on_fatal = partial(loop.call_soon_threadsafe, group.cancel_scope.cancel)

            async def work() -> None:
                for position, (case, repeat) in todo:
                    await asyncio.sleep(0)  # lets an interrupt in, where nothing is waited for
                    row = {**self.shared, **await self._row(case, repeat)}
                    self.rows[position] = row
                    if self.follower is not None:
                        group.start_soon(self.follower.follow, row)
                    advance()

            for _ in range(min(len(plan), self.access.n_workers)):
                group.start_soon(work)
        if self.control.fatal is not None:
            raise self.control.fatal

    async def _row(self, case: Case, repeat: int) -> dict[str, Any]:
        """Return the row of a case and repeat; answer it where that is still to be done."""
        done = self.journal.output(case.id, repeat) if self.journal else None
        if done is not None:
            return done
        stopped = self.control.stopped()
        if stopped is not None:
            error = self.control.why(stopped)
            return {"case_id": case.id, "repeat": repeat, "na_reason": stopped, "error": error}
        with bind(case.id, repeat) as binding:
            try:
                row = await self._answered(case, repeat, binding)
                if self.journal is not None and self.control.fatal is None:
                    self.journal.put_output(row)
            except EvalnbError as error:
                self.control.stop(
                    error if isinstance(error, InputError) else InputError(str(error))
                )
                await anyio.sleep_forever()  # until the group is cancelled
            if self.control.fatal is not None:  # what came of it is no answer
                await anyio.sleep_forever()
            self._check_first(row)
        return row

    def _check_first(self, row: Mapping[str, Any]) -> None:
        """Stop a run whose requests are all wrong in the same way."""
        self.n_refused += row.get("na_reason") == NaReason.BAD_REQUEST
        n_done = len(self.rows) + 1
        if self.n_refused == n_done == _FIRST_CASES:
            self.control.stop(
                InputError(f"the API accepts none of the first {n_done} requests: {row['error']}")
            )

    async def _answered(self, case: Case, repeat: int, binding: Binding) -> dict[str, Any]:
        """Answer one case once; whatever happens to it alone becomes its row."""
        given: dict[str, Any] = {}
        failure: tuple[NaReason, str] | None = None
        try:
            with anyio.move_on_after(self.control.longest_s()) as scope:
                given = _writable(await play(case, self.access.answer))
            if scope.cancelled_caught:
                binding.stopped = NaReason.DEADLINE
                failure = (NaReason.DEADLINE, "the system came to no end")
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # it is the run that is stopped
                raise
            failure = self.access.failure(error)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                raise
            if isinstance(error, EvalnbError) and not isinstance(error, MissError):
                raise
            failure = self.access.failure(error)
        return _row_of(case, repeat, binding, given, failure)


def _row_of(
    case: Case,
    repeat: int,
    binding: Binding,
    given: Mapping[str, Any],
    failure: tuple[NaReason, str] | None,
) -> dict[str, Any]:
    row = {"case_id": case.id, "repeat": repeat, **_usage(binding)}
    error = failure[1] if failure else None
    if binding.misses:
        # What the application made of it does not count: it was answered by nobody.
        return row | {"na_reason": NaReason.MISS, "error": _misses_text(binding)}
    if binding.stopped is not None:
        return row | {"na_reason": binding.stopped, "error": error}
    if binding.failed is not None:
        # An apology for it is no answer of the system.
        return row | {"na_reason": binding.failed[0], "error": error or binding.failed[1]}
    if binding.incomplete:
        broken = error or "a response broke off or could not be read"
        return row | {"na_reason": NaReason.INCOMPLETE, "error": broken}
    if failure is not None:
        return row | {"na_reason": failure[0], "error": error}
    stop_reason = given["stop_reason"] or row.get("stop_reason")
    return {
        **row,
        **given,
        "output_hash": output_hash(given),
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
        **output_content(output),
        "messages": list(output.messages),
        "turns": [output_content(turn) for turn in output.turns] or None,
        "retrieved_ids": None if output.retrieved_ids is None else list(output.retrieved_ids),
    }
    if not isinstance(output.stop_reason, (str, NoneType)):
        raise TypeError(f"a stop reason must be text. Got {output.stop_reason!r}.")
    if not all(isinstance(name, str) for name in output.retrieved_ids or ()):
        raise TypeError("retrieved ids must be text")
    written = json.dumps(content, ensure_ascii=False, allow_nan=False)
    plain: dict[str, Any] = json.loads(written.encode("utf-8", "replace"))
    return plain


def _usage(binding: Binding) -> dict[str, Any]:
    """Sum up what the API counted for a case and repeat."""
    messages = [
        entry for entry in binding.exchanges if isinstance(entry.response.get("usage"), dict)
    ]
    if not binding.exchanges:
        return {}
    latencies = [entry.latency_ms for entry in binding.exchanges if entry.latency_ms is not None]
    asked = {
        "latency_ms": sum(latencies) if latencies else None,
        "request_keys": [entry.key for entry in binding.exchanges],
    }
    if not messages:
        return asked
    costs = [response_cost_usd(entry.response) for entry in messages]
    last = messages[-1].response
    return {
        "model": last.get("model") if isinstance(last.get("model"), str) else None,
        "stop_reason": last.get("stop_reason")
        if isinstance(last.get("stop_reason"), str)
        else None,
        "input_tokens": _total(messages, "input_tokens"),
        "output_tokens": _total(messages, "output_tokens"),
        "cache_read_tokens": _total(messages, "cache_read_input_tokens"),
        "cache_write_tokens": _total(messages, "cache_creation_input_tokens"),
        "cost_usd": None if None in costs else sum(cost for cost in costs if cost is not None),
        **asked,
    }


def _total(messages: Sequence[Exchange], name: str) -> int | None:
    """Return a sum of counts, None where one of them is no count."""
    counts = [entry.response["usage"].get(name) or 0 for entry in messages]
    readable = all(type(count) is int and 0 <= count < _MOST for count in counts)
    return sum(counts) if readable else None


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
