"""Figures of how well a judge agrees with people.

They are made without pyplot, so that no state is left behind, and show themselves in a notebook.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from evalnb.agreement import STRONG, USABLE
from evalnb.reports.drawing import (
    BLUE,
    FAINT,
    GRID,
    INK,
    PALE_BLUE,
    VERMILION,
    ShownFigure,
    header,
    label,
    plain_axes,
)
from evalnb.reports.judge_axes import draw_biases, draw_confusion, draw_interval
from evalnb.reports.numbers import count, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "bias_levels",
    "ceiling_intervals",
    "confusion_matrix",
    "kappa_intervals",
    "labels_curve",
]

_ROW = 0.3
_TOP = 1.0
_FEWEST, _MOST = 10, 100_000
_TICKS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
_CURVE_MARGINS = 1.5


def kappa_intervals(decided: pd.DataFrame) -> Figure:
    """Draw kappa with its interval against what is usable and what is strong.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it

    Returns
    -------
    a figure
    """
    if decided.empty:
        return _nothing("Agreement beyond chance", "there are no labels yet")
    height = _TOP + _ROW * len(decided) + 0.5
    figure = ShownFigure(figsize=(8.6, height))
    page = plain_axes(figure)
    judges = ", ".join(dict.fromkeys(decided["judge"]))
    header(page, "Agreement beyond chance", f"{judges} and people: kappa, by its 95% interval")
    _draw_kappa_signs(page)
    lowest = min([0.0, *decided["ci_low"].dropna(), *decided["estimate"].dropna()])
    left = math.floor(lowest * 5) / 5
    axes = _row_axes(figure, left=2.6, right=1.2, n_rows=len(decided), limits=(left, 1.0))
    axes.set_xticks(np.arange(left, 1.01, 0.2).round(1))
    axes.axvspan(USABLE, STRONG, color=PALE_BLUE, alpha=0.45, lw=0)
    axes.axvspan(STRONG, 1, color=PALE_BLUE, lw=0)
    row: Any
    for position, row in enumerate(decided.itertuples(index=False)):
        y = _TOP + _ROW * (position + 0.5)
        label(page, 0.3, y, str(row.axis), limit=24)
        label(page, 2.45, y, f"n = {tokens(row.n)}", color=FAINT, ha="right")
        label(page, 7.55, y, str(row.decision), fontweight="bold")
        draw_interval(axes, position, row)
    return figure


def ceiling_intervals(ceiling: pd.DataFrame, *, judge: str) -> Figure:
    """Draw how well two people agree, and the judge with one of them.

    Parameters
    ----------
    ceiling : as `evalnb.agreement.human_ceilings` gives it
    judge : whose verdicts

    Returns
    -------
    a figure
    """
    kinds = {"human_human": ("two people", INK, "D"), "judge_human": (judge, BLUE, "o")}
    rows = ceiling[ceiling["metric"].isin(list(kinds)) & ceiling["estimate"].notna()]
    if rows.empty:
        return _nothing("People among themselves", "one person rated: there is nothing to compare")
    figure = ShownFigure(figsize=(8.6, _TOP + _ROW * len(rows) + 0.5))
    page = plain_axes(figure)
    header(page, "People among themselves", "kappa of two single people, and of the judge with one")
    lowest = min([0.0, *rows["ci_low"].dropna(), *rows["estimate"]])
    axes = _row_axes(figure, left=3.6, right=0.4, n_rows=len(rows), limits=(lowest, 1.0))
    last = ""
    row: Any
    for position, row in enumerate(rows.itertuples(index=False)):
        y = _TOP + _ROW * (position + 0.5)
        name, colour, marker = kinds[str(row.metric)]
        if row.axis != last:
            label(page, 0.3, y, str(row.axis), limit=22)
        label(page, 3.45, y, name, limit=24, ha="right", color=colour)
        draw_interval(axes, position, row, colour=colour, marker=marker)
        last = row.axis
    return figure


def confusion_matrix(counts: pd.DataFrame, *, axis: str, judge: str) -> Figure:
    """Draw how often each level of people's met each of the judge's.

    Parameters
    ----------
    counts : level x level, people's in the index, as `evalnb.disagreements.confusion_table` gives it
    axis, judge : what it is of

    Returns
    -------
    a figure
        Each cell has its count and is as dark as its share of its row: of what people put on one
        level. The diagonal, where both say the same, is framed.
    """
    size = len(counts)
    if not size:
        return _nothing("People and judge, level by level", "there are no labels yet")
    cell = 0.72
    left, top = 1.75, 1.35
    figure = ShownFigure(figsize=(max(6.2, left + size * cell + 1.2), top + size * cell + 0.3))
    page = plain_axes(figure)
    cells = counts.to_numpy()
    total, same = int(cells.sum()), int(np.trace(cells))
    header(
        page,
        f"{axis}: people and {judge}",
        f"both say the same on {tokens(same)} of {count(total, 'item')}",
    )
    width, height = figure.get_size_inches()
    extent = size * cell
    axes = figure.add_axes(
        (left / width, 1 - (top + extent) / height, extent / width, extent / height)
    )
    draw_confusion(axes, counts, judge=judge)
    return figure


def bias_levels(biases: pd.DataFrame, *, judge: str) -> Figure:
    """Draw how far the judge is above or below people, by what people said.

    Parameters
    ----------
    biases : of one axis, as `evalnb.disagreements.bias_by_level` gives it
    judge : whose they are

    Returns
    -------
    a figure
        Some pull to the middle is there by chance alone: where people's own ratings scatter, their
        highest are too high and their lowest too low.
    """
    if biases.empty:
        return _nothing("Too kind or too strict?", "levels without an order have no bias")
    axis = biases.iloc[0]["axis"]
    figure = ShownFigure(figsize=(8.6, _TOP + _ROW * len(biases) + 0.5))
    page = plain_axes(figure)
    header(
        page, f"{axis}: where {judge} is too kind or too strict", "by the level that people gave"
    )
    label(
        page,
        0.15,
        0.78,
        "judge less people, with 95% interval; left of 0 the judge is stricter",
        limit=90,
    )
    draw_biases(_row_axes(figure, left=2.6, right=1.6, n_rows=len(biases)), biases)
    return figure


def labels_curve(decided: pd.DataFrame) -> Figure:
    """Draw how the lower end of kappa's interval would move with more labels.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it

    Returns
    -------
    a figure
        A line an axis, as if kappa and its spread stayed as they are; the dot is where it is now.
        Where the line ends below what is usable, labels are not what is missing.
    """
    known: list[Any] = [row for row in decided.itertuples(index=False) if _spread(row) is not None]
    if not known:
        return _nothing("What more labels would show", "no interval to go on from")
    figure = ShownFigure(figsize=(8.6, 4.2))
    page = plain_axes(figure)
    header(
        page,
        "What more labels would show",
        "lower end of the 95% interval of kappa, if kappa stayed as it is",
    )
    fewest, most = _reach(known)
    numbers = np.unique(np.geomspace(fewest, most, 200).round())
    lines = [_projected(row, numbers) for row in known]
    axes = _curve_axes(figure, fewest, most, lowest=min(float(line[0]) for line in lines))
    for number, (row, line) in enumerate(zip(known, lines, strict=True)):
        colour, style = _LINES[number % len(_LINES)]
        axes.plot(numbers, line, color=colour, ls=style, lw=1.8)
        axes.plot(float(row.n), float(row.ci_low), "o", color=colour, ms=6, zorder=4)
    names = [str(row.axis) for row in known]
    _end_labels(page, axes, [float(line[-1]) for line in lines], names, figure.get_size_inches())
    label(page, 3.5, 4.02, "labels", color=FAINT, ha="center")
    return figure


_LINES: tuple[tuple[str, Any], ...] = (
    (BLUE, "-"),
    (VERMILION, (0, (5, 2))),
    (INK, (0, (1, 1.5))),
    (FAINT, (0, (6, 2, 1, 2))),
)


def _nothing(title: str, why: str) -> Figure:
    figure = ShownFigure(figsize=(8.6, 0.75))
    header(plain_axes(figure), title, why)
    return figure


def _row_axes(
    figure: Figure,
    *,
    left: float,
    right: float,
    n_rows: int,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Axes:
    """Return axes with a line for each row, from `_TOP` down."""
    width, height = figure.get_size_inches()
    extent = max(n_rows, 1) * _ROW
    axes = figure.add_axes(
        (
            left / width,
            1 - (_TOP + extent) / height,
            (width - left - right) / width,
            extent / height,
        )
    )
    axes.set(xlim=limits, ylim=(max(n_rows, 1) - 0.5, -0.5), yticks=[])
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=FAINT)
    axes.grid(axis="x", color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    return axes


def _draw_kappa_signs(page: Axes) -> None:
    y = 0.76
    page.plot([0.17, 0.41], [y, y], color=BLUE, lw=1.8)
    page.plot(0.29, y, "o", color=BLUE, ms=6)
    label(page, 0.5, y, "judge and people; 0 is chance, 1 full agreement", limit=60)
    page.add_patch(Rectangle((3.62, y - 0.07), 0.2, 0.14, color=PALE_BLUE, alpha=0.45, lw=0))
    label(page, 3.9, y, f"usable from {USABLE:g}")
    page.add_patch(Rectangle((5.0, y - 0.07), 0.2, 0.14, color=PALE_BLUE, lw=0))
    label(page, 5.28, y, f"strong from {STRONG:g}")


def _spread(row: Any) -> float | None:
    """Return the spread of kappa on the scale of atanh, times the root of n."""
    if pd.isna(row.ci_low) or not (-1 < row.ci_low <= row.ci_high) or row.n < 2:
        return None
    if row.ci_high >= 1 or row.estimate >= 1:
        return None
    return (math.atanh(row.estimate) - math.atanh(row.ci_low)) * math.sqrt(row.n)


def _projected(row: Any, numbers: np.ndarray) -> np.ndarray:
    spread = _spread(row) or 0.0
    lows: np.ndarray = np.tanh(math.atanh(row.estimate) - spread / np.sqrt(numbers))
    return lows


def _reach(known: Sequence[Any]) -> tuple[int, int]:
    """Return how few and how many labels to draw: past those there are, and those needed."""
    fewest = min([_FEWEST, *(int(row.n) for row in known)])
    needed = [int(row.n + row.more_labels) for row in known if not pd.isna(row.more_labels)]
    most = max([200, *(4 * int(row.n) for row in known), *(2 * n for n in needed)])
    return fewest, min(most, _MOST)


def _curve_axes(figure: Figure, fewest: int, most: int, *, lowest: float) -> Axes:
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (0.75 / width, 0.6 / height, (width - 3.1) / width, (height - _CURVE_MARGINS) / height)
    )
    axes.set(xscale="log", xlim=(fewest, most), ylim=(max(min(lowest, 0.0), -0.2), 1))
    steps = [step for step in _TICKS if fewest <= step <= most]
    axes.set_xticks(steps, [tokens(step) for step in steps], minor=False)
    axes.minorticks_off()
    axes.tick_params(length=0, labelsize=8, labelcolor=FAINT)
    axes.spines[:].set_visible(False)
    axes.grid(color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    for threshold, name in ((USABLE, "usable"), (STRONG, "strong")):
        axes.axhline(threshold, color=INK, lw=1, ls=(0, (4, 3)))
        label(axes, fewest * 1.05, threshold + 0.03, f"{name}: {threshold:g}", fontsize=7.5)
    return axes


def _end_labels(
    page: Axes, axes: Axes, ends: Sequence[float], names: Sequence[str], size: Any
) -> None:
    """Name the lines at their right ends, none over another."""
    width, height = size
    low, high = axes.get_ylim()
    last = -1.0
    for value, name in sorted(zip(ends, names, strict=True), reverse=True):
        y = 0.9 + (high - value) / (high - low) * (height - _CURVE_MARGINS)
        last = max(y, last + 0.17)
        label(page, width - 2.25, last, name, limit=26)
