"""Figures of a run: pass rates by slice, and a grid of cases and scorers.

They are made without pyplot, so that no state is left behind, and show themselves in a notebook.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from evalnb.frames import BASELINE, is_accident
from evalnb.reports.drawing import (
    BLUE,
    FAINT,
    GRID,
    INK,
    ORANGE,
    PALE_BLUE,
    VERMILION,
    ShownFigure,
    header,
    label,
    plain_axes,
)
from evalnb.reports.numbers import count, interval, rate, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["case_grid", "grid_cells", "pass_rates"]

_ROW = 0.24
_MAX_VALUES = 20

_CELL = 0.19
_HEADER = 0.95
_MAX_CASES = 400
_MAX_BLOCKS_WIDTH = 16.0
_LABEL_CHARACTERS = 24
_SCORER_CHARACTERS = 20
_CHARACTER = 0.066


def pass_rates(slices: pd.DataFrame) -> Figure:
    """Draw pass rates by slice as dots with their 95% intervals, beside the baseline's.

    Parameters
    ----------
    slices : a slices frame

    Returns
    -------
    a figure
        Where cases were not scored, a bar spans the rates if none or all of them had passed. Of a
        field with many values, those with the most cases are shown and the rest is counted.
    """
    rows = _slice_lines(slices)
    height = _HEADER + _ROW * (len(rows) + 1) + 0.45
    figure = ShownFigure(figsize=(8.6, height))
    page = plain_axes(figure)
    header(page, "Pass rate by slice", _overall_text(slices))
    _draw_rate_signs(page)
    top = _HEADER + 0.1
    axes = _rate_axes(figure, top=top, n_rows=len(rows))
    for position, row in enumerate(rows):
        y = top + _ROW * (position + 0.5)
        if isinstance(row, str):
            label(page, 0.15, y, row, limit=80, fontweight="bold", fontsize=9)
        else:
            _slice_labels(page, y, row)
            _slice_marks(axes, position, row)
    return figure


def case_grid(results: pd.DataFrame, scores: pd.DataFrame, baseline: pd.DataFrame | None) -> Figure:
    """Draw what each scorer said of each case, and what changed against the baseline.

    Parameters
    ----------
    results, scores : frames of one run
    baseline : a baseline frame, None before there is one

    Returns
    -------
    a figure
        Cases stand by category. Of more than 400 cases, those are shown that did not simply pass.
    """
    before = BASELINE.empty() if baseline is None else baseline
    cells = grid_cells(scores, before)
    shown = _shown_cases(results, cells)
    scorers = list(dict.fromkeys(cells["scorer"]))
    layout = _layout(shown, scorers)
    figure = ShownFigure(figsize=(layout.width, layout.height))
    page = plain_axes(figure)
    header(page, *_grid_titles(results, cells, len(shown), compared=len(before) > 0))
    _draw_grid_signs(page)
    places = _draw_blocks(page, layout, scorers)
    _draw_cells(page, cells, places, scorers)
    return figure


def grid_cells(scores: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """Sum up scores over repeats, beside the baseline.

    Parameters
    ----------
    scores : a scores frame
    baseline : a baseline frame

    Returns
    -------
    case_id, scorer, state, change : a row a case and scorer
        `state` is `pass`, `fail` or `mixed` over the repeats; `accident` where any repeat is NA
        by accident, unless one failed; `plan` where all are NA by plan. `change` is `worse` or
        `better` where all repeats passed on one side only, NA where that is not known.
    """
    marked = scores.assign(
        verdict=scores["passed"].notna(), accident=is_accident(scores["na_reason"])
    )
    sums = (
        marked.groupby(["case_id", "scorer"], sort=False)
        .agg(n=("verdict", "sum"), n_passed=("passed", "sum"), accident=("accident", "any"))
        .reset_index()
    )
    before = baseline[["case_id", "scorer", "n_scored", "n_passed"]].rename(
        columns={"n_scored": "n_before", "n_passed": "n_passed_before"}
    )
    both = sums.merge(before, on=["case_id", "scorer"], how="left", validate="one_to_one")
    records = [
        (row.case_id, row.scorer, _state(row), _change(row)) for row in both.itertuples(index=False)
    ]
    frame = pd.DataFrame(records, columns=["case_id", "scorer", "state", "change"])
    return frame.astype("string")


def _state(row: Any) -> str:
    if row.n and row.n_passed == 0:
        return "fail"
    if row.n_passed < row.n:
        return "mixed"
    if row.accident:
        return "accident"
    return "pass" if row.n else "plan"


def _change(row: Any) -> str | None:
    undecided = _state(row) in {"accident", "plan"}
    if undecided or pd.isna(row.n_before) or not row.n_before:
        return None
    passes, passed = row.n_passed == row.n, row.n_passed_before == row.n_before
    if passes == passed:
        return None
    return "better" if passes else "worse"


# Pass rates.


def _slice_lines(slices: pd.DataFrame) -> list[Any]:
    """Return rows to draw: a heading as text, a slice as its row."""
    lines: list[Any] = []
    for name, rows in slices.groupby("slice", sort=False):
        kept = rows.loc[rows["n_planned"].nlargest(_MAX_VALUES).sort_index().index]
        if name != "all":
            left_out = len(rows) - len(kept)
            more = f", the {len(kept)} with most cases of {len(rows):,}" if left_out else ""
            lines.append(f"{name}{more}")
        lines.extend(kept.itertuples(index=False))
    return lines


def _overall_text(slices: pd.DataFrame) -> str:
    overall = slices[slices["slice"] == "all"]
    if overall.empty or not overall.iloc[0]["n_scored"]:
        return "no case was scored"
    row = overall.iloc[0]
    text = (
        f"all cases: {rate(row['pass_rate'])} ({interval(row['ci_low'], row['ci_high'])}), "
        f"{tokens(row['n_scored'])} of {count(row['n_planned'], 'case')} scored"
    )
    if pd.isna(row["baseline_pass_rate"]):
        return f"{text}; no baseline"
    return f"{text}; baseline {rate(row['baseline_pass_rate'])} on {tokens(row['n_compared'])}"


_BASELINE_LOOKS: dict[str, Any] = {
    "marker": "D",
    "markersize": 6.5,
    "markerfacecolor": "none",
    "markeredgewidth": 1.3,
    "linestyle": "none",
}


def _draw_rate_signs(page: Axes) -> None:
    y = 0.76
    page.plot([0.17, 0.41], [y, y], color=BLUE, lw=1.6)
    page.plot(0.29, y, "o", color=BLUE, markersize=6)
    label(page, 0.5, y, "pass rate, 95% interval")
    page.plot(2.3, y, color=INK, **_BASELINE_LOOKS)
    label(page, 2.42, y, "baseline, on the cases of both")
    page.add_patch(Rectangle((4.42, y - 0.07), 0.24, 0.14, color=GRID))
    label(page, 4.75, y, "if none or all of those not scored had passed", limit=60)


def _rate_axes(figure: Figure, *, top: float, n_rows: int) -> Axes:
    width, height = figure.get_size_inches()
    left, right = 3.3, 0.35
    extent = max(n_rows, 1) * _ROW
    axes = figure.add_axes(
        (
            left / width,
            1 - (top + extent) / height,
            (width - left - right) / width,
            extent / height,
        )
    )
    axes.set(xlim=(0, 1), ylim=(max(n_rows, 1) - 0.5, -0.5), yticks=[])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=FAINT)
    axes.grid(axis="x", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    return axes


def _slice_labels(page: Axes, y: float, row: Any) -> None:
    scored = tokens(row.n_scored)
    n = scored if row.n_scored == row.n_planned else f"{scored} of {tokens(row.n_planned)}"
    name = "all cases" if row.slice == "all" else row.value
    label(page, 0.3, y, name, limit=26)
    label(page, 3.15, y, f"n = {n}", color=FAINT, ha="right")


def _slice_marks(axes: Axes, y: float, row: Any) -> None:
    if row.n_scored < row.n_planned:
        axes.add_patch(
            Rectangle((row.bound_low, y - 0.3), row.bound_high - row.bound_low, 0.6, color=GRID)
        )
    if not pd.isna(row.baseline_pass_rate):
        axes.plot(row.baseline_pass_rate, y, color=INK, clip_on=False, zorder=4, **_BASELINE_LOOKS)
    if not pd.isna(row.pass_rate):
        axes.plot([row.ci_low, row.ci_high], [y, y], color=BLUE, lw=1.6, clip_on=False)
        axes.plot(row.pass_rate, y, "o", color=BLUE, markersize=6, clip_on=False, zorder=3)


# The grid of cases.


@dataclass(frozen=True)
class _Layout:
    """Where the rows of the grid stand: columns of text and cells, side by side.

    Attributes
    ----------
    blocks : for each, its lines as pairs of text and case id; a heading has no case id
    label_width, block_width, top, width, height : in inches
    """

    blocks: Sequence[Sequence[tuple[str, str | None]]]
    label_width: float
    block_width: float
    top: float
    width: float
    height: float


def _shown_cases(results: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    ordered = results.sort_values("category", kind="stable", na_position="last")
    if len(ordered) <= _MAX_CASES:
        return ordered
    plain = cells["state"].isin(["pass", "plan"]) & cells["change"].isna()
    return ordered[ordered["case_id"].isin(cells.loc[~plain, "case_id"])].head(_MAX_CASES)


def _layout(shown: pd.DataFrame, scorers: Sequence[str]) -> _Layout:
    longest = max((len(case_id) for case_id in shown["case_id"]), default=0)
    label_width = 0.35 + _CHARACTER * min(longest, _LABEL_CHARACTERS)
    block_width = label_width + _CELL * len(scorers) + 0.25
    # Names of scorers stand at 45 degrees and lean out of the last block.
    overhang = 0.3 + 0.05 * min(max(map(len, scorers), default=0), _SCORER_CHARACTERS)
    n_lines = len(shown) + shown["category"].nunique(dropna=False)
    top = _HEADER + overhang

    def size(n_blocks: int) -> tuple[float, float]:
        n_rows = math.ceil(n_lines / n_blocks) + 1
        return n_blocks * block_width + overhang, top + n_rows * _CELL + 0.25

    def strangeness(n_blocks: int) -> float:
        width, height = size(n_blocks)
        return abs(math.log(width / height / 1.3))

    most = max(1, int((_MAX_BLOCKS_WIDTH - overhang) / block_width))
    n_blocks = min(range(1, most + 1), key=strangeness)
    blocks = _blocks(shown, math.ceil(n_lines / n_blocks) + 1)
    width = max(8.6, len(blocks) * block_width + overhang)
    height = top + max((len(block) for block in blocks), default=1) * _CELL + 0.25
    return _Layout(blocks, label_width, block_width, top, width, height)


def _blocks(shown: pd.DataFrame, n_rows: int) -> list[list[tuple[str, str | None]]]:
    blocks: list[list[tuple[str, str | None]]] = [[]]
    for category, rows in shown.groupby("category", sort=False, dropna=False):
        name = "no category" if pd.isna(category) else str(category)
        if len(blocks[-1]) > n_rows - 2:
            blocks.append([])
        blocks[-1].append((name, None))
        for case_id in rows["case_id"]:
            if len(blocks[-1]) >= n_rows:
                blocks.append([(f"{name}, continued", None)])
            blocks[-1].append((case_id, case_id))
    return blocks


def _draw_blocks(
    page: Axes, layout: _Layout, scorers: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Write the labels; return where the first cell of each case has its centre."""
    places = {}
    for number, block in enumerate(layout.blocks):
        left = number * layout.block_width + 0.15
        first = left + layout.label_width
        for column, scorer in enumerate(scorers):
            label(
                page,
                first + column * _CELL,
                layout.top - 0.08,
                scorer,
                limit=_SCORER_CHARACTERS,
                rotation=45,
                ha="left",
                va="bottom",
                rotation_mode="anchor",
                color=FAINT,
            )
        for line, (text, case_id) in enumerate(block):
            y = layout.top + (line + 0.5) * _CELL
            if case_id is None:
                label(page, left, y, text, limit=_LABEL_CHARACTERS + 8, fontweight="bold")
            else:
                label(page, left + 0.1, y, text, limit=_LABEL_CHARACTERS, fontsize=7.5)
                places[case_id] = (first, y)
    return places


