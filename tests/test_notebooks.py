from __future__ import annotations

import ast
import shutil
from pathlib import Path

import nbformat
import papermill
import pytest

from evalnb.errors import EvalnbError, InputError
from evalnb.notebooks import check_parameters, execute_notebook, notebook_path
from tests.suites import REPOSITORY, copy_of_support

WRITES_RUNS = {"golden_run": 1}
"""How many runs a notebook leaves; the others only show."""
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


def small_notebook(path: Path, *cells: str) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    first = nbformat.v4.new_code_cell("limit: int = 3  # how many")
    first.metadata["tags"] = ["parameters"]
    notebook.cells = [first, *(nbformat.v4.new_code_cell(cell) for cell in cells)]
    nbformat.write(notebook, path)
    return path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_one_cell_of_parameters_all_literals_with_help(path: Path) -> None:
    cells = nbformat.read(path, 4).cells
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    for parameter in papermill.inspect_notebook(str(path)).values():
        assert parameter["inferred_type_name"] != "None"
        assert parameter["help"]
        assert isinstance(ast.literal_eval(parameter["default"]), (str, int, float, bool))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_a_thin_layer_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    for cell in code:
        assert not any(
            line.startswith(("def ", "class ", "for ", "while ", "try:", "with "))
            for line in cell.source.splitlines()
        )
    for word in ("**Purpose.**", "**Inputs.**", "**Outputs.**", "papermill "):
        assert word in notebook.cells[0].source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_with_its_defaults_from_its_own_folder(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    copy_of_support(tmp_path)
    if path.stem == "monthly_review":
        demo = request.getfixturevalue("demo")
        shutil.copytree(demo.folder, tmp_path / "results" / "demo-history")
    here = tmp_path / "notebooks"
    here.mkdir()
    papermill.execute_notebook(
        str(path),
        str(tmp_path / path.name),
        kernel_name="python3",
        progress_bar=False,
        cwd=str(here),
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
    written = list((tmp_path / "results").glob("support/*/report.json"))
    assert len(written) == WRITES_RUNS.get(path.stem, 0)


def test_an_unknown_parameter_is_refused_before_a_kernel_starts(tmp_path: Path) -> None:
    path = small_notebook(tmp_path / "a.ipynb")
    output = tmp_path / "out.ipynb"
    with pytest.raises(
        InputError, match=r"no parameter 'limits' \(did you mean 'limit'\?\)\. It has: limit"
    ):
        execute_notebook(path, output, {"limits": 4})
    assert not output.exists()


@pytest.mark.parametrize("value", ["three", True, 2.5, None])
def test_a_parameter_of_another_type_is_refused_before_a_kernel_starts(
    tmp_path: Path, value: object
) -> None:
    path = small_notebook(tmp_path / "a.ipynb")
    with pytest.raises(InputError, match=r"'limit' must be a whole number\. Got (?!3)"):
        check_parameters(path, {"limit": value})


def test_known_parameters_are_passed_and_the_source_stays_as_it_is(tmp_path: Path) -> None:
    path = small_notebook(tmp_path / "a.ipynb", "assert limit == 5")
    before = path.read_bytes()
    check_parameters(path, {"limit": 5})
    execute_notebook(path, tmp_path / "out.ipynb", {"limit": 5})
    assert path.read_bytes() == before
    assert nbformat.read(tmp_path / "out.ipynb", 4).metadata.papermill.parameters == {"limit": 5}


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("from evalnb import InputError; raise InputError('the suite is torn')", 2),
        ("raise RuntimeError('the suite is torn')", 4),
    ],
)
def test_a_failing_cell_keeps_its_kind_and_the_executed_copy(
    cell: str, code: int, tmp_path: Path
) -> None:
    path = small_notebook(tmp_path / "a.ipynb", cell)
    with pytest.raises(EvalnbError, match="the suite is torn") as raised:
        execute_notebook(path, tmp_path / "out.ipynb", {})
    assert raised.value.exit_code == code
    assert (tmp_path / "out.ipynb").exists()


def test_a_kernel_that_dies_is_a_fault_and_no_decision(tmp_path: Path) -> None:
    path = small_notebook(tmp_path / "a.ipynb", "import os; os._exit(1)")
    with pytest.raises(EvalnbError, match="kernel died") as raised:
        execute_notebook(path, tmp_path / "out.ipynb", {})
    assert raised.value.exit_code == 4


def test_a_notebook_that_is_not_there_is_said_by_name() -> None:
    with pytest.raises(InputError, match="no notebook 'golden_walk'"):
        notebook_path("golden_walk")
