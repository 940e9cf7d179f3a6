"""The tables of what sways judges that a notebook shows, in words; all text in them is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.reports.bias_words import VERDICTS, effect_value, effect_verdict
from evalnb.reports.numbers import decimal, difference, interval, rate
from evalnb.reports.tables import styled
from evalnb.reports.views import records, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas.io.formats.style import Styler

    from evalnb.probe_evidence import LimitState

__all__ = ["counting_table", "detail_table", "headline_table", "limit_table", "win_rate_table"]

_N_SHOWN = 25


def headline_table(effects: pd.DataFrame) -> Styler:
    """Show what each probe is decided by, beside what the same judge does without the change.

    Parameters
    ----------
    effects : a frame of probe effects
    """
    columns = [
        *("judge", "axis or data", "probe", "what", "effect", "95% interval"),
        *("without the change", "beyond that", "n", "left out", "p (Holm)", "verdict"),
    ]
    shown = effects[effects["headline"]]
    rows = [dict(zip(columns, _cells(row), strict=True)) for row in records(shown)]
    return styled(pd.DataFrame(rows, columns=columns), caption="What each probe is decided by")


def detail_table(details: pd.DataFrame) -> Styler:
    """Show the other effects of a suite's judges, an axis a column.

    Parameters
    ----------
    details : a frame of probe effects
        Of attacks, how often they succeed is shown, by family.
    """
    shown = details[(details["probe"] != "injection") | (details["metric"] == "success_rate")]
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in records(shown):
        key = (words(row["probe"]), words(row["variant"]), words(row["metric"]))
        cells.setdefault(key, {})[str(row["scorer"])] = _cell(row)
    scorers = list(dict.fromkeys(shown["scorer"]))
    rows = [
        [*key, *(by_scorer.get(scorer, "") for scorer in scorers)]
        for key, by_scorer in cells.items()
    ]
    return styled(
        pd.DataFrame(rows, columns=["probe", "of", "what", *scorers]),
        caption="Change by change: the effect beside what happens without the change",
    )


def limit_table(states: Sequence[LimitState]) -> Styler:
    """Show how the axes stand against the limits of the suite.

    Parameters
    ----------
    states : as `evalnb.suite_limits` gives them
    """
    rows = [
        {
            "axis": state.scorer,
            "limit": state.setting,
            "state": state.state,
            "in the gate": "may count" if state.counts else "does not count",
            "why": state.why,
        }
        for state in states
    ]
    columns = ["axis", "limit", "state", "in the gate", "why"]
    return styled(pd.DataFrame(rows, columns=columns), caption="Limits of the suite")


def win_rate_table(rates: pd.DataFrame) -> Styler:
    """Show win rates raw, corrected for the order and at equal length.

    Parameters
    ----------
    rates : as `evalnb.probes.public_win_rates` gives it
    """
    rows = [
        {
            "Vicuna-13B against": row["opponent"],
            "longer by, words": f"{row['words']:+,.0f}".replace("-", "−"),
            "questions": row["n"],
            "raw, one order": rate(row["first_order"]),
            "both orders": _with_interval(row, "both_orders"),
            "at equal length": _with_interval(row, "length_controlled"),
        }
        for row in records(rates)
    ]
    return styled(pd.DataFrame(rows), caption="Win rates by GPT-4 on MT-Bench")


def counting_table(countings: pd.DataFrame) -> Styler:
    """Show the published figures that change where unread verdicts are left out.

    Parameters
    ----------
    countings : as `evalnb.probes.public_countings` gives it
    """
    differ = countings[countings["ours"].round(6) != countings["as_published"].round(6)]
    columns = ["data", "judge", "prompt", "figure", "published", "as published", "ours", "pairs"]
    rows = [
        {
            "data": row["data"],
            "judge": row["judge"],
            "prompt": "" if pd.isna(row["prompt"]) else row["prompt"],
            "figure": words(row["metric"]),
            "published": decimal(row["published"], digits=4),
            "as published": decimal(row["as_published"], digits=4),
            "ours": decimal(row["ours"], digits=4),
            "pairs": f"{row['n']:,} of {row['n'] + row['n_left_out']:,}",
        }
        for row in records(differ.head(_N_SHOWN))
    ]
    return styled(
        pd.DataFrame(rows, columns=columns), caption="Figures that unread verdicts change"
    )


def _cells(row: dict[str, Any]) -> list[Any]:
    floor = row["floor"]
    return [
        row["judge"],
        row["scorer"],
        words(row["probe"]),
        words(row["metric"]),
        effect_value(row),
        interval(row["ci_low"], row["ci_high"]),
        "not known" if pd.isna(floor) else effect_value({**row, "estimate": floor}),
        "" if pd.isna(row["net"]) else _net(row),
        row["n"],
        row["n_left_out"],
        "" if pd.isna(row["p_holm"]) else decimal(row["p_holm"], digits=3),
        VERDICTS[effect_verdict(row)],
    ]


def _net(row: dict[str, Any]) -> str:
    """Return what is beyond the noise, with its own number where the noise is known of fewer."""
    fewer = "" if row["n_net"] == row["n"] else f" (n = {row['n_net']:,})"
    return f"{difference(row['net'])}{fewer}"


def _cell(row: dict[str, Any]) -> str:
    said = f"{effect_value(row)} of {row['n']}"
    if not pd.isna(row["floor"]) and row["floor"]:
        said += f", beside {effect_value({**row, 'estimate': row['floor']})}"
    return f"{said}; {VERDICTS['matters']}" if effect_verdict(row) == "matters" else said


def _with_interval(row: dict[str, Any], name: str) -> str:
    if pd.isna(row[name]):
        return "not known"
    return f"{rate(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])})"
