"""The tables of several sides: all of them by scorer, two by two, and as a judge ranks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import CASE
from evalnb.findings import SUITE
from evalnb.frames import to_records
from evalnb.reports.numbers import count, difference, interval, p_value, rate
from evalnb.reports.tables import styled
from evalnb.reports.text import one_line
from evalnb.reports.views import words

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

    from evalnb.comparing import Several

__all__ = ["passes_table", "sides_table", "strengths_table"]


def sides_table(several: Several) -> Styler:
    """Show each side beside the first: the pass rate of cases, then every scorer's mean.

    A row a scorer and side; p-values are corrected within the comparison of that side.
    """
    first = several.sides[0].name
    columns = ["scorer", "side", "the first", "this side", "difference", "95%", "p", "cases"]
    rows = [
        {
            "scorer": "cases" if row["scorer"] == CASE else row["scorer"],
            "side": comparison.b.name,
            "the first": rate(row.get("mean_a")),
            "this side": rate(row.get("mean_b")),
            "difference": difference(row.get("estimate")),
            "95%": interval(row.get("ci_low"), row.get("ci_high")),
            "p": p_value(row.get("p_adjusted")),
            "cases": row["n"],
        }
        for comparison in several.comparisons
        for row in to_records(comparison.scores)
        if row["slice"] == SUITE
    ]
    order = {
        scorer: number for number, scorer in enumerate(dict.fromkeys(row["scorer"] for row in rows))
    }
    rows.sort(key=lambda row: order[row["scorer"]])
    caption = f"Each side beside the first, {one_line(first)}"
    return styled(pd.DataFrame(rows, columns=columns), caption=caption)


def passes_table(several: Several) -> Styler:
    """Show whether sides pass the same cases: all together, then two by two."""
    columns = ["one", "other", "difference", "p", "cases", "left out", "method", "note"]
    rows = [
        {
            "one": row["a"],
            "other": row.get("b", ""),
            "difference": difference(row.get("estimate")),
            "p": p_value(row.get("p_adjusted", row.get("p_value"))),
            "cases": row["n"],
            "left out": row["n_left_out"],
            "method": row["method"],
            "note": words(row.get("reason", "")),
        }
        for row in to_records(several.passes)
    ]
    caption = f"Which of {count(len(several.sides), 'side')} passes more of the same cases"
    return styled(pd.DataFrame(rows, columns=columns), caption=caption)


def strengths_table(strengths: pd.DataFrame) -> Styler:
    """Show how sides rank by a judge of pairs, the strongest first.

    Parameters
    ----------
    strengths : a strengths frame; what has no rank stands last, with the reason
    """
    columns = ["side", "rank", "ranks", "strength", "95%", "beats the first", "verdicts", "note"]
    rows = [
        {
            "side": row["system"],
            "rank": row.get("rank"),
            "ranks": f"{row['rank_low']} to {row['rank_high']}" if "rank" in row else "",
            "strength": difference(row.get("estimate")),
            "95%": interval(row.get("ci_low"), row.get("ci_high")),
            "beats the first": rate(row.get("beats_reference")),
            "verdicts": row["n"],
            "note": words(row.get("reason", "")),
        }
        for row in sorted(
            to_records(strengths), key=lambda row: row.get("rank", len(strengths) + 1)
        )
    ]
    return styled(pd.DataFrame(rows, columns=columns), caption="Strengths by a judge of pairs")
