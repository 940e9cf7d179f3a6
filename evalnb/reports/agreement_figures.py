"""Figures of how well a judge agrees with people.

They are made without pyplot, so that no state is left behind, and show themselves in a notebook.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, to_rgb
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
from evalnb.reports.numbers import count, difference, tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bias_levels", "confusion_matrix", "kappa_intervals", "labels_curve"]

_ROW = 0.3
_TOP = 1.0
_SHADES = LinearSegmentedColormap.from_list("evalnb_blues", ["#ffffff", PALE_BLUE, BLUE])
_Z_975 = 1.959963984540054
_FEWEST, _MOST = 10, 100_000


def kappa_intervals(decided: pd.DataFrame, ceiling: pd.DataFrame | None = None) -> Figure:
    """Draw kappa with its interval against what is usable and what is strong.

    Parameters
    ----------
    decided : as `evalnb.agreement.decisions` gives it
    ceiling : axis, metric, estimate; the row `human_human` of an axis is what people reach among
        themselves. None where one person rated

    Returns
    -------
    a figure
    """
    height = _TOP + _ROW * max(len(decided), 1) + 0.5
    figure = ShownFigure(figsize=(8.6, height))
    page = plain_axes(figure)
    judges = ", ".join(dict.fromkeys(decided["judge"]))
    header(page, "Agreement beyond chance", f"{judges} and people: kappa, by its 95% interval")
    _draw_kappa_signs(page, people=ceiling is not None)
    lowest = min([0.0, *decided["ci_low"].dropna(), *decided["estimate"].dropna()])
    left = math.floor(lowest * 5) / 5
    axes = _row_axes(figure, left=2.6, right=1.2, n_rows=len(decided), limits=(left, 1.0))
    axes.set_xticks(np.arange(left, 1.01, 0.2).round(1))
    axes.axvspan(USABLE, STRONG, color=PALE_BLUE, alpha=0.45, lw=0)
    axes.axvspan(STRONG, 1, color=PALE_BLUE, lw=0)
    reached = {} if ceiling is None else _people_among_themselves(ceiling)
    for position, row in enumerate(decided.itertuples(index=False)):
        y = _TOP + _ROW * (position + 0.5)
        label(page, 0.3, y, str(row.axis), limit=24)
        label(page, 2.45, y, f"n = {tokens(row.n)}", color=FAINT, ha="right")
        label(page, 7.55, y, str(row.decision), fontweight="bold")
        _interval_marks(axes, position, row.estimate, row.ci_low, row.ci_high)
        if row.axis in reached:
            axes.plot(reached[row.axis], position, "D", color=INK, mfc="none", ms=6.5, mew=1.3)
    return figure


def confusion_matrix(counts: pd.DataFrame, *, axis: str, judge: str) -> Figure:
    """Draw how often each level of people's met each of the judge's.

    Parameters
    ----------
    counts : level x level, people's in the index, as `evalnb.agreement.confusion_table` gives it
    axis, judge : what it is of

    Returns
    -------
    a figure
        Each cell has its count and is as dark as its share of its row: of what people put on one
        level. The diagonal, where both say the same, is framed.
    """
    size = len(counts)
    cell = 0.72
    left, top = 1.75, 1.35
    figure = ShownFigure(figsize=(max(6.2, left + size * cell + 1.2), top + size * cell + 0.3))
    page = plain_axes(figure)
    total = int(counts.to_numpy().sum())
    same = int(np.trace(counts.to_numpy()))
    header(
        page,
        f"{axis}: people and {judge}",
        f"both say the same on {tokens(same)} of {count(total, 'item')}",
    )
    label(page, left + size * cell / 2, top - 0.5, f"{judge} says", ha="center", color=FAINT)
    label(page, 0.2, top + size * cell / 2, "people say", color=FAINT)
    rows = counts.sum(axis=1).to_numpy()
    for row, name in enumerate(counts.index):
        y = top + row * cell
        label(page, left - 0.12, y + cell / 2, str(name), limit=10, ha="right")
        label(page, left + row * cell + cell / 2, top - 0.2, str(name), limit=10, ha="center")
        label(
            page, left + size * cell + 0.12, y + cell / 2, f"n = {tokens(rows[row])}", color=FAINT
        )
        for column in range(size):
            number = int(counts.iloc[row, column])
            part = number / rows[row] if rows[row] else 0.0
            _draw_cell(page, left + column * cell, y, cell, number, part)
    for place in range(size):
        corner = (left + place * cell + 0.03, top + place * cell + 0.03)
        page.add_patch(Rectangle(corner, cell - 0.06, cell - 0.06, fill=False, ec=INK, lw=1.4))
    return figure


def bias_levels(biases: pd.DataFrame, *, axis: str, judge: str) -> Figure:
    """Draw how far the judge is above or below people, by what people said.

    Parameters
    ----------
    biases : level, bias, ci_low, ci_high, n, as `evalnb.agreement.bias_table` gives it
    axis, judge : what it is of

    Returns
    -------
    a figure
        Some pull to the middle is there by chance alone: where people's own ratings scatter, their
        highest are too high and their lowest too low.
    """
    figure = ShownFigure(figsize=(8.6, _TOP + _ROW * max(len(biases), 1) + 0.5))
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
    ends = [*biases["bias"].dropna(), *biases["ci_low"].dropna(), *biases["ci_high"].dropna()]
    widest = max([0.5, *map(abs, ends)]) * 1.08
    axes = _row_axes(figure, left=2.6, right=1.6, n_rows=len(biases), limits=(-widest, widest))
    axes.axvline(0, color=INK, lw=0.9)
    for position, row in enumerate(biases.itertuples(index=False)):
        y = _TOP + _ROW * (position + 0.5)
        label(page, 0.3, y, f"people say {row.level}", limit=24)
        label(page, 2.45, y, f"n = {tokens(row.n)}", color=FAINT, ha="right")
        label(page, 7.15, y, difference(row.bias))
        _interval_marks(axes, position, row.bias, row.ci_low, row.ci_high)
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
    figure = ShownFigure(figsize=(8.6, 4.2))
    page = plain_axes(figure)
    header(
        page,
        "What more labels would show",
        "lower end of the 95% interval of kappa, if kappa stayed as it is",
    )
    width, height = figure.get_size_inches()
    axes = figure.add_axes(
        (0.75 / width, 0.6 / height, (width - 3.1) / width, (height - 1.5) / height)
    )
    known = [row for row in decided.itertuples(index=False) if _spread(row) is not None]
    most = max([200, *(4 * int(row.n) for row in known)])
    most = min(
        max(
            [
                most,
                *(2 * (row.n + row.more_labels) for row in known if not pd.isna(row.more_labels)),
            ]
        ),
        _MOST,
    )
    numbers = np.unique(np.geomspace(_FEWEST, most, 200).round())
    lowest = 0.0
    ends: list[tuple[float, str]] = []
    for number, row in enumerate(known):
        lows = _projected(row, numbers)
        colour, style = _LINES[number % len(_LINES)]
        axes.plot(numbers, lows, color=colour, ls=style, lw=1.8)
        axes.plot(row.n, row.ci_low, "o", color=colour, ms=6, zorder=4)
        lowest = min(lowest, float(lows[0]), row.ci_low)
        ends.append((float(lows[-1]), str(row.axis)))
    axes.set(xscale="log", xlim=(_FEWEST, most), ylim=(max(lowest, -0.2), 1))
    axes.set_xticks(*_nice_ticks(most), minor=False)
    axes.minorticks_off()
    axes.tick_params(length=0, labelsize=8, labelcolor=FAINT)
    axes.spines[:].set_visible(False)
    axes.grid(color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    for threshold, name in ((USABLE, "usable"), (STRONG, "strong")):
        axes.axhline(threshold, color=INK, lw=1, ls=(0, (4, 3)))
        label(axes, _FEWEST * 1.05, threshold + 0.03, f"{name}: {threshold:g}", fontsize=7.5)
    _end_labels(page, axes, ends, width=width, height=height)
    label(page, (width - 2.35) / 2 + 0.4, height - 0.18, "labels", color=FAINT, ha="center")
    return figure


_LINES: tuple[tuple[str, Any], ...] = (
    (BLUE, "-"),
    (VERMILION, (0, (5, 2))),
    (INK, (0, (1, 1.5))),
    (FAINT, (0, (6, 2, 1, 2))),
)


def _row_axes(
    figure: Figure, *, left: float, right: float, n_rows: int, limits: tuple[float, float]
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


def _interval_marks(axes: Axes, y: float, estimate: Any, low: Any, high: Any) -> None:
    if pd.isna(estimate):
        return
    if not pd.isna(low):
        axes.plot([low, high], [y, y], color=BLUE, lw=1.8, solid_capstyle="butt")
    axes.plot(estimate, y, "o", color=BLUE, ms=6, zorder=3, clip_on=False)


def _draw_kappa_signs(page: Axes, *, people: bool) -> None:
    y = 0.76
    page.plot([0.17, 0.41], [y, y], color=BLUE, lw=1.8)
    page.plot(0.29, y, "o", color=BLUE, ms=6)
    label(page, 0.5, y, "judge and people; 0 is chance, 1 full agreement", limit=60)
    page.add_patch(Rectangle((3.62, y - 0.07), 0.2, 0.14, color=PALE_BLUE, alpha=0.45, lw=0))
    label(page, 3.9, y, f"usable from {USABLE:g}")
    page.add_patch(Rectangle((5.0, y - 0.07), 0.2, 0.14, color=PALE_BLUE, lw=0))
    label(page, 5.28, y, f"strong from {STRONG:g}")
    if people:
        page.plot(6.45, y, "D", color=INK, mfc="none", ms=6.5, mew=1.3)
        label(page, 6.57, y, "people among themselves")


def _people_among_themselves(ceiling: pd.DataFrame) -> dict[str, float]:
    rows = ceiling[(ceiling["metric"] == "human_human") & ceiling["estimate"].notna()]
    return dict(zip(rows["axis"], rows["estimate"].astype("float64"), strict=True))


def _draw_cell(page: Axes, x: float, y: float, size: float, number: int, part: float) -> None:
    colour = _SHADES(part * 0.85)
    page.add_patch(Rectangle((x, y), size, size, fc=colour, ec=GRID, lw=0.8))
    dark = np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.55
    ink = "#ffffff" if dark else INK
    label(
        page, x + size / 2, y + size / 2 - 0.08, tokens(number), ha="center", fontsize=9, color=ink
    )
    share = f"{100 * part:.0f}%" if number else ""
    label(page, x + size / 2, y + size / 2 + 0.13, share, ha="center", fontsize=7, color=ink)


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


def _nice_ticks(most: int) -> tuple[list[int], list[str]]:
    steps = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
    shown = [step for step in steps if step <= most]
    return shown, [tokens(step) for step in shown]


def _end_labels(
    page: Axes, axes: Axes, ends: list[tuple[float, str]], *, width: float, height: float
) -> None:
    """Name the lines at their right ends, none over another."""
    low, high = axes.get_ylim()
    span = height - 1.5
    last = -1.0
    for value, name in sorted(ends, reverse=True):
        y = 0.9 + (high - value) / (high - low) * span
        last = max(y, last + 0.17)
        label(page, width - 2.25, last, name, limit=26)
