"""Distinct outputs, and the levels that a judge gave them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError, nearest_name
from evalnb.frames import to_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["distinct_outputs", "judge_of", "levels_of"]


def distinct_outputs(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep one of the equal outputs of a case, that of the lowest repeat."""
    kept: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["case_id"], row["repeat"])):
        kept.setdefault((row["case_id"], row["output_hash"]), row)
    return list(kept.values())


def judge_of(scores: pd.DataFrame, scorer: str | None) -> str:
    """Return whose scores count.

    Parameters
    ----------
    scores : a scores frame
    scorer : a judge's scorer; may be None where there is one only

    Raises
    ------
    InputError
        If no judge scored, or it is not known which is meant.
    """
    judges = sorted(set(scores.loc[scores["tier"].eq("judge").fillna(value=False), "scorer"]))
    if scorer is None and len(judges) == 1:
        return str(judges[0])
    if scorer in judges:
        return str(scorer)
    if not judges:
        raise InputError(
            "no judge scored these outputs, so that no level is known: take a run of the tier "
            "`full`, or draw at random"
        )
    if scorer is None:
        raise InputError(f"several judges scored: say with `scorer` which of {', '.join(judges)}")
    near = nearest_name(scorer, judges)
    hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(judges)}."
    raise InputError(f"no judge gave a score {scorer!r}. {hint}")


def levels_of(scores: pd.DataFrame, scorer: str) -> dict[tuple[str, int], str]:
    """Return the level that a scorer gave, by case and repeat, where it gave one."""
    rows = to_records(scores[scores["scorer"].eq(scorer).fillna(value=False)])
    return {
        (row["case_id"], row["repeat"]): f"{row.get('raw_value', row['value']):g}"
        for row in rows
        if "value" in row and "na_reason" not in row
    }
