"""What a rater is shown: a case and an output, or two, blind to who gave them and to any score."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.curation.scales import PREFERENCE
from evalnb.frames import to_records
from evalnb.jsontext import writable_text
from evalnb.reports.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from evalnb.cases import Case
    from evalnb.curation.scales import Scale
    from evalnb.golden import GoldenSet

__all__ = ["Item", "LeftOut", "items_to_rate", "pairs_to_rate"]

LeftOut = dict[str, int]
"""Why outputs are not shown, and how many."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Item:
    """One output of a case, or two beside each other, with the scales to rate on.

    Attributes
    ----------
    case_id, output_hash, other_hash : what is rated; `other_hash` for a pair
    scales : what is asked
    question : what all who rate it see: conversation, context, criteria
    answers : the output as it is shown; of a pair both, that of `output_hash` first
    run_id, sample : where it comes from
    """

    case_id: str
    output_hash: str
    scales: tuple[Scale, ...]
    question: Mapping[str, Any]
    answers: tuple[Mapping[str, Any], ...]
    other_hash: str | None = None
    run_id: str | None = None
    sample: str | None = None

    @property
    def rated(self) -> tuple[str, str, str | None]:
        """What a line of a label file is about."""
        return self.case_id, self.output_hash, self.other_hash

    @property
    def id(self) -> str:
        """A name that says nothing of where it comes from."""
        text = json.dumps(self.rated)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def items_to_rate(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    scales: Sequence[Scale],
    *,
    sample: str | None = None,
) -> tuple[list[Item], LeftOut]:
    """Return the outputs that can be rated one by one.

    Parameters
    ----------
    golden : the cases
    outputs : an outputs frame
    scales : what is asked; those that a case has nothing for are left out of its items
    sample : the id of the sample that the outputs were drawn in

    Returns
    -------
    items : one for each distinct output of a case
    left_out : the others, by reason
    """
    left_out: LeftOut = {}
    items: dict[tuple[str, str], Item] = {}
    for row in _there(outputs, left_out):
        case = golden[row["case_id"]]
        asked = tuple(scale for scale in scales if scale.applies_to(case))
        if (row["case_id"], row["output_hash"]) in items:
            _count(left_out, "equal to another answer of the case")
        elif not asked:
            _count(left_out, "of cases that none of the axes is about")
        else:
            items[row["case_id"], row["output_hash"]] = Item(
                case_id=case.id,
                output_hash=row["output_hash"],
                scales=asked,
                question=_question(case, with_criteria=any(scale.needs_rubric for scale in asked)),
                answers=(_answer(row),),
                run_id=row.get("run_id"),
                sample=sample,
            )
    return list(items.values()), left_out


def pairs_to_rate(
    golden: GoldenSet,
    outputs: pd.DataFrame,
    others: pd.DataFrame,
    *,
    sample: str | None = None,
) -> tuple[list[Item], LeftOut]:
    """Return outputs of two runs beside each other, for the cases and repeats that both have.

    Parameters
    ----------
    golden : the cases
    outputs, others : outputs frames
    sample : the id of the sample that `outputs` were drawn in

    Returns
    -------
    items : one for each distinct pair of different outputs
    left_out : the others, by reason
    """
    left_out: LeftOut = {}
    beside = {(row["case_id"], row["repeat"]): row for row in _there(others, {})}
    items: dict[tuple[str, str, str | None], Item] = {}
    for row in _there(outputs, left_out):
        other = beside.get((row["case_id"], row["repeat"]))
        if other is None:
            _count(left_out, "without an answer of the other run")
            continue
        if row["output_hash"] == other["output_hash"]:
            _count(left_out, "the same in both runs")
            continue
        case = golden[row["case_id"]]
        item = Item(
            case_id=case.id,
            output_hash=row["output_hash"],
            other_hash=other["output_hash"],
            scales=(PREFERENCE,),
            question=_question(case, with_criteria=True),
            answers=(_answer(row), _answer(other)),
            run_id=row.get("run_id"),
            sample=sample,
        )
        if item.rated in items:
            _count(left_out, "equal to another pair of the case")
        else:
            items[item.rated] = item
    return list(items.values()), left_out


def _there(outputs: pd.DataFrame, left_out: LeftOut) -> list[Record]:
    """Return the outputs that are there, the lowest repeat of a case first."""
    rows = sorted(to_records(outputs), key=lambda row: (row["case_id"], row["repeat"]))
    there = [row for row in rows if "na_reason" not in row and "output_hash" in row]
    if len(there) < len(rows):
        left_out["without an answer"] = len(rows) - len(there)
    return there


def _count(left_out: LeftOut, why: str) -> None:
    left_out[why] = left_out.get(why, 0) + 1


def _question(case: Case, *, with_criteria: bool) -> Record:
    """Return what the case says, without its id: that may tell what is expected."""
    passages = [
        {"title": passage.id or "", "text": _text(passage.text)} for passage in case.context or ()
    ]
    state = [
        {"title": name, "text": value if isinstance(value, str) else _json(value)}
        for name, value in (case.state or {}).items()
    ]
    return {
        "conversation": _conversation(case),
        "context": [*passages, *state],
        "criteria": _criteria(case) if with_criteria else [],
    }


def _conversation(case: Case) -> list[Record]:
    if case.turns is not None:
        return [
            {"who": f"User, turn {number}", "text": _text(turn.input)}
            for number, turn in enumerate(case.turns, 1)
        ]
    return [
        {"who": message["role"].capitalize(), "text": _content(message["content"])}
        for message in case.conversation()
    ]


def _criteria(case: Case) -> list[str]:
    turns = [
        f"Turn {number}: {text}"
        for number, turn in enumerate(case.turns or (), 1)
        for text in turn.rubric or ()
    ]
    return [_text(text) for text in [*(case.rubric or ()), *turns]]


def _answer(row: Mapping[str, Any]) -> Record:
    """Return an output as it is shown: texts and tool calls, turn by turn, and nothing else."""
    turns = row.get("turns") or ()
    if not turns:
        return {"parts": [_part(row, "")]}
    return {"parts": [_part(turn, f"Turn {number}") for number, turn in enumerate(turns, 1)]}


def _part(output: Mapping[str, Any], title: str) -> Record:
    calls = [
        {"name": _text(call["name"]), "arguments": _json(call["arguments"])}
        for call in output.get("tool_calls") or ()
    ]
    text = _text(output.get("text") or "")
    remark = ""
    if output.get("stop_reason") == "refusal":
        remark = "The assistant declined to answer."
    elif not text and not calls:
        remark = "The answer is empty."
    return {"title": title, "text": text, "calls": calls, "remark": remark}


def _content(content: str | Iterable[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return _text(content)
    return "\n".join(
        _text(str(block["text"])) if "text" in block else _json(block) for block in content
    )


def _json(value: Any) -> str:
    return _text(json.dumps(value, ensure_ascii=False, indent=1))


def _text(text: str) -> str:
    return visible(writable_text(text))
