"""Columns, dtypes and keys of every frame, and the one check of them.

Frames are tidy: a row an observation, its key in columns, a fresh `RangeIndex` that means
nothing. Missing is NA, never "", -1 or 0. Columns that a schema does not name pass through at
the right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "BASELINE",
    "BY_PLAN",
    "CASES",
    "DECISION",
    "LABELS",
    "LOGS",
    "METRICS",
    "MISSES",
    "OUTPUTS",
    "PAIRS",
    "PHRASES",
    "RESULTS",
    "SCORES",
    "SLICES",
    "VERDICTS",
    "FrameSchema",
    "NaReason",
    "Outcome",
    "is_accident",
    "is_accident_record",
    "is_advisory_record",
    "to_records",
]

_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs
_CHUNK = 4096


class NaReason(StrEnum):
    """Why a value is missing: the one vocabulary of the package."""

    NO_JUDGE = "no_judge"
    """By plan: the expectation needs a judge and the run has none."""
    SKIPPED_BY_RULE = "skipped_by_rule"
    """By plan: a rule already failed the output, so that no judge was asked."""
    NOT_APPLICABLE = "not_applicable"
    """By plan: the scorer does not apply to this output."""
    NO_SCORER = "no_scorer"
    """By plan: the case states an expectation that this version has no scorer for."""
    CURTAILED = "curtailed"
    """By plan: a live run stopped before, since it was certain that scores had fallen."""

    MISS = "miss"
    """The request was not in any cassette."""
    REFUSAL = "refusal"
    """A judge declined to answer."""
    TRUNCATED = "truncated"
    """A judge's verdict was cut off."""
    EMPTY = "empty"
    """The model finished without text and without a tool call."""
    BAD_VERDICT = "bad_verdict"
    """A judge's verdict could not be read."""
    MISSING_AXIS = "missing_axis"
    """A judge's verdict lacks a part that it was asked for."""
    OUT_OF_RANGE = "out_of_range"
    """A judge's score is not on its scale."""
    BAD_REQUEST = "bad_request"
    """The API did not accept the request."""
    SERVER = "server"
    """No answer from the API after its retries."""
    DEADLINE = "deadline"
    """The time of the run was used up."""
    BUDGET = "budget"
    """The money of the run was used up."""
    INCOMPLETE = "incomplete"
    """The response broke off."""
    UNKNOWN_STOP = "unknown_stop"
    """The response ended for a reason that this version does not know."""
    SYSTEM_ERROR = "system_error"
    """The system under test raised."""
    SCORER_ERROR = "scorer_error"
    """The scorer raised."""


BY_PLAN = frozenset(
    {
        NaReason.NO_JUDGE,
        NaReason.SKIPPED_BY_RULE,
        NaReason.NOT_APPLICABLE,
        NaReason.NO_SCORER,
        NaReason.CURTAILED,
    }
)
"""Reasons that do not count towards the budget of missing values."""


def is_accident(reasons: pd.Series) -> pd.Series:
    """Tell which missing values happened by accident rather than by plan.

    Parameters
    ----------
    reasons : values of `NaReason` or NA

    Returns
    -------
    boolean, False where `reasons` is NA
    """
    return (reasons.notna() & ~reasons.isin(BY_PLAN)).astype("boolean")


def is_accident_record(record: Mapping[str, Any]) -> bool:
    """Tell whether a record of an output or score is missing by accident; see `is_accident`."""
    return "na_reason" in record and record["na_reason"] not in BY_PLAN


def is_advisory_record(record: Mapping[str, Any]) -> bool:
    """Tell whether a record of a score is a judge's that has no valid certificate."""
    return record.get("tier") == "judge" and record.get("advisory") is not False


