"""Asking the judges about outputs, beside a run or afterwards."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from evalnb.cassettes import Cassettes, bind
from evalnb.control import RunControl
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.frames import VERDICTS, NaReason, to_records
from evalnb.judges import check_judges, read_verdict, suite_judges
from evalnb.keys import canonical_message_request, request_key
from evalnb.names import LOCAL_MODEL
from evalnb.pace import Pace
from evalnb.prices import response_cost_usd
from evalnb.runner import model_access, run_sync, upstream_of
from evalnb.scoring import fails_a_rule, suite_own_scorers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.cassettes import Binding, Mode
    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge, Verdict
    from evalnb.runner import Access
    from evalnb.transport import Upstream

__all__ = ["Judging", "ask", "ask_all", "ask_each", "batches_of", "judge_outputs"]

_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


_LONGEST_WAIT_S = 30.0
"""A first request that takes longer holds up no other."""
_FIRST_CALLS = 5
"""Where none of so many first requests is one that the API accepts, no other will be."""


class Judging:
    """Asks the judges of a suite about each output that its rules let through.

    Parameters
    ----------
    golden : the suite
    judges : whom to ask; by default those that the suite names
    repeats : how often each verdict is asked for; by default what the suite says
    upstream : where to ask for what is not recorded; by default what each judge's model says
    known : a verdicts frame; what the same judge was asked of the same output in the same words
        is not asked again
    batches : where it is kept which request is in which batch; None to ask one by one

    Raises
    ------
    InputError
        If a judge of the suite cannot be used.
    """

    def __init__(
        self,
        golden: GoldenSet,
        judges: Sequence[Judge] | None = None,
        *,
        repeats: int | None = None,
        known: pd.DataFrame | None = None,
        upstream: Upstream | None = None,
        batches: Path | None = None,
    ) -> None:
        self.golden = golden
        self.judges = tuple(suite_judges(golden) if judges is None else judges)
        check_judges(golden.settings.judging, self.judges)
        self.repeats = repeats or golden.settings.judging.repeats
        self._own = suite_own_scorers(golden)
        self.collects = batches is not None
        """Whether requests wait for others to be sent together."""
        self._upstream = upstream
        self._batches = batches
        self._always = frozenset(golden.settings.judging.always)
        self._known = {
            _identity(row): row
            for row in (() if known is None else to_records(known))
            if "na_reason" not in row
        }
        self._access: dict[str, Access] = {}
        self._rows: list[dict[str, Any]] = []
        self._mode = "replay"
        self._control = RunControl()
        self._n_refused = 0
        self._scouts = _Scouts()

    def begin(
        self, cassettes: Cassettes, control: RunControl, pace: Pace, concurrency: int
    ) -> None:
        """Make ready to ask, under the bounds of a run."""
        self._mode, self._control = cassettes.mode, control
        shared: dict[bool, Access] = {}  # of the local model, and of all others
        for judge in self.judges:
            upstream = self._upstream or upstream_of(judge, cassettes)
            is_local = judge.model == LOCAL_MODEL
            if is_local not in shared:
                shared[is_local] = model_access(
                    None,
                    cassettes,
                    upstream,
                    control=control,
                    pace=pace,
                    concurrency=concurrency,
                    batches=None if is_local else self._batches,
                )
            self._access[judge.model] = shared[is_local]

    async def follow(self, row: Mapping[str, Any]) -> None:
        """Ask every judge about an output, where there is one and the rules let it through."""
        given = {name: value for name, value in row.items() if value is not None}
        if given.get("na_reason"):
            return
        case = self.golden[given["case_id"]]
        if not self._always.intersection(case.tags or ()) and fails_a_rule(
            self.golden, given, self._own
        ):
            return
        await self.ask_about(case, given)

    async def ask_about(
        self, case: Case, output: Mapping[str, Any], *, repeats: int | None = None
    ) -> None:
        """Ask every judge about an output, whatever the rules say of it.

        Parameters
        ----------
        case : what the output is for; need not be one of the suite's
        output : a record of an outputs frame, or what a judge takes in its place
        repeats : how often each verdict is asked for; by default as for all
        """
        async with anyio.create_task_group() as group:
            for judge in self.judges:
                if judge.applies_to(case):
                    for part in judge.parts():
                        group.start_soon(
                            self._ask_about, judge, case, output, part, repeats or self.repeats
                        )

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """What was answered so far, a record of a verdicts frame each, in no order."""
        return tuple(self._rows)

    async def aclose(self) -> None:
        """Close the connections."""
        for access in dict.fromkeys(self._access.values()):
            await access.aclose()

    def frame(self, run_id: str | None = None) -> pd.DataFrame:
        """Return what was answered, a verdicts frame in the order of the cases."""
        order = {case.id: number for number, case in enumerate(self.golden)}
        names = [judge.name for judge in self.judges]
        rows = sorted(
            self._rows,
            key=lambda row: (
                order[row["case_id"]],
                row["repeat"],
                names.index(row["judge"]),
                row["part"],
                row["judge_repeat"],
            ),
        )
        return VERDICTS.build({**row, "run_id": run_id} for row in rows)

    async def _ask_about(
        self, judge: Judge, case: Case, output: Mapping[str, Any], part: str, repeats: int
    ) -> None:
        request, schema = judge.request(case, output, part), judge.schema(case, part)
        key = request_key(canonical_message_request(request))
        access = self._access[judge.model]
        shared = {
            "case_id": case.id,
            "repeat": output["repeat"],
            "output_hash": output.get("output_hash"),
            "judge": judge.name,
            "part": part,
            "judge_model": judge.model,
            "judge_fingerprint": judge.fingerprint,
            "request_key": key,
            "mode": self._mode,
        }

        async def once(asked: Mapping[str, Any], binding: Binding) -> None:
            try:
                async with self._turn(judge, part):
                    found = await ask(access, request, schema, binding)
            except EvalnbError as error:
                self._control.stop(
                    error if isinstance(error, InputError) else InputError(str(error))
                )
                return
            self._rows.append({**asked, **found})
            self._check_first(found)

        with bind(case.id, output["repeat"]) as binding:
            async with anyio.create_task_group() as group:
                for judge_repeat in range(1, repeats + 1):
                    asked = {**shared, "judge_repeat": judge_repeat}
                    if (kept := self._known.get(_identity(asked))) is not None:
                        binding.slot(key)  # the next repeat is the next occurrence
                        self._rows.append(kept)
                    else:
                        group.start_soon(once, asked, binding)

    @asynccontextmanager
    async def _turn(self, judge: Judge, part: str) -> AsyncIterator[None]:
        """Let a first request of a kind through alone, where a prompt cache may serve others."""
        if self._mode == "replay" or self.collects or judge.model == LOCAL_MODEL:
            yield
            return
        async with self._scouts.turn((judge.name, part)):
            yield

    def _check_first(self, found: Mapping[str, Any]) -> None:
        """Stop a run in which the API accepts no request of the judges."""
        self._n_refused += found.get("na_reason") == NaReason.BAD_REQUEST
        if self._n_refused == len(self._rows) == _FIRST_CALLS:
            self._control.stop(
                InputError(
                    f"the API accepts none of the judges' first {_FIRST_CALLS} requests: "
                    f"{found['error']}"
                )
            )


class _Scouts:
    """Sends the first request of a kind ahead.

    Those that follow find its fixed text in the prompt cache, which costs a tenth of writing it,
    and its schema compiled.
    """

    def __init__(self) -> None:
        self._back: dict[tuple[str, str], anyio.Event] = {}

    @asynccontextmanager
    async def turn(self, kind: tuple[str, str]) -> AsyncIterator[None]:
        """Wait for the first of a kind; it itself does not wait."""
        back = self._back.get(kind)
        if back is not None:
            with anyio.move_on_after(_LONGEST_WAIT_S):
                await back.wait()
            yield
            return
        back = self._back[kind] = anyio.Event()
        try:
            yield
        finally:
            back.set()


def batches_of(golden: GoldenSet, mode: Mode, folder: Path | None) -> Path | None:
    """Return where a run keeps its batches; None where it asks for verdicts one by one.

    Raises
    ------
    ValueError
        If the suite wants batches, and the run has no folder to keep them in.
    """
    if golden.settings.judging.transport == "messages" or mode != "live":
        return None
    if folder is None:
        raise ValueError("verdicts in batches need a run's `folder`, which knows what was sent")
    return folder / "batches.jsonl"


def judge_outputs(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    judges: Sequence[Judge] | None = None,
    *,
    cassettes: Cassettes | None = None,
    upstream: Upstream | None = None,
    concurrency: int = 8,
    repeats: int | None = None,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> pd.DataFrame:
    """Ask judges about outputs that are there already; the system is not run.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame of these cases
    judges : whom to ask; by default those that the suite names
    cassettes : where verdicts are taken from and stored; by default the suite's, in replay
    upstream : where to ask for what is not recorded; by default what each judge's model says
    concurrency : how many requests are under way at once
    repeats : how often each verdict is asked for; by default what the suite says
    max_minutes, budget_usd : bounds as for `evalnb.run`

    Returns
    -------
    a verdicts frame: a row a call about an output that the rules let through
        What could not be had is NA with its reason.

    Raises
    ------
    InputError
        If a judge cannot be used, or the same would befall every call.
    KeyError
        If an output belongs to no case.
    """
    judging = Judging(golden, judges, repeats=repeats, upstream=upstream)
    if cassettes is None:
        if golden.folder is None:
            raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
        cassettes = Cassettes(golden.folder / "cassettes")
    ask_all(
        judging,
        outputs,
        cassettes,
        concurrency=concurrency,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )
    if cassettes.faults:
        raise cassettes.faults[0]
    return judging.frame()


def ask_all(
    judging: Judging,
    outputs: pd.DataFrame,
    cassettes: Cassettes,
    *,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> None:
    """Ask about every output; `judging` has the verdicts afterwards.

    Parameters and errors are those of `judge_outputs`.
    """
    ask_each(
        {judging: [partial(judging.follow, row) for row in to_records(outputs)]},
        cassettes,
        concurrency=concurrency,
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )


def ask_each(
    questions: Mapping[Judging, Sequence[Callable[[], Awaitable[None]]]],
    cassettes: Cassettes,
    *,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> None:
    """Ask one thing after the other, several at once; each judging has its verdicts afterwards.

    Parameters
    ----------
    questions : whose verdicts are asked for, to what asks it about one output each
        All are of one golden set, and share the bounds.

    The others and errors are those of `judge_outputs`.
    """
    golden = next(iter(questions)).golden
    control = RunControl.of(
        golden.settings.live,
        asks=cassettes.mode != "replay",
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )
    run_sync(partial(_ask_each, questions, cassettes, control, concurrency))


async def _ask_each(
    questions: Mapping[Judging, Sequence[Callable[[], Awaitable[None]]]],
    cassettes: Cassettes,
    control: RunControl,
    concurrency: int,
) -> None:
    control.start()
    async with AsyncExitStack() as opened:
        pace = Pace()
        for judging in questions:
            await opened.enter_async_context(aclosing(judging))
            judging.begin(cassettes, control, pace, concurrency)
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            control.on_fatal = partial(loop.call_soon_threadsafe, group.cancel_scope.cancel)
            todo = iter([question for asked in questions.values() for question in asked])

            async def work() -> None:
                for question in todo:
                    await asyncio.sleep(0)
                    await question()

            # A batch waits for all that are to be in it.
            collects = any(judging.collects for judging in questions)
            n_questions = sum(map(len, questions.values()))
            for _ in range(n_questions if collects else 2 * concurrency):
                group.start_soon(work)
    control.end()
    if control.fatal is not None:
        raise control.fatal


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a verdict is about, and of whom."""
    names = (
        *("case_id", "repeat", "output_hash", "judge", "judge_fingerprint", "part"),
        *("request_key", "judge_repeat"),
    )
    return tuple(map(row.get, names))


