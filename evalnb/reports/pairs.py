"""Who won, pair by pair, in a terminal: lines of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.frames import to_records
from evalnb.pairs import SAME_ANSWER, pair_statistics, preference_test
from evalnb.reports.numbers import count, difference, interval, p_value, rate, tokens
from evalnb.reports.text import listing, one_line
from evalnb.reports.views import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

__all__ = ["describe_pairs", "preference_sentence", "strength_sentences"]

_LEVEL = 0.05


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
    if not wins["n"] or (len(missing) and wins["n"] == _n_same(pairs)):
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


def preference_sentence(pairs: pd.DataFrame, a: str, b: str) -> str:
    """Say in one sentence which of two systems a judge prefers, and what is not known.

    Parameters
    ----------
    pairs : a pairs frame of the two
    a, b : what they are called, plain text
    """
    found = {row["metric"]: row for row in to_records(pair_statistics(pairs))}
    wins, depends = found["win_rate_a"], found["order_dependent"]
    missing = pairs["na_reason"].dropna()
    unknown = ""
    if len(missing):
        reasons = listing([_missing(str(why), n) for why, n in missing.value_counts().items()])
        unknown = f" {count(len(missing), 'pair')} without a verdict: {reasons}."
    same = _n_same(pairs)
    if len(missing) and wins["n"] == same:
        alike = f" {count(same, 'pair')} are the same answer." if same else ""
        return f"Which answers a judge finds better is not known.{unknown}{alike}"
    p = preference_test(pairs).p_two_sided
    judge = f"the judge ({_names(pairs, 'judge_model')})"
    said = f"No preference of {judge} between {a} and {b} is shown"
    if p <= _LEVEL:
        said = f"T{judge[1:]} prefers {a if wins['estimate'] > 0.5 else b}"
    ties = pairs["winner"].eq("tie").sum()
    conflicts = round(depends["estimate"] * depends["n"])
    if len(missing):
        won = wins["estimate"] * wins["n"]
        bounds = (rate((won + more) / len(pairs)) for more in (0, len(missing)))
        unknown += f" If {a} had lost or won them all, {' to '.join(bounds)}."
    return (
        f"{said}: {a} wins {_figure(wins)} of {count(wins['n'], 'pair')}, ties as half, "
        f"{p_value(p)}; {count(ties, 'tie')}, {conflicts:,} of them since the verdict depends on "
        f"the order.{unknown}"
    )


def strength_sentences(strengths: pd.DataFrame) -> Iterator[str]:
    """Say how several systems rank by a judge, the strongest first.

    Parameters
    ----------
    strengths : a strengths frame
    """
    rows = sorted(to_records(strengths), key=lambda row: -row.get("estimate", 0.0))
    unranked = next((row for row in rows if "rank" not in row), None)
    if unranked is not None:
        yield f"How they rank by the judge is not known ({words(unranked['reason'])})."
        return
    for row in rows:
        ranks = sorted({row["rank_low"], row["rank_high"]})
        line = (
            f"Rank {row['rank']} ({' to '.join(map(str, ranks))}): {one_line(row['system'])}, "
            f"strength {difference(row['estimate'])}"
        )
        if "ci_low" in row:
            line += f" ({interval(row['ci_low'], row['ci_high'])})"
        yield f"{line}, {count(row['n'], 'verdict')}."


def _n_same(pairs: pd.DataFrame) -> int:
    return int(pairs["reason_ab"].eq(SAME_ANSWER).sum())


def _missing(why: str, n: int) -> str:
    return f"{n:,} not recorded" if why == "miss" else f"{n:,} {words(why)}"


def _figure(row: Mapping[str, Any]) -> str:
    if "estimate" not in row:
        return f"not known ({words(row.get('reason', 'too_few'))})"
    if "ci_low" not in row:
        return rate(row["estimate"])
    return f"{rate(row['estimate'])} ({interval(row['ci_low'], row['ci_high'])})"


def _names(pairs: pd.DataFrame, column: str) -> str:
    return listing([one_line(name, limit=60) for name in pairs[column].dropna().unique()]) or "?"
