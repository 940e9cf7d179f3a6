"""What is told of a judge, drawn on axes that are given: confusion, reliability, bias, probes.

Names and numbers stand beside the axes, so that a figure leaves room there: about four inches to the
left for probes, two for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.transforms import ScaledTranslation

from evalnb.probes.decisions import MATTERS
from evalnb.reports.bias_words import effect_groups, effect_value, effect_verdict
from evalnb.reports.drawing import (
    BLUE,
    FAINT,
    GRID,
    INK,
    PALE_BLUE,
    VERMILION,
    aside,
    drawable,
    label,
)
from evalnb.reports.numbers import difference, tokens
from evalnb.reports.views import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GROUP_LINES",
    "VERDICTS",
    "draw_biases",
    "draw_confusion",
    "draw_effects",
    "draw_interval",
    "draw_reliability",
]

_SHADES = LinearSegmentedColormap.from_list("evalnb_blues", ["#ffffff", PALE_BLUE, BLUE])
VERDICTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "matters": (VERMILION, {"marker": "D", "ms": 6.0, "mfc": VERMILION}, "matters"),
    "small": (BLUE, {"marker": "o", "ms": 5.5, "mfc": BLUE}, "real, but small"),
    "noise": (FAINT, {"marker": "o", "ms": 5.5, "mfc": "white"}, "not shown"),
    "unknown": (INK, {"marker": "s", "ms": 5.0, "mfc": "white"}, "noise not known"),
}
"""Colour, the sign, which differs without colour too, and the word at the right."""
GROUP_LINES = 1.4
"""So many lines the name of a group of probes takes."""

_MOST_POINTS = 105


def draw_confusion(axes: Axes, counts: pd.DataFrame, *, judge: str) -> Axes:
    """Draw how often each level of people's met each of the judge's, a square a pair of levels.

    Parameters
    ----------
    axes : to draw on
    counts : level x level, people's in the index, as `evalnb.disagreements.confusion_table` gives it
    judge : whose levels the columns are

    Returns
    -------
    the axes; each cell is as dark as its share of its row, the diagonal is framed
    """
    size = len(counts)
    axes.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[])
    axes.set_aspect("equal")
    axes.spines[:].set_visible(False)
    cells = counts.to_numpy()
    rows = cells.sum(axis=1)
    _above(axes, size / 2, 0.5, f"{judge} says", color=FAINT)
    aside(axes, -1.55, size / 2, "people say", color=FAINT)
    for row, name in enumerate(counts.index):
        aside(axes, -0.12, row + 0.5, str(name), limit=10, ha="right")
        _above(axes, row + 0.5, 0.2, str(name), limit=10)
        aside(axes, 0.12, row + 0.5, f"n = {tokens(rows[row])}", color=FAINT)
        for column in range(size):
            number = int(cells[row, column])
            _draw_cell(axes, column, row, number, number / rows[row] if rows[row] else 0.0)
    for place in range(size):
        corner = (place + 0.04, place + 0.04)
        axes.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, ec=INK, lw=1.4))
    return axes


def draw_reliability(axes: Axes, reliability: pd.DataFrame, *, judge: str) -> Axes:
    """Draw what people say, on average, of what the judge puts on each level.

    Parameters
    ----------
    axes : to draw on
    reliability : of one axis, as `evalnb.disagreements.reliability_by_level` gives it
    judge : whose levels they are

    Returns
    -------
    the axes; on the diagonal a level means to the judge what it means to people
    """
    known = reliability[reliability["people"].notna()]
    ends = [*reliability["position"], *known["ci_low"].dropna(), *known["ci_high"].dropna()]
    low, high = (min(ends) - 0.4, max(ends) + 0.4) if ends else (0.0, 1.0)
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set_xticks(
        reliability["position"].astype("float64"), [str(name) for name in reliability["level"]],
        parse_math=False,
    )  # fmt: skip
    axes.plot([low, high], [low, high], color=INK, ls="--", lw=0.9)
    row: Any
    for row in known.itertuples(index=False):
        if not pd.isna(row.ci_low):
            axes.plot([row.position] * 2, [row.ci_low, row.ci_high], color=BLUE, lw=1.8)
        axes.plot(row.position, row.people, "o", color=BLUE, ms=6, zorder=3)
        label(axes, row.position + 0.06 * (high - low) / 2, row.people, f"n = {tokens(row.n)}",
              va="top", fontsize=7.5, color=FAINT)  # fmt: skip
    axes.set_xlabel(drawable(f"{judge} says", limit=60), fontsize=8, color=FAINT, parse_math=False)
    axes.set_ylabel("people say, mean and 95% interval", fontsize=8, color=FAINT)
    return axes


def draw_biases(axes: Axes, biases: pd.DataFrame) -> Axes:
    """Draw how far the judge is above or below people, a line a level that people gave.

    Parameters
    ----------
    axes : to draw on
    biases : of one axis, as `evalnb.disagreements.bias_by_level` gives it

    Returns
    -------
    the axes; left of 0 the judge is stricter
    """
    ends = [*biases["bias"].dropna(), *biases["ci_low"].dropna(), *biases["ci_high"].dropna()]
    widest = max([0.5, *map(abs, ends)]) * 1.08
    axes.set(xlim=(-widest, widest), ylim=(max(len(biases), 1) - 0.5, -0.5), yticks=[])
    axes.axvline(0, color=INK, lw=0.9)
    row: Any
    for y, row in enumerate(biases.rename(columns={"bias": "estimate"}).itertuples(index=False)):
        aside(axes, -2.3, y, f"people say {row.level}", limit=24)
        aside(axes, -0.15, y, f"n = {tokens(row.n)}", color=FAINT, ha="right")
        aside(axes, 0.15, y, difference(row.estimate))
        draw_interval(axes, y, row)
    return axes


def draw_effects(axes: Axes, effects: pd.DataFrame) -> Axes:
    """Draw how far judges move by what should not move them, beside their own noise.

    Parameters
    ----------
    axes : to draw on
    effects : a frame of probe effects

    Returns
    -------
    the axes, in points: of a rate in percent, of levels in percent of the scale's span. A tick is
    the noise floor, the band around it is what would be too small to matter.
    """
    line = 0.0
    for meaning, rows in effect_groups(effects):
        aside(axes, -3.95, line + 0.75, f"It {meaning}", limit=90, fontweight="bold")
        line += GROUP_LINES
        for row in records(rows):
            _draw_effect(axes, line, row)
            line += 1
    axes.set(xlim=(-_MOST_POINTS, _MOST_POINTS), ylim=(max(line, 1), 0), yticks=[])
    axes.set_xticks(range(-100, 101, 50))
    axes.set_xticklabels([f"{x:+d}".replace("-", "−") if x else "0" for x in range(-100, 101, 50)])
    axes.axvline(0, color=FAINT, lw=0.9)
    return axes


def draw_interval(axes: Axes, y: float, row: Any, *, colour: str = BLUE, marker: str = "o") -> None:
    """Draw `estimate` of a row with `ci_low` and `ci_high`, where they are known."""
    if pd.isna(row.estimate):
        return
    if not pd.isna(row.ci_low):
        axes.plot([row.ci_low, row.ci_high], [y, y], color=colour, lw=1.8, solid_capstyle="butt")
    axes.plot(row.estimate, y, marker, color=colour, ms=6, zorder=3, clip_on=False)


def _draw_effect(axes: Axes, line: float, row: dict[str, Any]) -> None:
    y = line + 0.5
    names = dict.fromkeys((str(row["judge"]), str(row["scorer"])))
    is_own = not pd.isna(row["judge_fingerprint"])
    aside(axes, -3.8, y, ", ".join(names), limit=44, color=INK if is_own else FAINT)
    aside(axes, -0.1, y, f"n = {tokens(row['n'])}", color=FAINT, ha="right")
    colour, sign, word = VERDICTS[effect_verdict(row)]
    scale = 100.0 if row["unit"] == "rate" else 100.0 / float(row["span"])
    if not pd.isna(row["floor"]):
        floor, size = row["floor"] * scale, MATTERS[row["unit"]] * scale
        band = Rectangle((floor - size, line + 0.08), 2 * size, 0.84, color=PALE_BLUE, lw=0)
        axes.add_patch(band)
        axes.plot([floor, floor], [line + 0.1, line + 0.9], color=INK, lw=1.4)
    if not pd.isna(row["estimate"]):
        if not pd.isna(row["ci_low"]):
            most = _MOST_POINTS
            ends = [min(max(row[name] * scale, -most), most) for name in ("ci_low", "ci_high")]
            axes.plot(ends, [y, y], color=colour, lw=1.8, solid_capstyle="butt")
        axes.plot(row["estimate"] * scale, y, color=colour, zorder=3, **sign)
    aside(axes, 0.1, y, effect_value(row), color=colour)
    weight = "bold" if word == "matters" else "normal"
    aside(axes, 0.95, y, word, color=colour, fontweight=weight)


def _draw_cell(axes: Axes, x: float, y: float, number: int, part: float) -> None:
    colour = _SHADES(part * 0.85)
    axes.add_patch(Rectangle((x, y), 1, 1, fc=colour, ec=GRID, lw=0.8))
    dark = np.dot(to_rgb(colour), (0.299, 0.587, 0.114)) < 0.55
    ink = "#ffffff" if dark else INK
    label(axes, x + 0.5, y + 0.39, tokens(number), ha="center", fontsize=9, color=ink)
    share = f"{100 * part:.0f}%" if number else ""
    label(axes, x + 0.5, y + 0.68, share, ha="center", fontsize=7, color=ink)


def _above(axes: Axes, x: float, inches: float, text: str, **looks: Any) -> None:
    """Write so many inches above the axes."""
    shift = ScaledTranslation(0, inches, axes.figure.dpi_scale_trans)
    label(axes, x, 1, text, ha="center", transform=axes.get_xaxis_transform() + shift, **looks)
