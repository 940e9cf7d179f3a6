"""What a run is going to cost, said before its first request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.costs import estimated_tokens
from evalnb.frames import to_records
from evalnb.jsontext import dump_json
from evalnb.names import LOCAL_MODEL
from evalnb.prices import response_cost_usd
from evalnb.systems import PromptSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge
    from evalnb.systems import DirectSystem, System

__all__ = ["forecast"]

_VERDICT_TOKENS_A_SCORE = 120
"""A reason of two sentences with its score; thinking comes on top where the model thinks."""


_MOST_COUNTED = 20
"""Requests of a part and model that are counted; they tell how many tokens a byte of others has."""


@dataclass(frozen=True)
class _Asked:
    """One request of a run, and what is expected of its answer."""

    part: str
    model: str
    n_calls: int
    request: Mapping[str, Any]
    output_tokens: int


def forecast(
    golden: GoldenSet,
    system: System | DirectSystem,
    baseline: Baseline | None,
    judges: Sequence[Judge] = (),
    *,
    repeats: int = 1,
    judge_repeats: int = 1,
    count: Callable[[Sequence[Mapping[str, Any]]], Sequence[int | None]] | None = None,
) -> pd.DataFrame:
    """Estimate calls, tokens and cost of a run that asks for everything.

    Parameters
    ----------
    golden, system : what is to be run
    baseline : whose answers stand for those that are to come; None before the first
    judges : who is to be asked; every case that a judge is for counts, rules let fewer through
    repeats, judge_repeats : answers a case, verdicts an answer
    count : gives the input tokens of requests, None where it cannot; None to count nothing.
        It is given up to 20 requests of each part and model, which say how many tokens a byte of
        the others has.

    Returns
    -------
    part, model, n_calls, n_counted, input_tokens, output_tokens, cost_usd : a row a part and model
        Where nothing is counted a token is taken to be four bytes of a request. The system's
        requests are known for prompt files alone, one a case, and its answers are as long as the
        baseline's, else half of `max_tokens`; a verdict is 120 tokens a score, without what the
        model thinks. Cache hits are not counted. `cost_usd` is NA for a model without a price.
    """
    answers = {} if baseline is None else _first_answers(baseline)
    asked = [
        *_of_system(golden, system, answers, repeats),
        *(
            one
            for judge in judges
            for one in _of_judge(golden, judge, answers, repeats * judge_repeats)
        ),
    ]
    groups: dict[tuple[str, str], list[_Asked]] = {}
    for one in asked:
        groups.setdefault((one.part, one.model), []).append(one)
    columns = [
        *("part", "model", "n_calls", "n_counted", "input_tokens", "output_tokens", "cost_usd")
    ]
    rows = [
        _row(group, None if model == LOCAL_MODEL else count) for (_, model), group in groups.items()
    ]
    return pd.DataFrame(rows, columns=columns).astype({"cost_usd": "Float64"})


def _first_answers(baseline: Baseline) -> dict[str, dict[str, Any]]:
    return {row["case_id"]: row for row in reversed(to_records(baseline.outputs))}


def _of_system(
    golden: GoldenSet,
    system: System | DirectSystem,
    answers: Mapping[str, Mapping[str, Any]],
    repeats: int,
) -> Iterator[_Asked]:
    if not isinstance(system, PromptSystem):
        return
    for case in golden:
        request = system.request(case)
        usual = answers.get(case.id, {}).get("output_tokens", request["max_tokens"] // 2)
        yield _Asked("system", system.model, repeats, request, usual)


def _of_judge(
    golden: GoldenSet,
    judge: Judge,
    answers: Mapping[str, Mapping[str, Any]],
    repeats: int,
) -> Iterator[_Asked]:
    for case in golden:
        if not judge.applies_to(case):
            continue
        for part in judge.parts():
            request = judge.request(case, answers.get(case.id, {}), part)
            n_scores = _n_scores(judge.schema(case, part))
            yield _Asked("judge", judge.model, repeats, request, n_scores * _VERDICT_TOKENS_A_SCORE)


def _row(
    asked: Sequence[_Asked],
    count: Callable[[Sequence[Mapping[str, Any]]], Sequence[int | None]] | None,
) -> dict[str, Any]:
    estimates = [estimated_tokens(dump_json(one.request)) for one in asked]
    chosen = _spread(len(asked)) if count else []
    found = count([asked[number].request for number in chosen]) if count else []
    counted = {
        number: tokens for number, tokens in zip(chosen, found, strict=True) if tokens is not None
    }
    ratio = sum(counted.values()) / sum(estimates[number] for number in counted) if counted else 1
    inputs = [counted.get(number, round(ratio * guess)) for number, guess in enumerate(estimates)]
    return {
        "part": asked[0].part,
        "model": asked[0].model,
        "n_calls": sum(one.n_calls for one in asked),
        "n_counted": len(counted),
        "input_tokens": sum(one.n_calls * n for one, n in zip(asked, inputs, strict=True)),
        "output_tokens": sum(one.n_calls * one.output_tokens for one in asked),
        "cost_usd": _cost_usd(asked, inputs),
    }


def _cost_usd(asked: Sequence[_Asked], inputs: Sequence[int]) -> float | None:
    """Return what calls cost, request by request; None where a model has no price."""
    total = 0.0
    for one, input_tokens in zip(asked, inputs, strict=True):
        usage = {"input_tokens": input_tokens, "output_tokens": one.output_tokens}
        cost_usd = response_cost_usd({"model": one.model, "usage": usage})
        if cost_usd is None:
            return None
        total += one.n_calls * cost_usd
    return total


def _spread(n: int) -> list[int]:
    """Choose requests from all over a run."""
    return list(dict.fromkeys(number * n // _MOST_COUNTED for number in range(_MOST_COUNTED)))


def _n_scores(schema: Mapping[str, Any]) -> int:
    """Count what is to be decided on: scores and choices."""
    if "enum" in schema:
        return 1
    return sum(_n_scores(part) for part in schema.get("properties", {}).values())
