"""The figure of what sways judges: all effects on one axis, beside the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.patches import Rectangle

from evalnb.probes.decisions import MATTERS
from evalnb.reports.bias_words import effect_groups, effect_value, effect_verdict
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
from evalnb.reports.numbers import tokens
from evalnb.reports.views import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bias_effects"]

_WIDTH = 11.0
_LEFT, _RIGHT = 4.1, 2.35
_TOP, _ROW, _BOTTOM = 1.35, 0.205, 0.5
_LOOKS: dict[str, tuple[str, dict[str, Any], str]] = {
    "matters": (VERMILION, {"marker": "D", "ms": 6.0, "mfc": VERMILION}, "matters"),
    "small": (BLUE, {"marker": "o", "ms": 5.5, "mfc": BLUE}, "real, but small"),
    "noise": (FAINT, {"marker": "o", "ms": 5.5, "mfc": "white"}, "not shown"),
    "unknown": (INK, {"marker": "s", "ms": 5.0, "mfc": "white"}, "noise not known"),
}
"""Colour, the sign, which differs without colour too, and the word at the right."""
_SIGNS = (
    "more than noise, and matters",
    "more than noise, but small",
    "not shown to be more than noise",
    "noise not known",
)


def bias_effects(effects: pd.DataFrame) -> Figure:
    """Draw every effect with its interval on one axis, and the noise that it is held against.

    Parameters
    ----------
    effects : a frame of probe effects

    Returns
    -------
    a figure
        The axis is in points: of a rate in percent, of levels in percent of the scale's span. A
        tick is the noise floor, the band around it is what would be too small to matter.
    """
    groups = list(effect_groups(effects))
    if not groups:
        figure = ShownFigure(figsize=(_WIDTH, 0.75))
        header(plain_axes(figure), "What sways the judges", "no judge was probed")
        return figure
    n_lines = sum(len(rows) + 1.4 for _, rows in groups)
    figure = ShownFigure(figsize=(_WIDTH, _TOP + _ROW * n_lines + _BOTTOM))
    page = plain_axes(figure)
    header(
        page,
        "What sways the judges, beside their own noise",
        "how far each moves by what should not move it, with 95% intervals; a row for each axis or "
        "set of data",
    )
    label(
        page,
        0.15,
        0.72,
        "dark names: judges of the suite; grey: public ones. More than noise: at 5% over all probes "
        "of a judge and axis (Holm). Band: too small to matter",
        limit=170,
        fontsize=8,
        color=FAINT,
    )
    _draw_signs(page)
    axes = _points_axes(figure, n_lines)
    line = 0.0
    for meaning, rows in groups:
        label(page, 0.15, _TOP + _ROW * (line + 0.75), f"It {meaning}", limit=90, fontweight="bold")
        line += 1.4
        for row in records(rows):
            _draw_row(page, axes, line, row)
            line += 1
    return figure


def _points_axes(figure: Figure, n_lines: float) -> Axes:
    width, height = figure.get_size_inches()
    extent = _ROW * n_lines
    axes = figure.add_axes(
        (
            _LEFT / width,
            1 - (_TOP + extent) / height,
            (width - _LEFT - _RIGHT) / width,
            extent / height,
        )
    )
    axes.set(xlim=(-105, 105), ylim=(n_lines, 0), yticks=[], xticks=range(-100, 101, 25))
    axes.set_xticklabels([f"{x:+d}".replace("-", "−") if x else "0" for x in range(-100, 101, 25)])
    axes.tick_params(axis="x", length=0, labelsize=8, labelcolor=FAINT)
    label(
        axes,
        0,
        n_lines + 2.0,
        "points: of a share in percent, of levels in percent of the scale from lowest to highest",
        limit=100,
        ha="center",
        fontsize=7.5,
        color=FAINT,
    )
    axes.grid(axis="x", color=GRID, lw=0.8)
    axes.axvline(0, color=FAINT, lw=0.9)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.patch.set_visible(False)
    return axes


def _draw_row(page: Axes, axes: Axes, line: float, row: dict[str, Any]) -> None:
    y = _TOP + _ROW * (line + 0.5)
    names = dict.fromkeys((str(row["judge"]), str(row["scorer"])))
    is_own = not pd.isna(row["judge_fingerprint"])
    label(page, 0.3, y, ", ".join(names), limit=44, color=INK if is_own else FAINT)
    label(page, _LEFT - 0.1, y, f"n = {tokens(row['n'])}", color=FAINT, ha="right")
    colour, sign, word = _LOOKS[effect_verdict(row)]
    scale = 100.0 if row["unit"] == "rate" else 100.0 / float(row["span"])
    if not pd.isna(row["floor"]):
        floor, size = row["floor"] * scale, MATTERS[row["unit"]] * scale
        band = Rectangle((floor - size, line + 0.08), 2 * size, 0.84, color=PALE_BLUE, lw=0)
        axes.add_patch(band)
        axes.plot([floor, floor], [line + 0.1, line + 0.9], color=INK, lw=1.4)
    if not pd.isna(row["estimate"]):
        if not pd.isna(row["ci_low"]):
            ends = [min(max(row[name] * scale, -105), 105) for name in ("ci_low", "ci_high")]
            axes.plot(ends, [line + 0.5] * 2, color=colour, lw=1.8, solid_capstyle="butt")
        axes.plot(row["estimate"] * scale, line + 0.5, color=colour, zorder=3, **sign)
    x = _WIDTH - _RIGHT + 0.1
    label(page, x, y, effect_value(row), color=colour)
    weight = "bold" if word == "matters" else "normal"
    label(page, x + 0.85, y, word, color=colour, fontweight=weight)


def _draw_signs(page: Axes) -> None:
    y, x = 1.05, 0.2
    for (colour, sign, _), said in zip(_LOOKS.values(), _SIGNS, strict=True):
        page.plot([x, x + 0.24], [y, y], color=colour, lw=1.8)
        page.plot(x + 0.12, y, color=colour, **sign)
        label(page, x + 0.32, y, said, limit=60)
        x += 0.5 + 0.063 * len(said)
    page.add_patch(Rectangle((x, y - 0.08), 0.3, 0.16, color=PALE_BLUE, lw=0))
    page.plot([x + 0.15, x + 0.15], [y - 0.08, y + 0.08], color=INK, lw=1.4)
    label(page, x + 0.4, y, "noise: the judge without the change", limit=60)
