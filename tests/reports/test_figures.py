import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import papermill
import pytest
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from pandas.testing import assert_frame_equal

from evalnb.frames import BASELINE, RESULTS, SCORES, SLICES
from evalnb.reports.figures import case_grid, grid_cells, pass_rates
from tests.reports import frames

HOSTILE = "$\\frac{a}{$ <img src=x> 日本語 \x1b[31m\n" + "long " * 50


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def drawn(figure: Any) -> bytes:
    """Draw the figure as a notebook does; a warning of a missing glyph would be an error."""
    image, size = figure._repr_png_()
    width, height = figure.get_size_inches()
    assert size == {"width": int(width * 96), "height": int(height * 96)}
    assert image.startswith(b"\x89PNG")
    return bytes(image)


def scores_of(*rows: tuple[str, str, int, bool | str]) -> pd.DataFrame:
    """Build scores from case, scorer, repeat, and a verdict or the reason for none."""
    return SCORES.build(
        {"case_id": case_id, "scorer": scorer, "repeat": repeat}
        | ({"passed": said} if isinstance(said, bool) else {"na_reason": said})
        for case_id, scorer, repeat, said in rows
    )


def test_cells_sum_up_repeats() -> None:
    scores = scores_of(
        ("a", "exact", 1, True),
        ("a", "exact", 2, True),
        ("b", "exact", 1, True),
        ("b", "exact", 2, False),
        ("c", "exact", 1, False),
        ("c", "exact", 2, "server"),
        ("d", "exact", 1, True),
        ("d", "exact", 2, "server"),
        ("d", "rubric", 1, "no_judge"),
        ("d", "rubric", 2, "no_judge"),
    )
    expected = pd.DataFrame(
        {
            "case_id": ["a", "b", "c", "d", "d"],
            "scorer": ["exact", "exact", "exact", "exact", "rubric"],
            "state": ["pass", "mixed", "fail", "accident", "plan"],
            "change": pd.NA,
        },
        dtype="string",
    )
    assert_frame_equal(grid_cells(scores, BASELINE.empty()), expected)


@pytest.mark.parametrize(
    ("said", "n_passed", "n_scored", "change"),
    [
        (True, 2, 2, None),
        (True, 1, 2, "better"),
        (True, 0, 2, "better"),
        (False, 2, 2, "worse"),
        (False, 0, 2, None),
        (True, 0, 0, None),
        ("server", 2, 2, None),
        ("no_judge", 2, 2, None),
    ],
)
def test_cells_change_where_all_repeats_passed_on_one_side_only(
    said: bool | str, n_passed: int, n_scored: int, change: str | None
) -> None:
    before = {"n_repeats": 2, "n_scored": n_scored, "n_passed": n_passed}
    baseline = BASELINE.build([{"case_id": "a", "scorer": "exact", **before}])
    cells = grid_cells(scores_of(("a", "exact", 1, said)), baseline)
    assert cells["change"].fillna("none").to_list() == [change or "none"]


def test_pass_rates_show_n_beside_each_label() -> None:
    figure = pass_rates(frames.slices())
    written = texts(figure)
    assert "all cases: 0.50 (0.09 to 0.91), 2 of 4 cases scored; baseline 1.00 on 2" in written
    at = [written.index(name) for name in ("all cases", "money", "talk")]
    assert [written[place + 1] for place in at] == ["n = 2 of 4", "n = 1 of 2", "n = 1"]
    assert drawn(figure)


def test_pass_rates_stand_on_an_axis_from_0_to_1() -> None:
    _, axes = pass_rates(frames.slices()).axes
    assert axes.get_xlim() == (0, 1)


def test_pass_rates_are_drawn_where_the_frame_says() -> None:
    axes: Any = pass_rates(frames.slices()).axes[1]
    drawn_x = [(line.get_marker(), list(line.get_xdata())) for line in axes.lines]
    bounds = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert [x for marker, x in drawn_x if marker == "o"] == [[0.5], [0.0], [1.0]]
    assert [x for marker, x in drawn_x if marker == "D"] == [[1.0], [1.0]]
    assert [x for _, x in drawn_x if len(x) == 2] == [
        [0.0945, 0.9055],
        [0.0, 0.7935],
        [0.2065, 1.0],
    ]
    assert bounds == [(0.25, 0.75), (0.0, 0.5)]


def test_of_a_field_with_many_values_those_with_most_cases_are_shown() -> None:
    slices = SLICES.build(
        {"slice": "tags", "value": f"tag-{n}", "n_planned": n, "n_scored": 0,
         "bound_low": 0, "bound_high": 1}
        for n in range(1, 31)
    )  # fmt: skip
    written = texts(pass_rates(slices))
    assert "tags, the 20 with most cases of 30" in written
    assert "tag-30" in written
    assert "tag-10" not in written


def test_case_grid_says_what_changed() -> None:
    figure = case_grid(frames.results(), frames.scores(), frames.baseline())
    written = texts(figure)
    assert written[:2] == [
        "1 case newly failing a scorer, 1 newly passing one",
        "against the baseline; 1 of 4 cases failed or unstable, 1 not scored by accident",
    ]
    assert drawn(figure)


