"""The tables that a notebook shows.

`DataFrame.style` runs the HTML of the text it shows. `styled` is the one helper that does not,
and all tables of evalnb are made by it.
"""

from __future__ import annotations

import hashlib
import html
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.costs import usage_by_model
from evalnb.frames import Outcome
from evalnb.holdout import split_rates
from evalnb.reports.numbers import count
from evalnb.reports.text import cell_text
from evalnb.reports.verdicts import failing_verdicts, judged_counts
from evalnb.reports.views import (
    changes,
    decision_rows,
    failing,
    holdout_rates,
    looks_by_version,
    slice_rates,
    words,
)
from evalnb.stats.percentiles import case_percentiles

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

__all__ = [
    "changes_table",
    "decision_table",
    "failing_table",
    "holdout_table",
    "judged_table",
    "looks_table",
    "slices_table",
    "states_table",
    "styled",
    "times_table",
    "usage_table",
    "verdicts_table",
]

_LOOKS: list[Any] = [
    {"selector": "", "props": "border-collapse: collapse"},
    {"selector": "caption", "props": "text-align: left; font-weight: bold; padding: 4px 8px"},
    {"selector": "th, td", "props": "vertical-align: top; padding: 4px 8px; text-align: left"},
    {"selector": "td", "props": "max-width: 36em; overflow-wrap: anywhere; white-space: normal"},
    {"selector": "thead th", "props": "border-bottom: 1px solid currentColor"},
]
_RIGHT = "text-align: right; white-space: nowrap"

_OUTCOMES = {
    Outcome.INCONCLUSIVE: "? inconclusive",
    Outcome.FAIL: "✕ blocks",
    Outcome.NOTE: "· note",
}
"""Sign and word, so that no colour is needed to tell them apart."""


def styled(
    frame: pd.DataFrame, *, caption: str | None = None, index: bool = False, limit: int = 300
) -> Styler:
    """Show a frame as a table in which no text is taken for HTML.

    Parameters
    ----------
    frame : any frame
    caption : a title above the table; as text, like all else
    index : whether to show the index
    limit : the longest text of a cell, in characters

    Returns
    -------
    a table for a notebook
        NA is "–", rates are rounded, numbers stand at the right. The same frame gives the same
        HTML.
    """
    texts = _texts(frame, limit, index=index)
    styler = (
        texts.style.format(escape="html")
        .format_index(escape="html", axis="index")
        .format_index(escape="html", axis="columns")
        .set_table_styles([*_LOOKS, *_numbers_right(frame)])
        .set_uuid(_identity(texts, caption))
        # Else a notebook looks for formulas between two dollar signs.
        .set_table_attributes('class="mathjax_ignore tex2jax_ignore"')
    )
    if caption is not None:
        styler = styler.set_caption(html.escape(cell_text(caption, limit=limit)))
    return styler if index else styler.hide(axis="index")


def slices_table(slices: pd.DataFrame) -> Styler:
    """Show pass rates by slice, with intervals, what was not scored, and the baseline.

    Parameters
    ----------
    slices : a slices frame

    Returns
    -------
    a table for a notebook
        `bounds` are the rates if none or all of the cases not scored had passed. The change
        against the baseline is shown where both rates are over the same number of cases.
    """
    return styled(slice_rates(slices), caption="Pass rate by slice")


def states_table(results: pd.DataFrame, decision: pd.DataFrame) -> Styler:
    """Show how many cases pass, fail and are unstable over their repeats, and how many are flaky.

    Parameters
    ----------
    results, decision : frames of one run

    Returns
    -------
    a table for a notebook
        A case is flaky by its earlier runs, whatever its state in this one.
    """
    flaky = set(decision.loc[decision["rule"] == "flaky", "case_id"])
    states = results["state"].fillna("not scored")
    names = ("pass", "fail", "unstable", "not scored")
    frame = pd.DataFrame(
        {
            "state": names,
            "cases": [int((states == name).sum()) for name in names],
            "of these flaky": [
                int(results.loc[states == name, "case_id"].isin(flaky).sum()) for name in names
            ],
        }
    )
    return styled(frame, caption="States of the cases over their repeats")


def times_table(outputs: pd.DataFrame) -> Styler:
    """Show the median and the 95th percentile of service time, with intervals over cases.

    Parameters
    ----------
    outputs : an outputs frame

    Returns
    -------
    a table for a notebook
        In ms, of the attempt that succeeded: time in line and between attempts is no service time.
        Only answers of a live run count, since a replay repeats the time that was recorded.
    """
    live = outputs[(outputs["mode"] == "live") & outputs["latency_ms"].notna()]
    found = case_percentiles(live["case_id"], live["latency_ms"])
    shown = found[["metric", "estimate", "ci_low", "ci_high", "n", "reason"]]
    what = "Service time, ms" if len(live) else "Service time: no answer was given live"
    return styled(shown.rename(columns=words), caption=what)


