"""What lies behind a drop: the tool calls, wordings and answers that changed, ranked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evalnb.advice import by_basis, same_basis
from evalnb.baseline import CASE, count
from evalnb.frames import FrameSchema, to_records
from evalnb.holdout import shown
from evalnb.jsontext import same_json
from evalnb.matching import normalize
from evalnb.phrase_rule import wording_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.runs import Run

__all__ = ["BEHIND", "changes_behind"]

BEHIND = FrameSchema(
    "changes behind a drop",
    {
        "kind": "string",
        "what": "string",
        "before": "string",
        "now": "string",
        "n_worse": "Int64",
        "n_cases": "Int64",
        "case_ids": "object",
    },
    key=("kind", "what", "before", "now"),
)
"""A row a change, those in most cases that got worse first.

`kind` is `tool call`, `phrase` or `answer`. `n_cases` counts the cases that have the change,
`n_worse` those among them whose pass rate fell, `case_ids` are these, else the others. `before` and
`now` quote untrusted answers. None of it is of holdout cases. It explores, and never decides.
"""

_MOST_ANSWERS = 5
_EXCERPT = 200
_Repeats = dict[str, list[dict[str, Any]]]


def changes_behind(run: Run) -> pd.DataFrame:
    """Rank what changed between the baseline's answers and a run's.

    Parameters
    ----------
    run : with its golden set and baseline; without them nothing is found

    Returns
    -------
    a frame as `BEHIND` says : tools that are called in more or fewer repeats of a case, or with other
        arguments; wordings that changed by more than chance; and the five answers that fell furthest
    """
    if run.golden is None or run.baseline is None:
        return BEHIND.empty()
    before = _by_case(shown(run.golden, run.baseline.outputs))
    now = _by_case(shown(run.golden, run.outputs))
    both = [name for name in now if name in before]
    worse = _fallen(run, run.baseline)
    rows = [*_of_calls(before, now, both), *_of_phrases(run, before, now, both)]
    rows += _of_answers(before, now, [name for name in worse if name in both])
    for row in rows:
        names = row["case_ids"]
        fell = [name for name in worse if name in set(names)]
        row |= {"n_cases": len(names), "n_worse": len(fell), "case_ids": fell or names}
    rows.sort(key=lambda row: (-row["n_worse"], -row["n_cases"], row["kind"], row["what"]))
    return BEHIND.build(rows)


def _by_case(outputs: pd.DataFrame) -> _Repeats:
    cases: _Repeats = {}
    for row in to_records(outputs):
        if "na_reason" not in row:
            cases.setdefault(row["case_id"], []).append(row)
    return cases


def _fallen(run: Run, baseline: Baseline) -> list[str]:
    """Return the cases whose pass rate fell, furthest first."""
    same = same_basis(run.scores, baseline)
    sides = []
    for counts in (baseline.counts, count(run.scores)):
        cases = by_basis(counts, same=same)
        cases = cases[(cases["scorer"] == CASE) & (cases["n_scored"] > 0)]
        sides.append((cases["n_passed"] / cases["n_scored"]).set_axis(cases["case_id"]))
    falls = (sides[0] - sides[1]).dropna()
    return [str(name) for name in falls[falls > 0].sort_values(ascending=False).index]


def _of_calls(before: _Repeats, now: _Repeats, names: list[str]) -> Iterator[dict[str, Any]]:
    found: dict[str, list[str]] = {}
    for name in names:
        shares = [_tools(side[name]) for side in (before, now)]
        for tool in sorted(set(shares[0]) | set(shares[1])):
            one, other = (share.get(tool, 0.0) for share in shares)
            if one != other:
                how = "is called less often" if one > other else "is called more often"
            elif _differ(before[name], now[name], tool):
                how = "is called with other arguments"
            else:
                continue
            found.setdefault(f"{tool} {how}", []).append(name)
    for what, cases in found.items():
        yield {"kind": "tool call", "what": what, "before": "", "now": "", "case_ids": cases}


def _tools(repeats: list[dict[str, Any]]) -> Mapping[str, float]:
    """Return tool to its calls per repeat."""
    calls = Counter(call["name"] for row in repeats for call in row.get("tool_calls") or ())
    return {tool: n / len(repeats) for tool, n in calls.items()}


def _differ(before: list[dict[str, Any]], now: list[dict[str, Any]], tool: str) -> bool:
    """Tell whether a tool is called with arguments that no repeat of the other side has."""
    one, other = (
        [
            call.get("arguments")
            for row in side
            for call in row.get("tool_calls") or ()
            if call["name"] == tool
        ]
        for side in (before, now)
    )
    return not any(same_json(a, b) for a in one for b in other)


def _of_phrases(
    run: Run, before: _Repeats, now: _Repeats, names: list[str]
) -> Iterator[dict[str, Any]]:
    for row in to_records(wording_of(run).changes):
        phrase = _bare(row["phrase"])
        cases = [name for name in names if _has(before[name], phrase) != _has(now[name], phrase)]
        yield {"kind": "phrase", **_wording(row), "case_ids": cases}


def _wording(row: Mapping[str, Any]) -> dict[str, str]:
    """Return how a wording changed, with what stands before and now."""
    phrase, change = row["phrase"], row["change"]
    if change == "appeared":
        return {"what": change, "before": "", "now": phrase}
    if change == "replaced":
        return {"what": change, "before": phrase, "now": row["replaced_by"]}
    how = "more" if row["difference"] > 0 else "less"
    what = change if change == "vanished" else f"said {how} often"
    return {"what": what, "before": phrase, "now": ""}


def _of_answers(before: _Repeats, now: _Repeats, fallen: list[str]) -> Iterator[dict[str, Any]]:
    for name in fallen[:_MOST_ANSWERS]:
        texts = [side[name][0].get("text", "") for side in (before, now)]
        if texts[0] != texts[1]:
            one, other = (text[:_EXCERPT] + "…" * (len(text) > _EXCERPT) for text in texts)
            yield {"kind": "answer", "what": name, "before": one, "now": other, "case_ids": [name]}


def _has(repeats: list[dict[str, Any]], phrase: str) -> bool:
    return any(phrase in _bare(row.get("text", "")) for row in repeats)


def _bare(text: str) -> str:
    return " ".join(normalize(text).split())
