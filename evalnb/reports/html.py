"""The report of a run as one HTML page that opens anywhere, without a network.

Nothing on the page is fetched and nothing runs: its policy forbids all but its own style. The
templates escape every value. Whatever the run, the page stays below 5 MB: listings are cut and
long texts shortened, and both say how much is left out.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from evalnb.costs import usage_by_model
from evalnb.frames import METRICS, Outcome, to_records
from evalnb.holdout import LOOKS, UNSAID
from evalnb.jsontext import dump_json
from evalnb.reports.differences import word_differences
from evalnb.reports.misses import miss_lines
from evalnb.reports.numbers import MISSING, count, milliseconds, tokens
from evalnb.reports.sentences import (
    baseline_sentence,
    confirmation_sentences,
    cost_sentences,
    holdout_sentences,
    outcome_words,
    overall_sentence,
    power_sentences,
    state_sentences,
    why,
    wording_sentences,
)
from evalnb.reports.text import cell_text, one_line, visible
from evalnb.reports.verdicts import judge_sentences, judged_counts
from evalnb.reports.views import decision_rows, failing_records, not_scored, slice_rates, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from evalnb.cases import Case
    from evalnb.runs import Run

__all__ = ["Page", "html_page", "templates"]

Record: TypeAlias = "Mapping[str, Any]"

_MAX_ANSWER = 4_000
_MAX_STEP = 1_500
_MAX_STEPS = 30
"""Characters of an answer and of a step of a trajectory; steps of a trajectory."""

_MAX_CASES = 100
_MAX_ROWS = 200
_MAX_BYTES = 600_000
"""Of one section; there are seven that may reach it."""

_MIN_P95 = 60
"""From so many answers on, a 95th percentile says something."""

_MANIFEST = (
    "run_id", "suite", "system", "system_fingerprint", "models", "mode", "tier", "repeats", "concurrency",
    "golden_version", "settings_fingerprint", "as_of", "started_at", "finished_at", "git_commit",
    "python", "packages", "record_command",
)  # fmt: skip

_STATES = {"pass": "✓ pass", "fail": "✕ fail", "unstable": "± unstable", None: "– not scored"}
_FINDINGS = {
    "What leaves it open": Outcome.INCONCLUSIVE,
    "What blocks": Outcome.FAIL,
    "Notes": Outcome.NOTE,
}


@dataclass(frozen=True)
class Page:
    """What a page is made of.

    Attributes
    ----------
    run : frames of the run; its reasons quote nothing of hidden cases
    outputs, scores, results : records of its frames
    hidden : ids of cases of which no text is shown
    differences : what changed against each earlier run, by its name
    cases : id to case, for those whose input is known
    rates : pass rates of dev and holdout cases, a metrics frame
    looks : at holdout cases, a looks frame
    """

    run: Run
    outputs: Sequence[Record]
    scores: Sequence[Record]
    results: Sequence[Record]
    hidden: frozenset[str] = frozenset()
    differences: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    cases: Mapping[str, Case] = field(default_factory=dict)
    rates: pd.DataFrame = field(default_factory=METRICS.empty)
    looks: pd.DataFrame = field(default_factory=LOOKS.empty)


class Shortened(NamedTuple):
    """The start of a text; `length` is that of the whole where something is left out."""

    text: str
    length: str | None = None


class Listing(NamedTuple):
    """The part of a list that is shown, as HTML, and how many are left out."""

    pieces: Sequence[str]
    n: str
    left_out: str | None


class Table(NamedTuple):
    """A table of texts; a column of numbers stands at the right."""

    caption: str
    columns: Sequence[tuple[str, bool]]
    rows: Listing


class Step(NamedTuple):
    """One step of a trajectory: who says or does what."""

    who: str
    what: Shortened


def html_page(page: Page) -> str:
    """Write the report of a run.

    Returns
    -------
    an HTML document
    """
    run, manifest = page.run, page.run.manifest
    findings = run.decision[run.decision["rule"] != "miss"] if len(run.misses) else run.decision
    failing = failing_records(page.results)
    misses = miss_lines(run.misses)
    text = templates().get_template("report.html.j2").render(
        parts=_parts(),
        title=f"{manifest['suite']}: {outcome_words(run.outcome, run.exit_code)}",
        outcome=run.outcome,
        why=why(run.outcome, run.exit_code, findings, run.misses),
        notice=manifest.get("notice"),
        overall=overall_sentence(run.slices),
        baseline=baseline_sentence(manifest),
        usage=[*cost_sentences(manifest, page.outputs), *_usage_sentences(page.outputs)],
        evidence=[
            *state_sentences(run.results, run.decision),
            *power_sentences(manifest),
            *wording_sentences(manifest),
            *confirmation_sentences(manifest),
        ],
        judges=judge_sentences(run),
        judged=_table(_spoken(judged_counts(run.scores)), "What the judges scored"),
        by_model=_table(
            _spoken(usage_by_model(run.outputs, run.verdicts)), "Tokens and cost by model"
        ),
        holdout=holdout_sentences(page.rates, page.looks, manifest["golden_version"], manifest.get("gap_change", ())),
        findings=[
            _table(decision_rows(findings, outcome), name) for name, outcome in _FINDINGS.items()
        ],
        slices=_slices_table(run.slices),
        not_scored=_table(not_scored(run.scores), "Scores without a value, by reason"),
        differences=[
            (name, _listing(_parts().difference, _shown_differences(rows, page), len(rows)))
            for name, rows in page.differences.items()
        ],
        failing=_listing(_parts().case, _shown_cases(failing, page), len(failing)),
        n_planned=count(len(page.results), "case"),
        misses=_listing(_parts().line, misses, len(misses), limit=_MAX_ROWS),
        record_command=manifest.get("record_command"),
        manifest=[
            (name.replace("_", " "), cell_text(manifest[name], limit=500))
            for name in _MANIFEST
            if manifest.get(name) is not None
        ],
    )  # fmt: skip
    return text.encode(errors="replace").decode()


def _spoken(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=words)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the templates of pages, which escape every value."""
    environment = Environment(
        loader=PackageLoader("evalnb.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    return environment


@lru_cache(maxsize=1)
def _parts() -> Any:
    return templates().get_template("parts.html.j2").module


def _listing(
    write: Callable[[Any], str], items: Iterable[Any], n: int, *, limit: int = _MAX_CASES
) -> Listing:
    """Write items up to the limits of a section."""
    pieces: list[str] = []
    size = 0
    for item in islice(items, limit):
        piece = write(item)
        size += len(piece.encode(errors="replace"))
        if size > _MAX_BYTES:
            break
        pieces.append(piece)
    left_out = n - len(pieces)
    return Listing(pieces, tokens(n), tokens(left_out) if left_out else None)


def _table(frame: pd.DataFrame, caption: str) -> Table:
    """Show a frame as texts, without the columns that are empty."""
    kept = frame.loc[:, frame.notna().any()].head(_MAX_ROWS)
    columns = [
        (str(name), pd.api.types.is_numeric_dtype(dtype))
        for name, dtype in kept.dtypes.items()
    ]  # fmt: skip
    rows = (
        [(cell_text(value, limit=300), number) for value, (_, number) in zip(row, columns, strict=True)]
        for row in kept.itertuples(index=False, name=None)
    )  # fmt: skip
    return Table(caption, columns, _listing(_parts().row, rows, len(frame), limit=_MAX_ROWS))


def _slices_table(slices: pd.DataFrame) -> Table:
    shown = slices.head(_MAX_ROWS)
    names = [
        "slice",
        "value",
        "pass rate",
        "95% interval",
        "scored",
        "bounds",
        "baseline",
        "change",
    ]
    texts = slice_rates(shown).assign(
        scored=[
            f"{tokens(scored)} of {tokens(planned)}"
            for scored, planned in zip(shown["n_scored"], shown["n_planned"], strict=True)
        ]
    )
    rows = (
        ([cell_text(value, limit=100) for value in row], bar)
        for row, bar in zip(
            texts[names].itertuples(index=False, name=None), to_records(shown), strict=True
        )
    )
    columns = [(name, False) for name in (*names, "from 0 to 1")]
    written = _listing(_parts().slice_row, rows, len(slices), limit=_MAX_ROWS)
    return Table("Pass rate by slice", columns, written)


def _usage_sentences(outputs: Sequence[Record]) -> list[str]:
    """Say tokens and latency, with how many answers they are of."""
    lines = []
    counted = [row for row in outputs if "input_tokens" in row or "output_tokens" in row]
    if counted:
        given, got = (
            sum(row.get(name, 0) for row in counted) for name in ("input_tokens", "output_tokens")
        )
        lines.append(
            f"Tokens: {tokens(given)} in, {tokens(got)} out, over {tokens(len(counted))} of "
            f"{count(len(outputs), 'answer')}."
        )
    times = sorted(row["latency_ms"] for row in outputs if "latency_ms" in row)
    if times:
        p95 = (
            f", 95th percentile {milliseconds(statistics.quantiles(times, n=20)[-1])}"
            if len(times) >= _MIN_P95
            else ""
        )
        lines.append(
            f"Latency: median {milliseconds(statistics.median(times))}{p95}, over "
            f"{tokens(len(times))} of {count(len(outputs), 'answer')}."
        )
    return lines


def _shown_cases(failing: Sequence[Record], page: Page) -> Iterator[dict[str, Any]]:
    rows = failing[:_MAX_CASES]
    outputs = _first_failed(rows, page)
    for row in rows:
        case_id = row["case_id"]
        hidden = case_id in page.hidden
        output = {} if hidden else outputs.get(case_id, {})
        case = None if hidden else page.cases.get(case_id)
        scored = row.get("n_scored", 0)
        yield {
            "id": one_line(case_id, limit=200),
            "state": _STATES[row.get("state")],
            "facts": _facts(row),
            "passes": f"{round(row['pass_rate'] * scored)} of {scored}" if scored else None,
            "unsaid": UNSAID if hidden else None,
            "input": _input(case) if case else [],
            "answer": _shortened(output["text"]) if "text" in output else None,
            "repeat": output.get("repeat"),
            "calls": _calls(output.get("tool_calls") or []),
            "missing": cell_text(output["na_reason"]) if "na_reason" in output else None,
            "error": _shortened(output["error"], _MAX_STEP) if "error" in output else None,
            "reasons": [one_line(reason, limit=1000) for reason in row.get("reasons", [])[:20]],
            "turns": _turns(output.get("turns") or [], case),
            "steps": _steps(output.get("messages") or []),
        }


def _facts(row: Record) -> str:
    names = ("category", "language", "split", "tags")
    return " · ".join(cell_text(row[name], limit=100) for name in names if row.get(name))


def _first_failed(rows: Iterable[Record], page: Page) -> dict[str, Record]:
    """Return the output of the first repeat that failed or is missing, else of the first."""
    wanted = {row["case_id"] for row in rows}
    failed: dict[str, int] = {}
    for score in page.scores:
        if score["case_id"] in wanted and (score.get("passed") is False or "error" in score):
            repeat = failed.get(score["case_id"], score["repeat"])
            failed[score["case_id"]] = min(repeat, score["repeat"])
    found: dict[str, Record] = {}
    for output in page.outputs:
        case_id = output["case_id"]
        if case_id in wanted and output["repeat"] == failed.get(case_id, output["repeat"]):
            found.setdefault(case_id, output)
    return found


def _shown_differences(rows: Sequence[Record], page: Page) -> Iterator[dict[str, Any]]:
    for row in rows:
        hidden = row["case_id"] in page.hidden
        before, now = row.get("text_before"), row.get("text_now")
        calls = _calls(row["tool_calls_before"]), _calls(row["tool_calls_now"])
        texts = _shortened(before or ""), _shortened(now or "")
        yield {
            "id": one_line(row["case_id"], limit=200),
            "repeat": row["repeat"],
            "before": _STATES.get(row["state_before"], MISSING),
            "now": _STATES.get(row["state_now"], MISSING),
            "unsaid": UNSAID if hidden else None,
            "words": [] if hidden else word_differences(texts[0].text, texts[1].text),
            "lengths": [texts[0].length, texts[1].length],
            "no_text": [before is None, now is None],
            "same_calls": calls[0] == calls[1],
            "calls": ([], []) if hidden else calls,
        }


def _input(case: Case) -> list[Step]:
    if case.input is not None:
        return [Step("user", _shortened(case.input))]
    if case.messages is not None:
        return _steps([message.model_dump() for message in case.messages])
    return [
        Step(f"user, turn {number}", _shortened(turn.input))
        for number, turn in enumerate(case.turns or (), 1)
    ]


def _turns(turns: Sequence[Any], case: Case | None) -> list[dict[str, Any]]:
    """Show a played conversation turn by turn: what the user said and what came back."""
    asked = [turn.input for turn in (case.turns or ())] if case else []
    return [
        {
            "input": _shortened(asked[number], _MAX_STEP) if number < len(asked) else None,
            "answer": _shortened(turn.get("text") or "", _MAX_STEP),
            "calls": _calls(turn.get("tool_calls") or []),
            "stop_reason": cell_text(turn.get("stop_reason")),
        }
        for number, turn in enumerate(turns[:_MAX_STEPS])
        if isinstance(turn, dict)
    ]


def _calls(calls: Sequence[Any]) -> list[Step]:
    return [
        Step(one_line(str(call["name"]), limit=100), _json(call["arguments"]))
        for call in calls[:_MAX_STEPS]
        if isinstance(call, dict) and "name" in call and "arguments" in call
    ]


def _steps(messages: Sequence[Any]) -> list[Step]:
    steps = (step for message in messages if isinstance(message, dict) for step in _said(message))
    return list(islice(steps, _MAX_STEPS))


def _said(message: Mapping[str, Any]) -> Iterator[Step]:
    who, content = str(message.get("role", "")), message.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [content]
    for block in blocks:
        yield _block_step(who, block)


def _block_step(who: str, block: Any) -> Step:
    match block:
        case str() as text:
            return Step(who, _shortened(text, _MAX_STEP))
        case {"type": "text", "text": str() as text}:
            return Step(who, _shortened(text, _MAX_STEP))
        case {"type": "tool_use", "name": name, "input": given}:
            return Step(f"{who} calls {one_line(str(name), limit=100)}", _json(given))
        case {"type": "tool_result", "content": str() as text}:
            return Step("tool result", _shortened(text, _MAX_STEP))
        case {"type": "tool_result", "content": content}:
            return Step("tool result", _json(content))
        case _:
            return Step(who, _json(block))


def _json(value: Any) -> Shortened:
    return _shortened(dump_json(value), _MAX_STEP)


def _shortened(text: str, limit: int = _MAX_ANSWER) -> Shortened:
    if len(text) <= limit:
        return Shortened(visible(text))
    return Shortened(f"{visible(text[:limit])}…", tokens(len(text)))