def failing_table(results: pd.DataFrame, scores: pd.DataFrame, outputs: pd.DataFrame) -> Styler:
    """Show the cases that failed or are unstable: why, and what the system said.

    Parameters
    ----------
    results, scores, outputs : frames of one run

    Returns
    -------
    a table for a notebook
        `output` is the text of the first repeat that failed, shortened.
    """
    rows = failing(results)
    texts = rows["case"].map(_failed_texts(scores, outputs)).astype("string")
    return styled(
        rows.assign(output=texts),
        caption=f"{len(rows):,} of {count(len(results), 'case')} failed or unstable",
    )


def changes_table(decision: pd.DataFrame) -> Styler:
    """Show which cases changed against the baseline.

    Parameters
    ----------
    decision : a decision frame; rows with a case and a value of the baseline are shown

    Returns
    -------
    a table for a notebook
    """
    rows = changes(decision)
    return styled(
        rows, caption=f"{count(rows['case'].nunique(), 'case')} changed against the baseline"
    )


def holdout_table(results: pd.DataFrame) -> Styler:
    """Show the pass rates of dev and holdout cases, and the gap between them.

    Parameters
    ----------
    results : a results frame

    Returns
    -------
    a table for a notebook
    """
    return styled(holdout_rates(split_rates(results)), caption="Dev and holdout")


def looks_table(looks: pd.DataFrame) -> Styler:
    """Show how often the holdout cases of each golden version were looked at.

    Parameters
    ----------
    looks : a looks frame

    Returns
    -------
    a table for a notebook
    """
    return styled(looks_by_version(looks), caption="Looks at holdout cases")


def decision_table(decision: pd.DataFrame) -> Styler:
    """Show what the gate found: what leaves the decision open, what blocks, then notes.

    Parameters
    ----------
    decision : a decision frame

    Returns
    -------
    a table for a notebook
    """
    parts = {name: decision_rows(decision, name) for name in _OUTCOMES}
    rows = pd.concat(
        [part.assign(finding=_OUTCOMES[name]) for name, part in parts.items()], ignore_index=True
    )
    frame = rows[["finding", *rows.columns.drop("finding")]]
    return styled(
        frame, caption=f"{len(parts[Outcome.FAIL]):,} of {count(len(rows), 'finding')} block"
    )


def judged_table(scores: pd.DataFrame) -> Styler:
    """Show how many scores judges gave, what was skipped and what is missing.

    Parameters
    ----------
    scores : a scores frame

    Returns
    -------
    a table for a notebook
    """
    return styled(_spoken(judged_counts(scores)), caption="What the judges scored")


def verdicts_table(scores: pd.DataFrame, outputs: pd.DataFrame) -> Styler:
    """Show what judges let fail, with their reasons and what the system said.

    Parameters
    ----------
    scores, outputs : frames of one run

    Returns
    -------
    a table for a notebook
        A row a score that does not pass, or is missing by accident; reasons are whole up to 1,500
        characters.
    """
    rows = failing_verdicts(scores)
    texts = outputs[["case_id", "repeat", "text"]].rename(columns={"text": "output"})
    shown = rows.merge(texts, on=["case_id", "repeat"], how="left", validate="many_to_one")
    caption = f"{count(len(rows), 'score')} of judges that do not pass or are missing"
    return styled(_spoken(shown), caption=caption, limit=1500)


def usage_table(outputs: pd.DataFrame, verdicts: pd.DataFrame) -> Styler:
    """Show tokens, cache hits and cost by model, of the system and of its judges.

    Parameters
    ----------
    outputs, verdicts : frames of one run

    Returns
    -------
    a table for a notebook
    """
    return styled(_spoken(usage_by_model(outputs, verdicts)), caption="Tokens and cost by model")


def _spoken(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=words)


def _texts(frame: pd.DataFrame, limit: int, *, index: bool) -> pd.DataFrame:
    """Return the frame as text; the names of its axes, which no `format` escapes, are left."""
    cells = [
        [cell_text(value, limit=limit) for value in row]
        for row in frame.itertuples(index=False, name=None)
    ]
    labels = [cell_text(label, limit=limit) for label in frame.index] if index else None
    return pd.DataFrame(
        cells,
        index=labels,
        columns=[cell_text(label, limit=limit) for label in frame.columns],
        dtype="object",
    )


def _numbers_right(frame: pd.DataFrame) -> list[Any]:
    return [
        {"selector": f"td.col{position}, th.col{position}", "props": _RIGHT}
        for position, dtype in enumerate(frame.dtypes)
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    ]


def _identity(texts: pd.DataFrame, caption: str | None) -> str:
    content = repr((caption, texts.to_dict("tight")))
    return hashlib.sha256(content.encode(errors="replace")).hexdigest()[:12]


def _failed_texts(scores: pd.DataFrame, outputs: pd.DataFrame) -> dict[str, str]:
    failed = scores[scores["passed"].eq(False).fillna(False)]
    first = failed.groupby("case_id", sort=False)["repeat"].min().reset_index()
    texts = first.merge(outputs, on=["case_id", "repeat"], how="left", validate="one_to_one")
    return dict(zip(texts["case_id"], texts["text"], strict=True))
