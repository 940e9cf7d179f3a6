"""The tables of a comparison, and two answers side by side."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from evalnb.baseline import CASE
from evalnb.findings import SUITE
from evalnb.frames import to_records
from evalnb.holdout import holdout_cases
from evalnb.reports.comparison_words import behind_words
from evalnb.reports.differences import word_differences
from evalnb.reports.numbers import count, difference, interval, p_value, rate
from evalnb.reports.tables import styled
from evalnb.reports.text import listing, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pandas.io.formats.style import Styler

    from evalnb.comparing import Comparison
    from evalnb.golden import GoldenSet
    from evalnb.phrases import PhraseStudy

__all__ = [
    "Beside",
    "behind_table",
    "beside",
    "compared_scorers",
    "drops_table",
    "phrases_table",
    "reasons_table",
    "scores_table",
    "select_cases",
    "shifts_table",
    "usage_table",
]

Which = Literal["changed", "worse", "better"]

_MOST_TEXT = 4_000
_ORDER = {"fail": 0, "unstable": 1, "pass": 2}


def scores_table(comparison: Comparison, *, slices: bool = True) -> Styler:
    """Show the paired results by scorer, and by slice.

    Parameters
    ----------
    comparison : any
    slices : whether to show those as well, of the cases as wholes
    """
    rows = [
        {
            "scorer": "cases" if row["scorer"] == CASE else row["scorer"],
            "slice": row["slice"],
            comparison.a.name: rate(row.get("mean_a")),
            comparison.b.name: rate(row.get("mean_b")),
            **_figures(row),
        }
        for row in to_records(comparison.scores)
        if row["slice"] == SUITE or (slices and row["scorer"] == CASE)
    ]
    return styled(pd.DataFrame(rows), caption="Paired by case, with 95% intervals")


def usage_table(comparison: Comparison) -> Styler:
    """Show tokens, cost and latency, a mean a case on each side and their ratio."""
    rows = [
        {
            "": row["metric"].replace("_", " "),
            comparison.a.name: row.get("mean_a"),
            comparison.b.name: row.get("mean_b"),
            "ratio": rate(row.get("estimate")),
            "95%": interval(row.get("ci_low"), row.get("ci_high")),
            "p": p_value(row.get("p_adjusted")),
            "cases": row["n"],
        }
        for row in to_records(comparison.usage)
    ]
    return styled(pd.DataFrame(rows), caption="What an answer takes")


def phrases_table(study: PhraseStudy, *, limit: int = 20) -> Styler:
    """Show the wording that changed, the surest first."""
    columns = ["phrase", "change", "instead", "before", "after", "difference", "95%", "p", "cases"]
    rows = [
        {
            "phrase": row["phrase"],
            "change": row["change"],
            "instead": _instead(row),
            "before": rate(row["rate_a"]),
            "after": rate(row["rate_b"]),
            **_figures(row | {"estimate": row["difference"], "n": row["n_changed"]}),
            "such as": listing(row["examples"], limit=3),
        }
        for row in to_records(study.changes)[:limit]
    ]
    more = len(study.changes) - limit
    caption = "Wording that changed" + (f", and {more:,} more" if more > 0 else "")
    return styled(pd.DataFrame(rows, columns=[*columns, "such as"]), caption=caption)


def drops_table(drops: pd.DataFrame, golden: GoldenSet | None = None, *, limit: int = 10) -> Styler:
    """Show where the pass rate fell: the drop that is surely largest first.

    Parameters
    ----------
    drops : a drops frame
    golden : its holdout cases are not named
    limit : how many slices to show
    """
    hidden = frozenset() if golden is None else holdout_cases(golden)
    columns = ["slice", "before", "after", "difference", "95%", "p", "cases", "such as", "and"]
    rows = [
        {
            "slice": row["slice"],
            "before": rate(row["mean_a"]),
            "after": rate(row["mean_b"]),
            **_figures(row),
            "such as": listing([name for name in row["case_ids"] if name not in hidden], limit=3),
            "and": listing(row["folded"], limit=3),
        }
        for row in to_records(drops)[:limit]
    ]
    return styled(pd.DataFrame(rows, columns=columns), caption="Where it drops, exploratory")


def behind_table(behind: pd.DataFrame, *, limit: int = 10) -> Styler:
    """Show what lies behind a drop, the changes in most cases that got worse first.

    Parameters
    ----------
    behind : as `evalnb.behind.BEHIND` says
    limit : how many changes to show
    """
    columns = ["what changed", "cases", "worse", "such as"]
    rows = [
        {
            "what changed": visible(behind_words(row)),
            "cases": row["n_cases"],
            "worse": row["n_worse"],
            "such as": listing(row["case_ids"], limit=3),
        }
        for row in to_records(behind)[:limit]
    ]
    return styled(pd.DataFrame(rows, columns=columns), caption="What lies behind it, exploratory")


def shifts_table(comparison: Comparison) -> Styler:
    """Show shifts in length, refusals, language and formatting."""
    rows = [
        {
            "": row["metric"].replace("_", " "),
            comparison.a.name: row.get("mean_a"),
            comparison.b.name: row.get("mean_b"),
            **_figures(row),
            **(
                {"difference": rate(row.get("estimate"))} if row["metric"] == "length_ratio" else {}
            ),
        }
        for row in to_records(comparison.shifts)
    ]
    return styled(
        pd.DataFrame(rows),
        caption="Shifts; the length ratio is second over first, else second less first",
    )


def select_cases(
    comparison: Comparison, which: Which = "changed", *, member: str = "", scorer: str = ""
) -> pd.DataFrame:
    """Choose answers that differ; those of holdout cases are never among them.

    Parameters
    ----------
    comparison : any
    which : all that changed, or those of cases that got worse or better
    member : a slice such as `category=orders`, or the id of a case; all where empty
    scorer : only of cases that it scored, worse or better by its mean; where empty all cases, by
        their states

    Returns
    -------
    a differences frame

    Raises
    ------
    ValueError
        If `which` or `scorer` is unknown, or a slice is of no field of the suite.
    """
    if which not in ("changed", "worse", "better"):
        raise ValueError(f"`which` must be changed, worse or better. Got {which!r}.")
    found = comparison.cases[~comparison.cases["case_id"].isin(holdout_cases(comparison.golden))]
    if scorer:
        before, now = _means(comparison, found["case_id"], scorer)
        scored = (before.notna() | now.notna()).astype(bool)
    else:
        before, now = (found[name].map(_ORDER) for name in ("state_before", "state_now"))
        scored = pd.Series(True, index=found.index)
    if which != "changed":
        apart = (now < before) if which == "worse" else (now > before)
        scored &= apart.fillna(value=False).astype(bool)
    found = found[scored]
    if "=" in member:
        field, _, value = member.partition("=")
        if field not in comparison.golden.settings.slices:
            known = ", ".join(comparison.golden.settings.slices)
            raise ValueError(f"`member` must be a slice by one of {known}. Got {member!r}.")
        ids = {case.id for case in comparison.golden.filter(**{field: value})}
        found = found[found["case_id"].isin(ids)]
    elif member:
        found = found[found["case_id"] == member]
    return found.reset_index(drop=True)


def compared_scorers(comparison: Comparison) -> list[str]:
    """Return the scorers that scored anything on either side."""
    return [name for name in comparison.scores["scorer"].unique().tolist() if name != CASE]


def _means(comparison: Comparison, case_ids: pd.Series, scorer: str) -> list[pd.Series]:
    """Return a scorer's mean of each case, before and now; NA where it did not score the case."""
    known = compared_scorers(comparison)
    if scorer not in known:
        raise ValueError(f"`scorer` must be one of {', '.join(known)}. Got {scorer!r}.")
    means = []
    for side in (comparison.a, comparison.b):
        rows = side.counts[side.counts["scorer"] == scorer]
        means.append(case_ids.map(rows.set_index("case_id")["mean"]).astype("Float64"))
    return means


