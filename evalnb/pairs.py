"""Two systems beside each other: which answer a judge finds better, asked in both orders."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import numpy as np

from evalnb.cassettes import Cassettes, bind
from evalnb.control import RunControl
from evalnb.errors import EvalnbError, InputError
from evalnb.frames import METRICS, PAIRS, to_records
from evalnb.jsontext import same_json
from evalnb.judges import load_pairwise_judge
from evalnb.judging import ask
from evalnb.pace import Pace
from evalnb.runner import model_access, run_sync, upstream_of
from evalnb.stats.effects import share_row
from evalnb.stats.length_control import length_controlled_win_rate
from evalnb.stats.sign_flip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.judges import PairwiseJudge
    from evalnb.runner import Access
    from evalnb.stats.sign_flip import SignFlip
    from evalnb.transport import Upstream

__all__ = ["POINTS", "SAME_ANSWER", "judge_pairs", "pair_statistics", "preference_test"]

_AB = {"first": "a", "second": "b", "tie": "tie"}
_BA = {"first": "b", "second": "a", "tie": "tie"}
SAME_ANSWER = "the same answer: nobody was asked"
"""Stands for a judge's reason where there was nothing to judge."""

_SAME = {
    "verdict_ab": "tie",
    "verdict_ba": "tie",
    "winner": "tie",
    "order_dependent": False,
    **dict.fromkeys(("reason_ab", "reason_ba"), SAME_ANSWER),
    "cost_usd": 0.0,
}
POINTS = {"a": 1.0, "tie": 0.5, "b": 0.0}
"""What a winner is worth to the first of two systems."""

_RATES = (
    *("win_rate_a", "ties", "order_dependent"),
    *("raw_win_rate_a_first", "raw_win_rate_a_second"),
)
_FITTED = {
    "length_controlled_win_rate": "length_controlled_win_rate_a",
    "length_coefficient": "length_coefficient",
}

Record = dict[str, Any]