def test_case_grid_orders_cases_by_category() -> None:
    written = texts(case_grid(frames.results(), frames.scores(), frames.baseline()))
    names = [text for text in written if text in {"money", "talk", "no category", "greets",
                                                  "refunds", "pays", "rhymes"}]  # fmt: skip
    assert names == ["money", "refunds", "pays", "talk", "greets", "no category", "rhymes"]


def test_case_grid_marks_changes_by_outline_and_shape() -> None:
    page: Any = case_grid(frames.results(), frames.scores(), frames.baseline()).axes[0]
    squares: list[Any] = [c for c in page.collections if isinstance(c, PatchCollection)]
    widths = [collection.get_linewidth()[0] for collection in squares]
    # One in the legend and one in the grid, for each of the two changes.
    assert widths.count(1.5) == 4


def test_case_grid_without_a_baseline_says_so() -> None:
    written = texts(case_grid(frames.results(), frames.scores(), None))
    assert written[:2] == [
        "1 of 4 cases failed or unstable",
        "no baseline; 1 not scored by accident",
    ]


@pytest.mark.parametrize("n_cases", [1, 40, 300])
def test_case_grid_shows_every_case_on_a_page_of_sane_size(n_cases: int) -> None:
    ids = [f"case-{n:03d}" for n in range(n_cases)]
    results = RESULTS.build({"case_id": i, "category": i[:6], "state": "pass"} for i in ids)
    scores = scores_of(*((i, "exact", 1, True) for i in ids))
    figure = case_grid(results, scores, None)
    assert set(ids) <= set(texts(figure))
    width, height = figure.get_size_inches()
    assert 8 <= width <= 17
    assert height <= 17


def test_case_grid_of_very_many_cases_leaves_out_those_that_simply_passed() -> None:
    ids = [f"case-{n:03d}" for n in range(500)]
    results = RESULTS.build(
        {"case_id": i, "category": "all", "state": "pass" if n else "fail"}
        for n, i in enumerate(ids)
    )
    scores = scores_of(*((i, "exact", 1, n > 0) for n, i in enumerate(ids)))
    written = texts(case_grid(results, scores, None))
    assert "case-000" in written
    assert "case-001" not in written
    assert written[1].endswith("; shown are 1 of those that did not simply pass")


def test_hostile_labels_are_short_and_no_formulas() -> None:
    results = RESULTS.build([{"case_id": HOSTILE, "category": HOSTILE, "state": "fail"}])
    slices = SLICES.build(
        [{"slice": HOSTILE, "value": HOSTILE, "n_planned": 1, "n_scored": 0,
          "bound_low": 0, "bound_high": 1}]
    )  # fmt: skip
    for figure in (
        pass_rates(slices),
        case_grid(results, scores_of((HOSTILE, HOSTILE, 1, False)), None),
    ):
        assert drawn(figure)
        labels = [text for text in figure.findobj(Text) if "frac" in text.get_text()]
        assert len(labels) >= 2
        for text in labels:
            assert not text.get_parse_math()
            assert not text.get_usetex()
            assert len(text.get_text()) <= 80
            assert text.get_text().isprintable()


def test_empty_frames_are_figures() -> None:
    assert drawn(pass_rates(SLICES.empty()))
    assert drawn(case_grid(RESULTS.empty(), SCORES.empty(), BASELINE.empty()))


def test_the_same_frames_give_the_same_image() -> None:
    one, other = (drawn(pass_rates(frames.slices())) for _ in range(2))
    assert one == other


CELL = """
import sys
from evalnb.frames import SLICES
from evalnb.reports import figures

assert "matplotlib.pyplot" not in sys.modules
figures.pass_rates(SLICES.empty())
"""


def test_a_figure_shows_itself_in_a_notebook_once(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "id": "figure", "metadata": {}, "outputs": [], "source": CELL}
    notebook = {"cells": [cell | {"execution_count": None}], "metadata": {}, "nbformat": 4}
    path = tmp_path / "in.ipynb"
    path.write_text(json.dumps(notebook | {"nbformat_minor": 5}))
    executed = papermill.execute_notebook(
        path, tmp_path / "out.ipynb", kernel_name="python3", progress_bar=False
    )
    (output,) = executed.cells[-1].outputs
    assert output.output_type == "execute_result"
    assert output.metadata["image/png"] == {"width": 825, "height": 157}
    assert base64.b64decode(output.data["image/png"]).startswith(b"\x89PNG")


@pytest.mark.parametrize("module", ["numbers", "text", "misses", "views", "markdown", "junit"])
def test_text_reports_do_not_load_heavy_libraries(module: str) -> None:
    code = (
        f"import sys, evalnb.reports.{module}\n"
        "print({'matplotlib', 'scipy', 'jinja2', 'IPython'} & set(sys.modules))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert loaded == "set()\n"
