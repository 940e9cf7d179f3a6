"""Who won, pair by pair, in a terminal: lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records
from evalnb.pairs import pair_statistics
from evalnb.reports.numbers import count, interval, rate, tokens
from evalnb.reports.text import listing, one_line
from evalnb.reports.views import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["describe_pairs"]


def describe_pairs(pairs: pd.DataFrame) -> list[str]:
    """Write how often one system beats another: raw, corrected for the order, at equal length.

    Parameters
    ----------
    pairs : a pairs frame

    Returns
    -------
    lines of plain text
    """
    a, b = (_names(pairs, name) for name in ("system_a", "system_b"))
    found = {row["metric"]: row for row in to_records(pair_statistics(pairs))}
    wins = found["win_rate_a"]
    missing = pairs["na_reason"].dropna()
    head = f"{a} against {b}: {count(wins['n'], 'pair')}"
    if len(missing):
        reasons = listing([f"{words(why)} {n}" for why, n in missing.value_counts().items()])
        head += f", {tokens(wins['n_left_out'])} without a winner ({reasons})"
    if not wins["n"]:
        return [head]
    firsts = (_figure(found[f"raw_win_rate_a_{place}"]) for place in ("first", "second"))
    return [
        head,
        "  {} wins, raw: {} shown first, {} shown second".format(a, *firsts),
        f"  in both orders, what depends on the order as a tie: {_figure(wins)}",
        f"  at equal length: {_figure(found['length_controlled_win_rate_a'])}",
        (
            f"  depends on the order: {_figure(found['order_dependent'])}; ties, with these: "
            f"{_figure(found['ties'])}"
        ),
    ]


def _figure(row: Mapping[str, Any]) -> str:
    if "estimate" not in row:
        return f"not known ({words(row.get('reason', 'too_few'))})"
    if "ci_low" not in row:
        return rate(row["estimate"])
    return f"{rate(row['estimate'])} ({interval(row['ci_low'], row['ci_high'])})"


def _names(pairs: pd.DataFrame, column: str) -> str:
    return listing([one_line(name, limit=60) for name in pairs[column].dropna().unique()]) or "?"