async def ask(
    access: Access, request: Mapping[str, Any], schema: Mapping[str, Any], binding: Binding
) -> dict[str, Any]:
    """Ask once; whatever happens to it alone is a verdict with its reason."""
    try:
        response = await access.create(request)
    except EvalnbError as error:
        if not isinstance(error, MissError):
            raise
        return {"na_reason": NaReason.MISS, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a failure is a row with a reason
        reason, text = access.failure(error)
        broke_off = getattr(error, "status", None) == 200
        reason = binding.stopped or (NaReason.INCOMPLETE if broke_off else reason)
        return {"na_reason": reason, "error": text}
    given = (entry.latency_ms for entry in binding.exchanges if entry.response == response)
    return {
        **_verdict(read_verdict(response, schema)),
        **_taken(response),
        "latency_ms": next(given, None),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "answers": verdict.answers,
        "text": verdict.text,
        "na_reason": verdict.na_reason,
        "error": verdict.error,
    }


def _taken(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a response took, as far as it says so."""
    usage = response.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("output_tokens_details")
    thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
    counts = {name: _count(usage.get(key)) for name, key in _USAGE.items()}
    return {
        **counts,
        "thinking_tokens": _count(thinking),
        "judge_model_answered": _name(response.get("model")),
        "stop_reason": _name(response.get("stop_reason")),
        "cost_usd": response_cost_usd(response),
    }


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None