class Beside:
    """Answers side by side, for a notebook; all that they say is escaped."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], names: tuple[str, str], n: int) -> None:
        self._rows = rows
        self._names = names
        self._n = n

    def _repr_html_(self) -> str:
        """Return a table with deleted words struck through and added ones underlined."""
        heads = "".join(f"<th scope='col'>{_escaped(name)}</th>" for name in ("case", *self._names))
        body = "".join(_beside_row(row) for row in self._rows)
        caption = f"{len(self._rows):,} of {count(self._n, 'answer')} that differ"
        return (
            f"{_STYLE}<table class='evalnb-beside mathjax_ignore tex2jax_ignore'>"
            f"<caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def __repr__(self) -> str:
        """Return how many answers are shown."""
        return f"{len(self._rows):,} of {count(self._n, 'answer')} that differ"


def beside(comparison: Comparison, cases: pd.DataFrame, *, limit: int = 10) -> Beside:
    """Show answers side by side, with the words that differ marked, and tool calls.

    Parameters
    ----------
    comparison : whose sides they are
    cases : a differences frame, as `select_cases` gives it
    limit : how many to show
    """
    names = (comparison.a.name, comparison.b.name)
    return Beside(to_records(cases.head(limit)), names, len(cases))


def reasons_table(comparison: Comparison, case_id: str, repeat: int) -> Styler:
    """Show what the scorers and judges said of an answer on either side.

    Parameters
    ----------
    comparison : any; a baseline has no reasons
    case_id, repeat : which answer
    """
    said: dict[str, dict[str, str]] = {}
    for side in (comparison.a, comparison.b):
        scores = side.scores
        if scores is None:
            continue
        of_answer = scores[(scores["case_id"] == case_id) & (scores["repeat"] == repeat)]
        for row in to_records(of_answer):
            said.setdefault(row["scorer"], {})[side.name] = _said(row)
    said |= _preferred(comparison, case_id, repeat)
    columns = ["scorer", *dict.fromkeys((comparison.a.name, comparison.b.name))]
    rows = [{"scorer": scorer, **texts} for scorer, texts in said.items()]
    return styled(pd.DataFrame(rows, columns=columns), caption="Scores and reasons", limit=1_000)


def _preferred(comparison: Comparison, case_id: str, repeat: int) -> dict[str, dict[str, str]]:
    """Return what a judge of pairs said of an answer, shown first on either side."""
    pairs = comparison.pairs
    of_answer = pairs[(pairs["case_id"] == case_id) & (pairs["repeat"] == repeat)]
    names = {"a": comparison.a.name, "b": comparison.b.name, "tie": "a tie"}
    return {
        f"pair: {names[row['winner']]}": {
            names["a"]: f"shown first: {row.get('reason_ab', '')}",
            names["b"]: f"shown first: {row.get('reason_ba', '')}",
        }
        for row in to_records(of_answer)
        if "winner" in row
    }


def _said(row: Mapping[str, Any]) -> str:
    if "na_reason" in row:
        return f"not scored: {row['na_reason']}"
    verdict = "passed" if row.get("passed") else "failed"
    return f"{verdict}, {rate(row.get('value'))}: {row.get('reason', '')}"


_STYLE = (
    "<style>.evalnb-beside{border-collapse:collapse}"
    ".evalnb-beside caption{text-align:left;font-weight:bold;padding:4px 8px}"
    # JupyterLab's own rule for cells is the more specific one.
    ".evalnb-beside th,.evalnb-beside td{text-align:left!important}"
    ".evalnb-beside th,.evalnb-beside td{vertical-align:top;padding:4px 8px;"
    "max-width:32em;overflow-wrap:anywhere;white-space:pre-wrap}"
    ".evalnb-beside thead th{border-bottom:1px solid currentColor}"
    ".evalnb-beside del{background:#f9d9cf;color:#222}"
    ".evalnb-beside ins{background:#cfe3f1;color:#222}</style>"
)


def _beside_row(row: Mapping[str, Any]) -> str:
    texts = [visible(str(row.get(f"text_{side}") or ""))[:_MOST_TEXT] for side in ("before", "now")]
    parts = word_differences(*texts)
    cells = []
    for side, kind, tag in (("before", "deleted", "del"), ("now", "added", "ins")):
        marked = "".join(
            f"<{tag}>{html.escape(part.text)}</{tag}>"
            if part.kind == kind
            else html.escape(part.text)
            for part in parts
            if part.kind in ("same", kind)
        )
        calls = "".join(f"\n→ {_call(call)}" for call in row.get(f"tool_calls_{side}") or [])
        state = row.get(f"state_{side}")
        cells.append(f"<td>{_escaped(state) + ': ' if state else ''}{marked}{calls}</td>")
    key = f"{_escaped(row['case_id'])}, repeat {row['repeat']}"
    return f"<tr><th scope='row'>{key}</th>{''.join(cells)}</tr>"


def _call(call: Mapping[str, Any]) -> str:
    arguments = json.dumps(call.get("arguments"), ensure_ascii=False, default=str)
    return _escaped(f"{call.get('name')}({arguments})", limit=1_000)


def _escaped(text: Any, *, limit: int = 200) -> str:
    return html.escape(one_line(str(text), limit=limit))


def _instead(row: Mapping[str, Any]) -> str:
    if "replaced_by" not in row:
        return ""
    rates = f"{rate(row['replacement_rate_a'])} → {rate(row['replacement_rate_b'])}"
    return f"{row['replaced_by']} ({rates})"


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "difference": difference(row.get("estimate")),
        "95%": interval(row.get("ci_low"), row.get("ci_high")),
        "p": p_value(row.get("p_adjusted")),
        "cases": row["n"],
    }