def _draw_cells(
    page: Axes,
    cells: pd.DataFrame,
    places: dict[str, tuple[float, float]],
    scorers: Sequence[str],
) -> None:
    columns = {scorer: column for column, scorer in enumerate(scorers)}
    drawn = cells[cells["case_id"].isin(places)]
    x = [
        places[case_id][0] + columns[scorer] * _CELL
        for case_id, scorer in zip(drawn["case_id"], drawn["scorer"], strict=True)
    ]
    placed = drawn.assign(x=x, y=[places[case_id][1] for case_id in drawn["case_id"]])
    signs = placed["change"].fillna(placed["state"])
    half = _CELL * 0.45
    for sign, rows in placed.groupby(signs, sort=False):
        _draw_signs(page, str(sign), rows, half)


def _draw_signs(page: Axes, sign: str, rows: pd.DataFrame, half: float) -> None:
    squares = [
        Rectangle((x - half, y - half), 2 * half, 2 * half)
        for x, y in zip(rows["x"], rows["y"], strict=True)
    ]
    changed = sign in {"worse", "better"}
    page.add_collection(
        PatchCollection(
            squares,
            facecolor=[_FILLS[state] for state in rows["state"]],
            edgecolor=INK if changed else FAINT if sign == "accident" else "none",
            linewidth=1.5 if changed else 0.6,
            zorder=3 if changed else 2,
        )
    )
    if sign in _MARKS:
        marker, colour, size = _MARKS[sign]
        page.scatter(rows["x"], rows["y"], marker=marker, color=colour, s=size, lw=1.2, zorder=4)