class Outcome(StrEnum):
    """What a gate decides, and what a row of its decision says."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOTE = "note"


@dataclass(frozen=True)
class FrameSchema:
    """Columns of one kind of frame.

    Attributes
    ----------
    name : what the frame is called in messages
    columns : column to dtype, in order; `object` holds nested lists and dicts
    key : columns that identify a row
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]

    def build(self, records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
        """Make a frame from one mapping a row; absent columns and None become NA.

        Parameters
        ----------
        records : mappings with the columns of this schema as keys

        Returns
        -------
        the schema's columns in order, then unknown ones

        Raises
        ------
        ValueError
            If two rows have the same key.
        """
        values, n_rows = _columns(records)
        names = [*self.columns, *(name for name in values if name not in self.columns)]
        data = {name: self._column(name, values.get(name), n_rows) for name in names}
        return self._keyed(pd.DataFrame(data, index=pd.RangeIndex(n_rows)))

    def empty(self) -> pd.DataFrame:
        """Make a frame without rows."""
        return self.build(())

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with this schema's order and dtypes.

        Parameters
        ----------
        frame : all columns of the schema, in any order

        Returns
        -------
        the schema's columns in order, then the others as they are

        Raises
        ------
        ValueError
            If a column is missing, a value does not fit its dtype, or two rows have the same key.
        """
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"a {self.name} frame needs the columns {', '.join(self.columns)}. "
                f"Missing: {', '.join(missing)}."
            )
        others = [name for name in frame.columns if name not in self.columns]
        ordered = frame[[*self.columns, *others]].reset_index(drop=True)
        return self._keyed(
            ordered.assign(
                **{name: self._typed(ordered[name], dtype) for name, dtype in self.columns.items()}
            )
        )

    def _keyed(self, frame: pd.DataFrame) -> pd.DataFrame:
        repeated = frame.duplicated(subset=list(self.key), keep=False)
        if repeated.any():
            first = frame[repeated].iloc[0]
            key = ", ".join(f"{name}={first[name]!r}" for name in self.key)
            raise ValueError(f"a {self.name} frame has one row for each key. Got two for {key}.")
        return frame

    def _column(self, name: str, values: list[Any] | None, n_rows: int) -> pd.Series:
        dtype = self.columns.get(name, "object")
        if values is None:
            return pd.Series(pd.NA, index=pd.RangeIndex(n_rows), dtype=dtype)
        if dtype == "object":
            values = [pd.NA if value is None else value for value in values]
        return self._typed(pd.Series(values, dtype="object", name=name), dtype)

    def _typed(self, column: pd.Series, dtype: str) -> pd.Series:
        if column.dtype == dtype:
            return column
        kinds = set(map(type, column.tolist())) - _MISSING_TYPES
        if dtype != "object" and not kinds <= _PLAIN_TYPES[dtype]:
            fits = _FITS[dtype]
            wrong = [value for value in column.dropna() if not fits(value)]
            if wrong:
                raise ValueError(
                    f"column `{column.name}` of a {self.name} frame must be {dtype}. "
                    f"Got {wrong[0]!r}."
                )
            if dtype == "string":  # members of an enumeration become plain text
                column = column.astype("object").map(str, na_action="ignore")
        if dtype == "string":
            return _texts(column)
        return column.astype(dtype)  # type: ignore[call-overload,no-any-return]


def _texts(column: pd.Series) -> pd.Series:
    """Return a column of texts; where pandas keeps them as Arrow does, they must be writable."""
    try:
        return column.astype("string")
    except UnicodeEncodeError:
        whole = column.map(lambda text: _HALVES.sub("\ufffd", text), na_action="ignore")
        return whole.astype("string")


def _columns(records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, list[Any]], int]:
    """Turn rows into columns, absent values into NA; and count the rows.

    By chunks, so that the rows of a large frame need not all be there at once.
    """
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    rows = iter(records)
    while chunk := list(islice(rows, _CHUNK)):
        for name in dict.fromkeys(chain.from_iterable(chunk)):
            column = columns.setdefault(name, [])
            column += [pd.NA] * (n_rows - len(column))
            column += [row.get(name, pd.NA) for row in chunk]
        n_rows += len(chunk)
    for column in columns.values():
        column += [pd.NA] * (n_rows - len(column))
    return columns, n_rows


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


# pandas would turn 1 into "1", "1" into 1 and True into 1.0 unasked.
_FITS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "Float64": _is_number,
    "Int64": lambda value: _is_number(value) and float(value).is_integer(),
    "boolean": lambda value: isinstance(value, (bool, np.bool_)),
}
# Columns of these types alone need no look at each value.
_PLAIN_TYPES: dict[str, set[type]] = {
    "string": {str},
    "Float64": {float, int},
    "Int64": {int},
    "boolean": {bool},
}
_MISSING_TYPES = {type(None), type(pd.NA)}

CASES = FrameSchema(
    "cases",
    {
        "case_id": "string",
        "category": "string",
        "language": "string",
        "tags": "object",
        "conversation_id": "string",
        "input": "string",
        "messages": "object",
        "turns": "object",
        "state": "object",
        "context": "object",
        "expected_exact": "string",
        "must_contain": "object",
        "rubric": "object",
        "expected_keywords": "object",
        "min_keyword_ratio": "Float64",
        "must_not_include": "object",
        "expected_intent": "string",
        "expected_tool_calls": "object",
        "tools": "object",
        "tools_mock": "object",
        "expected_schema": "object",
        "relevant_ids": "object",
        "expect_refusal": "boolean",
        "reference": "string",
        "limits": "object",
        "split": "string",
        "added": "string",
        "source": "string",
        "reviewed_by": "string",
        "note": "string",
    },
    key=("case_id",),
)
"""A row a case; the fields of `evalnb.cases.Case` as columns, `id` as `case_id`."""

OUTPUTS = FrameSchema(
    "outputs",
    {
        "run_id": "string",
        "case_id": "string",
        "repeat": "Int64",
        "output_hash": "string",
        "system": "string",
        "model": "string",
        "text": "string",
        "tool_calls": "object",
        "messages": "object",
        "turns": "object",
        "retrieved_ids": "object",
        "stop_reason": "string",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "cache_read_tokens": "Int64",
        "cache_write_tokens": "Int64",
        "cost_usd": "Float64",
        "latency_ms": "Float64",
        "mode": "string",
        "request_keys": "object",
        "na_reason": "string",
        "error": "string",
    },
    key=("case_id", "repeat"),
)
"""A row a case and repeat: what the system gave, or why it gave nothing.

`tool_calls` is a list of `{"name", "arguments"}` in order, `messages` the trajectory as
Messages API messages, `turns` the `{"text", "tool_calls", "stop_reason"}` of each turn of a played
conversation, `retrieved_ids` a ranking of passage ids, `request_keys` the cassette keys of its
requests, `model` the id as the API returned it, `output_hash` a hash of text and tool calls.
`cost_usd` is what its requests cost at list price, in replay what they cost when they were
recorded; NA where a model has no known price.
"""

SCORES = FrameSchema(
    "scores",
    {
        "run_id": "string",
        "case_id": "string",
        "repeat": "Int64",
        "output_hash": "string",
        "scorer": "string",
        "tier": "string",
        "value": "Float64",
        "raw_value": "Float64",
        "passed": "boolean",
        "reason": "string",
        "judge_model": "string",
        "judge_model_answered": "string",
        "judge_fingerprint": "string",
        "advisory": "boolean",
        "cost_usd": "Float64",
        "na_reason": "string",
        "error": "string",
    },
    key=("case_id", "repeat", "scorer"),
)
"""A row a case, repeat and scorer. `value` is in [0, 1]; `tier` is `rule` or `judge`.

A judge with several axes has a row for each; `raw_value` is then the score as it was answered,
`cost_usd` the row's share of what its calls cost. `advisory` is False for a judge's score that
counts by its certificate; other scores of judges are advice.
"""

VERDICTS = FrameSchema(
    "verdicts",
    {
        "run_id": "string",
        "case_id": "string",
        "repeat": "Int64",
        "output_hash": "string",
        "judge": "string",
        "part": "string",
        "judge_repeat": "Int64",
        "answers": "object",
        "text": "string",
        "stop_reason": "string",
        "judge_model": "string",
        "judge_model_answered": "string",
        "judge_fingerprint": "string",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "thinking_tokens": "Int64",
        "cache_read_tokens": "Int64",
        "cache_write_tokens": "Int64",
        "cost_usd": "Float64",
        "latency_ms": "Float64",
        "mode": "string",
        "request_key": "string",
        "na_reason": "string",
        "error": "string",
    },
    key=("case_id", "repeat", "judge", "part", "judge_repeat"),
)
"""A row a judge's call: what it was asked about, what it answered and what that took.

`part` is the axis that the call was about, "all" where it was about everything; `judge_repeat`
counts equal calls from 1. `answers` is what the judge said, by the property that it was asked for,
`text` the same as it came. Tokens and cost are of this call, as in the outputs frame.
"""

PAIRS = FrameSchema(
    "pairs",
    {
        "case_id": "string",
        "repeat": "Int64",
        "system_a": "string",
        "system_b": "string",
        "hash_a": "string",
        "hash_b": "string",
        "n_characters_a": "Int64",
        "n_characters_b": "Int64",
        "verdict_ab": "string",
        "verdict_ba": "string",
        "winner": "string",
        "order_dependent": "boolean",
        "reason_ab": "string",
        "reason_ba": "string",
        "judge_model": "string",
        "judge_model_answered": "string",
        "judge_fingerprint": "string",
        "cost_usd": "Float64",
        "na_reason": "string",
        "error": "string",
    },
    key=("case_id", "repeat"),
)
"""A row a case and repeat that two systems answered: `a`, `b` or `tie`.

`verdict_ab` is what was said with the answer of `a` shown first, `verdict_ba` with that of `b`
first; where they differ, `winner` is `tie` and `order_dependent` is True. `n_characters_a` and
`n_characters_b` are the lengths of the texts.
"""

RESULTS = FrameSchema(
    "results",
    {
        "case_id": "string",
        "category": "string",
        "language": "string",
        "tags": "object",
        "split": "string",
        "n_repeats": "Int64",
        "n_scored": "Int64",
        "pass_rate": "Float64",
        "state": "string",
        "passed": "boolean",
        "mean_scores": "object",
        "latency_ms": "Float64",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "cost_usd": "Float64",
        "n_na_plan": "Int64",
        "n_na_accident": "Int64",
        "reasons": "object",
    },
    key=("case_id",),
)
"""A row a case.

A repeat is scored when something decided on it and nothing that decides is NA by accident; it
passes when nothing that decides fails. Rules decide, and judges with a valid certificate; what
others say is in `mean_scores` and `reasons` alone. `state` is `pass` (all scored repeats, or as many as the
suite's `passes_needed`), `fail` (none) or `unstable`, NA without any or where what is missing decides; `passed` is True only for `pass`. `mean_scores` maps scorer to mean value, `reasons`
lists the reasons of failed and missing scores, tokens and cost are totals over repeats, latency
is their mean.
"""

SLICES = FrameSchema(
    "slices",
    {
        "slice": "string",
        "value": "string",
        "n_planned": "Int64",
        "n_scored": "Int64",
        "pass_rate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "bound_low": "Float64",
        "bound_high": "Float64",
        "baseline_pass_rate": "Float64",
        "n_compared": "Int64",
    },
    key=("slice", "value"),
)
"""A row a value of a slicing field; `slice` is `all` for the suite as a whole.

`pass_rate` and its 95% interval are over the scored cases; `bound_low` and `bound_high` are the
rates over the planned cases if all that were not scored had failed or passed.
`baseline_pass_rate` is over the `n_compared` cases that both sides scored.
"""

BASELINE = FrameSchema(
    "baseline",
    {
        "case_id": "string",
        "scorer": "string",
        "n_repeats": "Int64",
        "n_scored": "Int64",
        "n_passed": "Int64",
        "mean": "Float64",
        "n_na": "Int64",
    },
    key=("case_id", "scorer"),
)
"""A row a case and scorer: the counts that a gate compares."""

DECISION = FrameSchema(
    "decision",
    {
        "rule": "string",
        "outcome": "string",
        "case_id": "string",
        "scorer": "string",
        "slice": "string",
        "baseline": "Float64",
        "candidate": "Float64",
        "reason": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "smallest_drop": "Float64",
        "n": "Int64",
        "method": "string",
    },
    key=("rule", "case_id", "scorer", "slice"),
)
"""A row a reason: `outcome` is `fail`, `inconclusive` or `note`.

Where answers are a sample, `estimate` is candidate minus baseline over `n` cases (or repeats of one
case; a ratio for limits), with its 95% interval, `p_value` the one-sided one of "no worse",
`p_adjusted` the same for all that were tested, `smallest_drop` what 8 of 10 runs would have found,
`method` test and interval. They are NA where a rule is exact.
"""

MISSES = FrameSchema(
    "misses",
    {
        "case_id": "string",
        "repeat": "Int64",
        "occurrence": "Int64",
        "kind": "string",
        "key": "string",
        "nearest_key": "string",
        "differences": "object",
        "explanation": "string",
    },
    key=("case_id", "repeat", "occurrence", "key"),
)
"""A row a request that no cassette holds.

`kind` is `request` (never recorded), `repeat` or `occurrence` (recorded, but not this often);
`differences` lists the paths in which the nearest recorded request differs.
"""

METRICS = FrameSchema(
    "metrics",
    {
        "metric": "string",
        "estimate": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "n": "Int64",
        "n_left_out": "Int64",
        "method": "string",
        "reason": "string",
        "warnings": "object",
    },
    key=("metric",),
)
"""A row a statistic, with its 95% interval.

`n_left_out` counts what could not be used; `reason` says why the estimate or interval is NA,
`warnings` lists what to know of an estimate that is there.
"""

LABELS = FrameSchema(
    "labels",
    {
        "case_id": "string",
        "run_id": "string",
        "output_hash": "string",
        "other_hash": "string",
        "rater": "string",
        "axis": "string",
        "value": "Float64",
        "note": "string",
        "sample": "string",
        "action": "string",
        "at": "string",
    },
    key=("case_id", "output_hash", "other_hash", "rater", "axis"),
)
"""A row an output, rater and axis: what a person said last.

`value` is the level on the axis as the person gave it. For a pair, `other_hash` is the output
that stood beside and `value` is 1 where the output of `output_hash` is the better one, 0 where the
other is, 0.5 for a tie. `action` is `label` or `skip`; a skipped output has no value. `sample` is
the sample for rating that the output was drawn in, NA where it was none; `at` is in UTC.
"""

PHRASES = FrameSchema(
    "phrases",
    {
        "phrase": "string",
        "change": "string",
        "replaced_by": "string",
        "rate_a": "Float64",
        "rate_b": "Float64",
        "difference": "Float64",
        "ci_low": "Float64",
        "ci_high": "Float64",
        "p_value": "Float64",
        "p_adjusted": "Float64",
        "n_cases": "Int64",
        "n_changed": "Int64",
        "method": "string",
        "replacement_rate_a": "Float64",
        "replacement_rate_b": "Float64",
        "folded": "object",
        "examples": "object",
    },
    key=("phrase",),
)
"""A row a word or phrase whose rate over cases differs between two sides.

`change` is `appeared` (no answer of the first side holds it), `vanished` (none of the second),
`replaced` (`replaced_by` came in its place, with the rates `replacement_rate_a` and
`replacement_rate_b`) or `shifted`. `rate_a` and `rate_b` are means over the `n_cases` cases of the
share of a case's answers that hold it, `difference` is second minus first with a 95% interval,
`n_changed` counts the cases whose share differs. `p_adjusted` is among all phrases that were tried.
`folded` lists phrases whose change is a part of this one, `examples` ids of cases that show it.
"""

LOGS = FrameSchema(
    "logs",
    {
        "conversation_id": "string",
        "turn": "Int64",
        "at": "string",
        "role": "string",
        "text": "string",
        "language": "string",
        "category": "string",
        "feedback": "Int64",
        "escalated": "boolean",
        "model": "string",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "latency_ms": "Float64",
        "trace_id": "string",
        "feedback_raw": "string",
    },
    key=("conversation_id", "turn"),
)
"""A row a message of production, in the order of its conversation.

`turn` counts the messages of a conversation from 1, `at` is in UTC. `role` is `user`, `assistant`,
`system`, `tool_call` (its text is a JSON object with `name` and `arguments`) or `tool_result`.
`feedback` is -1, 0 or 1 and stands at the message that it was given to, or at all where it was
given to the conversation; `feedback_raw` is what the log says. Texts are untrusted.
"""


def to_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain JSON values, without the columns that are NA.

    Parameters
    ----------
    frame : any frame of this module

    Returns
    -------
    one dict a row, in order
    """
    rows: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for number, name in enumerate(frame.columns):
        column = frame.iloc[:, number]
        missing = column.isna().to_numpy()
        if missing.all():
            continue
        values = column.tolist()
        if missing.any():
            for row, value, is_missing in zip(rows, values, missing.tolist(), strict=True):
                if not is_missing:
                    row[name] = value
        else:
            for row, value in zip(rows, values, strict=True):
                row[name] = value
    return rows
