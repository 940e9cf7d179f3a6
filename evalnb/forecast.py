"""What a run is going to cost, said before its first request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.costs import estimated_tokens
from evalnb.frames import to_records
from evalnb.jsontext import dump_json
from evalnb.prices import response_cost_usd
from evalnb.systems import PromptSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge
    from evalnb.systems import DirectSystem, System

__all__ = ["forecast"]

_VERDICT_TOKENS_A_SCORE = 120
"""A reason of two sentences with its score; thinking comes on top where the model thinks."""


def forecast(
    golden: GoldenSet,
    system: System | DirectSystem,
    baseline: Baseline | None,
    judges: Sequence[Judge] = (),
    *,
    repeats: int = 1,
    judge_repeats: int = 1,
) -> pd.DataFrame:
    """Estimate calls, tokens and cost of a run that asks for everything.

    Parameters
    ----------
    golden, system : what is to be run
    baseline : whose answers stand for those that are to come; None before the first
    judges : who is to be asked; every case that a judge is for counts, rules let fewer through
    repeats, judge_repeats : answers a case, verdicts an answer

    Returns
    -------
    part, model, n_calls, input_tokens, output_tokens, cost_usd : a row a part and model
        A token is taken to be four bytes of a request. The system's requests are known for prompt
        files alone, one a case, and its answers are as long as the baseline's, else half of
        `max_tokens`; a verdict is 120 tokens a score, without what the model thinks. Cache hits
        are not counted. `cost_usd` is NA for a model without a price.
    """
    answers = {} if baseline is None else _first_answers(baseline)
    rows = [
        *_of_system(golden, system, answers, repeats),
        *(
            row
            for judge in judges
            for row in _of_judge(golden, judge, answers, repeats * judge_repeats)
        ),
    ]
    columns = ["part", "model", "n_calls", "input_tokens", "output_tokens", "cost_usd"]
    frame = pd.DataFrame(rows, columns=columns).astype({"cost_usd": "Float64"})
    return frame.groupby(["part", "model"], sort=False, as_index=False).sum(min_count=1)


def _first_answers(baseline: Baseline) -> dict[str, dict[str, Any]]:
    return {row["case_id"]: row for row in reversed(to_records(baseline.outputs))}


def _of_system(
    golden: GoldenSet,
    system: System | DirectSystem,
    answers: Mapping[str, Mapping[str, Any]],
    repeats: int,
) -> Iterator[dict[str, Any]]:
    if not isinstance(system, PromptSystem):
        return
    for case in golden:
        request = system.request(case)
        usual = answers.get(case.id, {}).get("output_tokens", request["max_tokens"] // 2)
        yield _row("system", system.model, repeats, request, usual)


def _of_judge(
    golden: GoldenSet,
    judge: Judge,
    answers: Mapping[str, Mapping[str, Any]],
    repeats: int,
) -> Iterator[dict[str, Any]]:
    for case in golden:
        if not judge.applies_to(case):
            continue
        for part in judge.parts():
            request = judge.request(case, answers.get(case.id, {}), part)
            n_scores = _n_scores(judge.schema(case, part))
            yield _row("judge", judge.model, repeats, request, n_scores * _VERDICT_TOKENS_A_SCORE)


def _row(
    part: str, model: str, repeats: int, request: Mapping[str, Any], output_tokens: int
) -> dict[str, Any]:
    usage = {
        "input_tokens": estimated_tokens(dump_json(request)),
        "output_tokens": output_tokens,
    }
    cost_usd = response_cost_usd({"model": model, "usage": usage})
    return {
        "part": part,
        "model": model,
        "n_calls": repeats,
        **{name: repeats * number for name, number in usage.items()},
        "cost_usd": None if cost_usd is None else repeats * cost_usd,
    }


def _n_scores(schema: Mapping[str, Any]) -> int:
    """Count what is to be decided on: scores and choices."""
    if "enum" in schema:
        return 1
    return sum(_n_scores(part) for part in schema.get("properties", {}).values())
