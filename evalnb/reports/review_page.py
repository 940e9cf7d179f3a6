"""The monthly review as one HTML page that can be mailed: nothing on it is fetched and nothing runs."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalnb.frames import SLICES
from evalnb.jsontext import write_atomically
from evalnb.reports import kept_figures as figures
from evalnb.reports import review_words as say
from evalnb.reports.html import templates
from evalnb.reports.review_tables import TABLES, review_table, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from evalnb.review.review import Review

__all__ = ["SECTIONS", "Section", "draw_section", "review_page", "write_review"]


@dataclass(frozen=True)
class Section:
    """One section of a review.

    Attributes
    ----------
    name, title : of it
    lines : what it says
    tables : which it has
    figure : what it draws; None for nothing
    """

    name: str
    title: str
    lines: Callable[[Review], list[str]]
    tables: tuple[str, ...] = ()
    figure: Callable[[Review], Figure] | None = None


def _trend(review: Review) -> Figure:
    return figures.drawn(figures.trend, review.history, review.changes)


def _slices(review: Review) -> Figure:
    rows = SLICES.empty() if review.newest is None else review.newest.slices
    return figures.drawn(figures.slice_forest, rows, height=1.2 + 0.22 * min(len(rows), 30))


def _kappa(review: Review) -> Figure:
    return figures.drawn(figures.kappa_trend, review.kappas, expires=review.expires)


def _plane(review: Review) -> Figure:
    return figures.drawn(figures.coverage_plane, review.plane, height=4.2)


def _cost(review: Review) -> Figure:
    return figures.drawn(figures.cost, review.spending, height=3.2)


def _power(review: Review) -> Figure:
    return figures.drawn(figures.power_curve, review.plan, height=3.2)


SECTIONS = (
    Section("trend", "Score trend", say.trend_lines, ("spells",), _trend),
    Section("changes", "What changed under the scores", say.change_lines, ("changes",)),
    Section("falling", "Cases trending down, and why", say.falling_lines, ("falling", "reasons")),
    Section(
        "states", "Always failing, never failing, flaky", say.state_lines, ("states",), _slices
    ),
    Section("kappa", "May we still trust the judge?", say.kappa_lines, ("kappas",), _kappa),
    Section("advice", "Advice for the judge's prompt", say.advice_lines, ("disagreements",)),
    Section(
        "golden", "Is the golden set still true?", say.golden_lines, ("refresh", "pruning"), _power
    ),
    Section("coverage", "Traffic that it does not cover", say.coverage_lines, ("missing",), _plane),
    Section("feedback", "Users' feedback beside scores", say.feedback_lines, ("feedback",)),
    Section("standing", "Waivers, overrides, quarantines", say.standing_lines, ("standing",)),
    Section("spending", "Spending", say.spending_lines, ("spending",), _cost),
)
"""In the order of the review."""


def draw_section(review: Review, name: str) -> Figure:
    """Draw the figure of a section.

    Raises
    ------
    ValueError
        If there is no such section, or it draws nothing.
    """
    drawing = {one.name: one.figure for one in SECTIONS if one.figure is not None}
    if name not in drawing:
        raise ValueError(f"`name` must be one of {', '.join(drawing)}. Got {name!r}.")
    return drawing[name](review)


def review_page(review: Review) -> str:
    """Write a review as one HTML document, with its figures in it."""
    text = templates().get_template("review.html.j2").render(
        title=f"Monthly review of {review.golden.settings.name}, {review.as_of}",
        notice=review.synthetic,
        about=say.about_lines(review),
        sections=[_rendered(review, section) for section in SECTIONS],
    )  # fmt: skip
    return text.encode(errors="replace").decode()


def write_review(review: Review, path: Path) -> Path:
    """Write the page of a review to a file, and return the file."""
    write_atomically(path, review_page(review).encode())
    return path


def _rendered(review: Review, section: Section) -> dict[str, Any]:
    image = None
    if section.figure is not None:
        png, size = section.figure(review)._repr_png_()  # type: ignore[attr-defined]
        image = {"data": base64.b64encode(png).decode(), **size}
    return {
        "name": section.name,
        "title": section.title,
        "lines": section.lines(review),
        "image": image,
        "tables": [
            {"caption": TABLES[name], "n": n, "html": review_table(review, name).to_html()}
            for name in section.tables
            if (n := len(table_rows(review, name)))
        ],
    }
