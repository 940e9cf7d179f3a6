"""What a run cost and what a month of runs will, by who asked and of which model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.prices import min_cacheable_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.judges import Judge

__all__ = ["cache_shortfalls", "estimated_tokens", "monthly_usd", "usage_by_model"]

_BYTES_PER_TOKEN = 4
_COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_PER_TOKEN = 1e-6


def usage_by_model(outputs: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Sum up tokens and cost of a run by part and model.

    Parameters
    ----------
    outputs, verdicts : frames of one run

    Returns
    -------
    part, model, n, n_without_cost, input_tokens, cache_read_tokens, cache_write_tokens,
    output_tokens, cache_hit_rate, cost_usd : a row for each part, `system` or `judge`, and model
        `input_tokens` are those that no cache served; `cache_hit_rate` is the share of all input
        that was read from the prompt cache, NA where nothing is known. `cost_usd` is the sum over
        requests whose cost is known, NA where it is of none.
    """
    parts = [
        ("system", outputs.assign(model=outputs["model"])),
        ("judge", verdicts.assign(model=verdicts["judge_model_answered"])),
    ]
    rows = [
        _sums(part, str(model), group)
        for part, frame in parts
        for model, group in frame.groupby("model", sort=True)
    ]
    columns = {
        "part": "string",
        "model": "string",
        "n": "Int64",
        "n_without_cost": "Int64",
        **dict.fromkeys(_COUNTS, "Int64"),
        "cache_hit_rate": "Float64",
        "cost_usd": "Float64",
    }
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def monthly_usd(
    *,
    items: int,
    calls_per_item: int,
    runs: int,
    input_tokens: float,
    output_tokens: float,
    input_usd: float,
    output_usd: float,
) -> float:
    """Return what a schedule costs in a month.

    Parameters
    ----------
    items, calls_per_item, runs : outputs of a run, calls about each, runs in a month
    input_tokens, output_tokens : of one call
    input_usd, output_usd : prices in US dollars per million tokens

    Examples
    --------
    50 items on 3 axes with a call each, five runs a day:

    >>> round(
    ...     monthly_usd(
    ...         items=50,
    ...         calls_per_item=3,
    ...         runs=150,
    ...         input_tokens=600,
    ...         output_tokens=80,
    ...         input_usd=0.10,
    ...         output_usd=4.00,
    ...     ),
    ...     2,
    ... )
    8.55
    """
    call_usd = (input_tokens * input_usd + output_tokens * output_usd) * _PER_TOKEN
    return items * calls_per_item * runs * call_usd


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: one for four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def cache_shortfalls(judges: Iterable[Judge]) -> pd.DataFrame:
    """Find the judges whose fixed text is too short for their model's prompt cache.

    Parameters
    ----------
    judges : of a suite

    Returns
    -------
    judge, model, fixed_tokens, needed_tokens, missing_tokens : a row a judge that gets no cache
        `fixed_tokens` is an estimate; models whose minimum is not known have no row.
    """
    rows = []
    for judge in judges:
        needed = min_cacheable_tokens(judge.model)
        fixed = min(estimated_tokens(judge.instructions(part)) for part in judge.parts())
        if needed is not None and fixed < needed:
            rows.append(
                {
                    "judge": judge.name,
                    "model": judge.model,
                    "fixed_tokens": fixed,
                    "needed_tokens": needed,
                    "missing_tokens": needed - fixed,
                }
            )
    names = ["judge", "model", "fixed_tokens", "needed_tokens", "missing_tokens"]
    return pd.DataFrame(rows, columns=names)


def _sums(part: str, model: str, rows: pd.DataFrame) -> dict[str, Any]:
    counts = {name: rows[name].sum(min_count=1) for name in _COUNTS}
    read = counts["cache_read_tokens"]
    total = pd.Series([counts[name] for name in _COUNTS[:3]], dtype="Float64").sum(min_count=1)
    return {
        "part": part,
        "model": model,
        "n": len(rows),
        "n_without_cost": int(rows["cost_usd"].isna().sum()),
        **counts,
        "cache_hit_rate": pd.NA if pd.isna(total) or pd.isna(read) or not total else read / total,
        "cost_usd": rows["cost_usd"].sum(min_count=1),
    }