def judge_pairs(
    golden: GoldenSet,
    outputs_a: pd.DataFrame,
    outputs_b: pd.DataFrame,
    judge: PairwiseJudge | None = None,
    *,
    cassettes: Cassettes | None = None,
    upstream: Upstream | None = None,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> pd.DataFrame:
    """Ask which of two outputs of a case is better, both orders of every pair.

    Parameters
    ----------
    golden : the cases
    outputs_a, outputs_b : outputs frames; cases and repeats that both have are compared
    judge : whom to ask; by default the package's
    cassettes : where verdicts are taken from and stored; by default the suite's, in replay
    upstream : where to ask for what is not recorded; by default what the judge's model says
    concurrency : how many requests are under way at once
    max_minutes, budget_usd : bounds as for `evalnb.run`

    Returns
    -------
    a pairs frame: a row a case and repeat of both, in the order of `outputs_a`
        A win that depends on the order is a tie, and `order_dependent`. Outputs that are the same
        are a tie, and nobody is asked. Where an output or a verdict is missing, so is the winner,
        with the reason.

    Raises
    ------
    InputError
        If the same would befall every call.
    """
    judge = judge or load_pairwise_judge(golden)
    if cassettes is None:
        if golden.folder is None:
            raise ValueError("a golden set without a folder has no cassettes: give `cassettes`")
        cassettes = Cassettes(golden.folder / "cassettes")
    control = RunControl.of(
        golden.settings.live,
        asks=cassettes.mode != "replay",
        max_minutes=max_minutes,
        budget_usd=budget_usd,
    )
    others = {(row["case_id"], row["repeat"]): row for row in to_records(outputs_b)}
    pairs = [
        (row, others[row["case_id"], row["repeat"]])
        for row in to_records(outputs_a)
        if (row["case_id"], row["repeat"]) in others
    ]
    asking = _Asking(golden, judge, control)
    rows = run_sync(partial(asking.compare, pairs, cassettes, upstream, concurrency))
    if cassettes.faults:
        raise cassettes.faults[0]
    return PAIRS.build(rows)


def pair_statistics(pairs: pd.DataFrame) -> pd.DataFrame:
    """Sum up who won: as shown, corrected for the order, and at equal length.

    Parameters
    ----------
    pairs : a pairs frame

    Returns
    -------
    a metrics frame, of pairs with a winner or a tie; others are left out and counted
        `win_rate_a`: both orders, ties and wins that depend on the order as half a win. `ties`,
        `order_dependent`: shares of pairs. `raw_win_rate_a_first`, `raw_win_rate_a_second`: by one
        order alone, with the answer of `a` first or second. `length_controlled_win_rate_a`:
        `win_rate_a` if both answers were equally long, and `length_coefficient`; see
        `evalnb.stats.length_control.length_controlled_win_rate`, also for what is NA. Rates have
        Wilson intervals, or t over cases where a case has several pairs.
    """
    known = pairs[pairs["winner"].notna()].reset_index(drop=True)
    left_out = len(pairs) - len(known)
    if known.empty:
        return METRICS.build(
            {"metric": name, "n": 0, "n_left_out": left_out, "reason": "no_overlap"}
            for name in (*_RATES, *_FITTED.values())
        )
    cases = known["case_id"] if known["case_id"].duplicated().any() else None
    hits: dict[str, pd.Series] = {
        "win_rate_a": known["winner"].map(POINTS),
        "ties": known["winner"] == "tie",
        "order_dependent": known["order_dependent"],
        "raw_win_rate_a_first": known["verdict_ab"].map(POINTS),
        "raw_win_rate_a_second": known["verdict_ba"].map(POINTS),
    }
    rows = [share_row(name, hits[name].to_numpy("float64"), cases) for name in _RATES]
    controlled = length_controlled_win_rate(
        known["winner"].map(POINTS),
        known["n_characters_a"] - known["n_characters_b"],
        clusters=cases,
    )
    rows += [
        {**row, "metric": _FITTED[row["metric"]]}
        for row in to_records(controlled)
        if row["metric"] in _FITTED
    ]
    return METRICS.build(
        {**{name: row.get(name) for name in METRICS.columns}, "n_left_out": left_out}
        for row in rows
    )


def preference_test(pairs: pd.DataFrame) -> SignFlip:
    """Test whether the first of two systems wins half of its pairs.

    Parameters
    ----------
    pairs : a pairs frame; those without a verdict are left out, a tie is half a win

    Returns
    -------
    p-values of the sign-flip test over cases, whose repeats count together
        `p_less` is small where the first one loses; all are 1 where every pair is a tie.
    """
    known = pairs[pairs["winner"].notna()]
    points = known["winner"].map(POINTS).astype("float64").groupby(known["case_id"]).mean()
    return sign_flip(np.asarray(points, dtype=np.float64) - 0.5)


class _Asking:
    """Pairs being compared."""

    def __init__(self, golden: GoldenSet, judge: PairwiseJudge, control: RunControl) -> None:
        self._golden = golden
        self._judge = judge
        self._control = control

    async def compare(
        self,
        pairs: Sequence[tuple[Record, Record]],
        cassettes: Cassettes,
        upstream: Upstream | None,
        concurrency: int,
    ) -> list[Record]:
        self._control.start()
        access = model_access(
            None,
            cassettes,
            upstream or upstream_of(self._judge, cassettes),
            control=self._control,
            pace=Pace(),
            concurrency=concurrency,
        )
        rows: dict[int, Record] = {}
        todo = iter(enumerate(pairs))

        async def work() -> None:
            for position, (a, b) in todo:
                if self._control.fatal is not None:
                    return
                rows[position] = await self._pair(access, a, b)

        try:
            async with anyio.create_task_group() as group:
                for _ in range(concurrency):
                    group.start_soon(work)
        finally:
            self._control.end()
            await access.aclose()
        if self._control.fatal is not None:
            raise self._control.fatal
        return [rows[position] for position in range(len(pairs))]

    async def _pair(self, access: Access, a: Record, b: Record) -> Record:
        row: Record = {
            "case_id": a["case_id"],
            "repeat": a["repeat"],
            "system_a": a.get("system"),
            "system_b": b.get("system"),
            "hash_a": a.get("output_hash"),
            "hash_b": b.get("output_hash"),
            "n_characters_a": len(a["text"]) if "text" in a else None,
            "n_characters_b": len(b["text"]) if "text" in b else None,
            "judge_model": self._judge.model,
            "judge_fingerprint": self._judge.fingerprint,
        }
        missing = a.get("na_reason") or b.get("na_reason")
        if missing:
            return {**row, "na_reason": missing, "error": a.get("error") or b.get("error")}
        if _is_same(a, b):
            return {**row, **_SAME}
        ab = await self._ask(access, a, b)
        ba = await self._ask(access, b, a)
        return {**row, **_compared(ab, ba)}

    async def _ask(self, access: Access, first: Record, second: Record) -> Record:
        case = self._golden[first["case_id"]]
        request = self._judge.pair_request(case, first, second)
        with bind(case.id, first["repeat"]) as binding:
            try:
                return await ask(access, request, self._judge.schema(case, "all"), binding)
            except EvalnbError as error:
                fault = error if isinstance(error, InputError) else InputError(str(error))
                self._control.stop(fault)
                return {"na_reason": "server", "error": str(error)}


def _is_same(a: Record, b: Record) -> bool:
    calls, others = a.get("tool_calls") or [], b.get("tool_calls") or []
    return a.get("text") == b.get("text") and same_json(calls, others)


def _compared(ab: Mapping[str, Any], ba: Mapping[str, Any]) -> Record:
    costs = [side.get("cost_usd") for side in (ab, ba)]
    found: Record = {
        "verdict_ab": _AB[ab["answers"]["better"]] if ab.get("answers") else None,
        "verdict_ba": _BA[ba["answers"]["better"]] if ba.get("answers") else None,
        "reason_ab": _reason(ab),
        "reason_ba": _reason(ba),
        "judge_model_answered": ab.get("judge_model_answered") or ba.get("judge_model_answered"),
        "cost_usd": None if None in costs else sum(costs),
    }
    missing = next((side for side in (ab, ba) if not side.get("answers")), None)
    if missing is not None:
        return {**found, "na_reason": missing["na_reason"], "error": missing.get("error")}
    depends = found["verdict_ab"] != found["verdict_ba"]
    winner = "tie" if depends else found["verdict_ab"]
    return {**found, "winner": winner, "order_dependent": depends}


def _reason(side: Mapping[str, Any]) -> str | None:
    answers = side.get("answers")
    if not answers:
        return None
    return f"first: {answers['about_first']}\nsecond: {answers['about_second']}"
