"""The summary of a run in Markdown, for the page of a CI job.

Whatever a case, a system, a judge or a file's name says is untrusted: it goes through `escape`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.frames import Outcome
from evalnb.reports.misses import miss_lines
from evalnb.reports.numbers import MISSING
from evalnb.reports.sentences import baseline_sentence, outcome_words, overall_sentence, why
from evalnb.reports.text import cell_text, listing, one_line
from evalnb.reports.views import changes, decision_rows, failing, not_scored, slice_rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["escape", "summary", "table"]

_MAX_ROWS = 50
_MAX_SECTION_BYTES = 100_000
"""Sections of this size stay below the megabyte that a CI page takes, whatever they hold."""

_ENTITIES = {character: f"&#{ord(character)};" for character in "\\`*[]{}|~!^"} | {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    # Without a tag around it GitHub and Jupyter look for formulas between two of them.
    "$": "<span>&#36;</span>",
    # Mentions, issue numbers, links and emoji are looked for after entities are read. What no
    # reader sees keeps the sign apart from the word, as dependency bots do it.
    "@": "&#64;&#8203;",
    "#": "&#35;&#8203;",
    ":": "&#58;&#8203;",
}
_SPECIAL = re.compile(
    "|".join(
        [
            "[" + re.escape("".join(_ENTITIES).replace(":", "")) + "]",
            r":(?! |$)(?!(?<=\d\d:)\d\d(?!\d))",  # not after a word, not in a time of day
            r"(?<![^\W_])_|_(?![^\W_])",  # an underscore inside a word is only itself
            r"(?i:(?<=www)\.|(?<=\bgh)-)",
            r"^[-+=]|^\d+[.)](?= |$)",  # would start a list or underline a heading
        ]
    )
)


def escape(text: str) -> str:
    r"""Make any text inert in Markdown and in HTML.

    Parameters
    ----------
    text : any text

    Returns
    -------
    one line
        Renders as the text: no HTML, link, image, emphasis, code, formula, list, heading, table
        cell, mention, issue number or emoji comes of it. For text between tags, not for the
        value of an attribute.

    Examples
    --------
    >>> escape("<b>"), escape("snake_case is kept"), escape("exact: *no*")
    ('&lt;b&gt;', 'snake_case is kept', 'exact: &#42;no&#42;')
    """
    line = one_line(text, limit=max(len(text), 1))
    return _SPECIAL.sub(_entity, line)


def table(frame: pd.DataFrame) -> str:
    """Write a frame as a Markdown table.

    Parameters
    ----------
    frame : any frame; its index is not shown

    Returns
    -------
    lines of Markdown, ending in a newline
        Labels and cells are escaped, long ones shortened; numeric columns stand at the right.
    """
    return "".join(f"{line}\n" for line in [*_table_head(frame), *_table_rows(frame)])


def summary(
    *,
    run: Mapping[str, Any],
    outcome: str,
    exit_code: int,
    results: pd.DataFrame,
    scores: pd.DataFrame,
    slices: pd.DataFrame,
    decision: pd.DataFrame,
    misses: pd.DataFrame,
    remarks: Sequence[str] = (),
) -> str:
    """Write the summary of a run.

    Parameters
    ----------
    run : keys run_id, suite, system, system_fingerprint, mode, repeats, golden_version, models,
        notice, baseline, started_at
        `models` is a list, `notice` a text or None, `baseline` None or a mapping with run_id,
        golden_version and system. With `record_command`, misses are shown with it.
    outcome : {"pass", "fail", "inconclusive"}
    exit_code : what the command exits with
    results, scores, slices, decision, misses : frames of the run
    remarks : further sentences, plain text

    Returns
    -------
    Markdown, below 1 MB whatever the run
        Long listings are cut and say how much they left out.
    """
    # Misses are grouped in a section of their own.
    findings = decision[decision["rule"] != "miss"] if len(misses) else decision
    sections = [
        _misses_section(misses, run),
        _section("Inconclusive", _findings(findings, Outcome.INCONCLUSIVE)),
        _section("Blocking", _findings(findings, Outcome.FAIL)),
        _section("Slices", slice_rates(slices[slices["slice"] != "all"])),
        _section("Changed against the baseline", changes(decision).drop(columns="reason")),
        _section("Failing cases", failing(results)),
        _section("Not scored", not_scored(scores)),
        _section("Notes", _findings(findings, Outcome.NOTE)),
    ]
    head = _head(run, outcome, exit_code, slices, findings, misses, remarks)
    return "\n".join([head, *(section for section in sections if section)])


def _entity(match: re.Match[str]) -> str:
    before, character = match.group()[:-1], match.group()[-1]
    if before:
        return f"{before}&#{ord(character)};"
    if character in {".", "-"} and match.start():
        return f"&#{ord(character)};&#8203;"
    return _ENTITIES.get(character, f"&#{ord(character)};")


def _table_head(frame: pd.DataFrame) -> list[str]:
    labels = [escape(cell_text(label)) for label in frame.columns]
    rules = [
        "--:" if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        else "---"
        for dtype in frame.dtypes
    ]  # fmt: skip
    return [_table_line(labels), _table_line(rules)]


def _table_rows(frame: pd.DataFrame) -> Iterable[str]:
    for row in frame.itertuples(index=False, name=None):
        yield _table_line([escape(cell_text(value)) for value in row])


def _table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _capped(lines: Iterable[str], n_lines: int) -> list[str]:
    """Take lines up to the limits of a section; say how many were left out."""
    taken: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        if len(taken) == _MAX_ROWS or size > _MAX_SECTION_BYTES:
            return [*taken, "", f"… and {n_lines - len(taken):,} more, left out here."]
        taken.append(line)
    return taken


def _section(title: str, frame: pd.DataFrame) -> str:
    if frame.empty:
        return ""
    lines = [*_table_head(frame), *_capped(_table_rows(frame), len(frame))]
    return "\n".join([f"## {title}", "", *lines, ""])


def _head(
    run: Mapping[str, Any],
    outcome: str,
    exit_code: int,
    slices: pd.DataFrame,
    decision: pd.DataFrame,
    misses: pd.DataFrame,
    remarks: Sequence[str],
) -> str:
    notice = run["notice"]
    paragraphs = [
        f"# {_short(run['suite'])}: {outcome_words(outcome, exit_code)}",
        _sentence(why(outcome, exit_code, decision, misses)),
        f"> **{_short(notice, limit=300)}**" if notice else "",
        _sentence(overall_sentence(slices)),
        *(_sentence(line) for line in remarks),
        _run_line(run),
        _sentence(baseline_sentence(run)),
    ]
    return "".join(f"{paragraph}\n\n" for paragraph in paragraphs if paragraph).rstrip("\n") + "\n"


def _sentence(text: str) -> str:
    return _short(text, limit=1000)


def _short(value: Any, *, limit: int = 100) -> str:
    return escape(cell_text(value, limit=limit))


def _run_line(run: Mapping[str, Any]) -> str:
    models = listing([cell_text(model, limit=60) for model in run["models"]], limit=5)
    facts = {
        "System": f"{_short(run['system'])} ({_short(run['system_fingerprint'], limit=16)})",
        "models": _short(models, limit=400) or MISSING,
        "mode": _short(run["mode"]),
        "repeats": _short(run["repeats"]),
        "golden version": _short(run["golden_version"], limit=16),
        "run": _short(run["run_id"]),
        "started": _short(run["started_at"]),
    }
    return " · ".join(f"{name} {fact}" for name, fact in facts.items())


def _findings(decision: pd.DataFrame, outcome: Outcome) -> pd.DataFrame:
    rows = decision_rows(decision, outcome)
    return rows[[name for name in rows.columns if name == "reason" or rows[name].notna().any()]]


def _misses_section(misses: pd.DataFrame, run: Mapping[str, Any]) -> str:
    lines = [f"- {escape(line)}" for line in miss_lines(misses)]
    if not lines:
        return ""
    command = run.get("record_command")
    how = f"<code>{_short(command, limit=300)}</code>" if command else "`EVALNB_MODE=record`"
    remedy = f"Record what is missing: {how}"
    return "\n".join(["## Cassette misses", "", *_capped(lines, len(lines)), "", remedy, ""])