_FILLS = {
    "pass": PALE_BLUE,
    "fail": VERMILION,
    "mixed": ORANGE,
    "accident": "#ffffff",
    "plan": GRID,
}
_QUESTION = TextPath((-0.3, -0.35), "?", size=1)
_MARKS: dict[str, tuple[Any, str, float]] = {
    "fail": ("x", "#ffffff", 22),
    "mixed": ([(-1, -1), (1, 1)], INK, 22),
    "accident": (_QUESTION, INK, 40),
    "plan": ("_", FAINT, 14),
    "worse": ("v", INK, 26),
    "better": ("^", INK, 26),
}


_MEANINGS = (
    ("pass", pd.NA, "pass"),
    ("fail", pd.NA, "fail"),
    ("mixed", pd.NA, "some repeats fail"),
    ("fail", "worse", "newly failing"),
    ("pass", "better", "newly passing"),
    ("accident", pd.NA, "NA by accident"),
    ("plan", pd.NA, "NA by plan"),
)


def _draw_grid_signs(page: Axes) -> None:
    x, y = 0.25, 0.76
    for state, change, meaning in _MEANINGS:
        sign = pd.DataFrame({"state": [state], "x": [x], "y": [y]})
        _draw_signs(page, state if pd.isna(change) else change, sign, _CELL * 0.45)
        label(page, x + 0.15, y, meaning)
        x += 0.42 + 0.066 * len(meaning)


def _grid_titles(
    results: pd.DataFrame, cells: pd.DataFrame, n_shown: int, *, compared: bool
) -> tuple[str, str]:
    def n_cases(column: str, value: str) -> int:
        return int(cells.loc[cells[column] == value, "case_id"].nunique())

    failing = int(results["state"].isin(["fail", "unstable"]).sum())
    failed = f"{tokens(failing)} of {count(len(results), 'case')} failed or unstable"
    accidents = f"{tokens(n_cases('state', 'accident'))} not scored by accident"
    shown = f"; shown are {tokens(n_shown)} of those that did not simply pass"
    cut = shown if n_shown < len(results) else ""
    if not compared:
        return failed, f"no baseline; {accidents}{cut}"
    worse, better = n_cases("change", "worse"), n_cases("change", "better")
    title = f"{count(worse, 'case')} newly failing a scorer, {tokens(better)} newly passing one"
    return title, f"against the baseline; {failed}, {accidents}{cut}"
