"""What a run answers differently from an earlier one, case by case and word by word."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import regex

from evalnb.baseline import CASE
from evalnb.frames import FrameSchema, to_records
from evalnb.jsontext import same_json
from evalnb.stats.case_states import state_over_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from evalnb.baseline import Baseline
    from evalnb.runs import Run

__all__ = [
    "DIFFERENCES",
    "Earlier",
    "Part",
    "differences",
    "earlier_baseline",
    "found",
    "states",
    "word_differences",
]

Record = dict[str, Any]

DIFFERENCES = FrameSchema(
    "differences",
    {
        "case_id": "string",
        "repeat": "Int64",
        "against": "string",
        "state_before": "string",
        "state_now": "string",
        "text_before": "string",
        "text_now": "string",
        "tool_calls_before": "object",
        "tool_calls_now": "object",
    },
    key=("case_id", "repeat", "against"),
)
"""A row a case and repeat that both runs have and that differ in state, text or tool calls.

`against` names the earlier run; the states are the case's over all its repeats, NA without a
verdict.
"""

_ANSWER = ("case_id", "repeat", "output_hash", "text", "tool_calls")

_MAX_WORDS = 400
"""Above this the changed middle of two texts is shown as a whole: comparing takes its square."""

_NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"(?V1)[[\p{{L}}\p{{M}}\p{{N}}_]--[{_NO_SPACES}]]+|\s+|\X")
"""A word, a space, or one sign of what is written without spaces."""


@dataclass(frozen=True)
class Earlier:
    """A run to compare with.

    Attributes
    ----------
    name : what it is called in reports
    outputs : records of an outputs frame
    states : case id to pass, fail or unstable, for the cases with a verdict
    """

    name: str
    outputs: Iterable[Mapping[str, Any]]
    states: Mapping[str, str]


class Part(NamedTuple):
    """A piece of two texts that is in both, was deleted or was added."""

    kind: Literal["same", "deleted", "added"]
    text: str


def earlier_baseline(baseline: Baseline, needed: int | None = None) -> Earlier:
    """Return a baseline as a run to compare with.

    Parameters
    ----------
    baseline : the accepted run
    needed : so many repeats of a case must pass; None for all
    """
    whole = to_records(baseline.counts[baseline.counts["scorer"] == CASE])
    found = {
        row["case_id"]: state_over_repeats(
            row["n_passed"], row["n_scored"], row["n_repeats"], needed
        )
        for row in whole
    }
    states = {case_id: str(state) for case_id, state in found.items() if state is not None}
    run_id = baseline.manifest.get("run_id")
    return Earlier(
        f"the baseline, run {run_id}", to_records(baseline.outputs[list(_ANSWER)]), states
    )


def differences(run: Run, earlier: Earlier) -> pd.DataFrame:
    """Compare a run with an earlier one.

    Parameters
    ----------
    run : any run
    earlier : such as `earlier_baseline` gives it

    Returns
    -------
    a differences frame : first what got worse, then what got better, then the others
    """
    return DIFFERENCES.build(
        found(to_records(run.outputs), states(to_records(run.results)), earlier)
    )


def states(results: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return case id to state, for the records of a results frame that have a verdict."""
    return {row["case_id"]: row["state"] for row in results if "state" in row}


def found(
    outputs: Iterable[Mapping[str, Any]], now: Mapping[str, str], earlier: Earlier
) -> list[Record]:
    """Return the records of `differences`.

    Parameters
    ----------
    outputs : records of an outputs frame
    now : case id to state
    earlier : the other run
    """
    answers = {(row["case_id"], row["repeat"]): row for row in outputs}
    rows = [
        _difference(before, answers[before["case_id"], before["repeat"]], now, earlier)
        for before in earlier.outputs
        if (before.get("case_id"), before.get("repeat")) in answers
    ]
    return sorted((row for row in rows if row is not None), key=_rank)


def word_differences(before: str, now: str) -> list[Part]:
    """Tell which words of a text were deleted and which were added.

    Parameters
    ----------
    before, now : texts; of long ones, all between their common start and end counts as changed

    Returns
    -------
    parts in reading order
        Those of the kinds same and deleted make up `before`, same and added `now`.

    Examples
    --------
    >>> [part.text for part in word_differences("your order number", "your inquiry number")]
    ['your ', 'order', 'inquiry', ' number']
    """
    one, two = _WORD.findall(before), _WORD.findall(now)
    start = _n_common(one, two)
    end = _n_common(one[start:][::-1], two[start:][::-1])
    middles = one[start : len(one) - end], two[start : len(two) - end]
    parts = [
        Part("same", "".join(one[:start])),
        *_changed(*middles),
        Part("same", "".join(one[len(one) - end :])),
    ]
    return [part for part in parts if part.text]


def _difference(
    before: Mapping[str, Any], after: Mapping[str, Any], now: Mapping[str, str], earlier: Earlier
) -> Record | None:
    case_id = after["case_id"]
    state_before, state_now = earlier.states.get(case_id), now.get(case_id)
    if state_before == state_now and _same_answer(before, after):
        return None
    return {
        "case_id": case_id,
        "repeat": after["repeat"],
        "against": earlier.name,
        "state_before": state_before,
        "state_now": state_now,
        "text_before": before.get("text"),
        "text_now": after.get("text"),
        "tool_calls_before": before.get("tool_calls") or [],
        "tool_calls_now": after.get("tool_calls") or [],
    }


def _same_answer(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if "output_hash" in before and "output_hash" in now:
        return bool(before["output_hash"] == now["output_hash"])
    return before.get("text") == now.get("text") and same_json(
        before.get("tool_calls") or [], now.get("tool_calls") or []
    )


def _rank(row: Record) -> int:
    """Worse before better before other words."""
    order = {"fail": 0, "unstable": 1, "pass": 2}
    before, now = order.get(row["state_before"] or ""), order.get(row["state_now"] or "")
    if before == now:
        return 3
    if before is None or now is None:
        return 2
    return 0 if now < before else 1


def _n_common(one: Sequence[str], two: Sequence[str]) -> int:
    pairs = enumerate(zip(one, two, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(two)))


def _changed(one: Sequence[str], two: Sequence[str]) -> Iterator[Part]:
    if max(len(one), len(two)) > _MAX_WORDS:
        yield Part("deleted", "".join(one))
        yield Part("added", "".join(two))
        return
    matcher = SequenceMatcher(None, one, two)
    for kind, one_from, one_to, two_from, two_to in matcher.get_opcodes():
        deleted, added = "".join(one[one_from:one_to]), "".join(two[two_from:two_to])
        if kind == "equal":
            yield Part("same", deleted)
        else:
            yield Part("deleted", deleted)
            yield Part("added", added)
