from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.curation.label_files import LabelFile
from evalnb.curation.labels import (
    append_label,
    check_rater,
    label_path,
    read_labels,
)
from evalnb.errors import InputError
from evalnb.frames import LABELS
from evalnb.golden import GoldenSet, read_golden
from evalnb.places import place
from tests.suites import make_suite

CASE = {"id": "a", "input": "Hello?", "must_contain": ["hello"]}
WRITER = """
import sys
from pathlib import Path
from evalnb.curation.labels import append_label

path, prefix, count, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for number in range(count):
    append_label(path, *({
        "case_id": f"{prefix}-{number}", "output_hash": "h", "rater": path.stem, "axis": axis,
        "value": 3, "note": "x" * size, "action": "label", "at": "2026-05-31T09:00:00+00:00",
    } for axis in ("factual", "polite")))
    print(number, flush=True)
"""

FULL_DISK = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
sys.argv += ["one", "100", "10"]
{WRITER}
"""


def record(case_id: str = "a", value: float | None = 4, **given: Any) -> dict[str, Any]:
    return {
        "case_id": case_id,
        "output_hash": "h1",
        "rater": "scripted-anna",
        "axis": "factual",
        "value": value,
        "action": "label",
        "at": "2026-05-31T09:00:00+00:00",
        **given,
    }


def undo(**given: Any) -> dict[str, Any]:
    line = record(value=None, axis=None, action="undo", **given)
    return {name: value for name, value in line.items() if value is not None}


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "golden" / "shop", [CASE])


@pytest.fixture
def path(golden: GoldenSet) -> Path:
    return label_path(golden, "scripted-anna")


def values(golden: GoldenSet) -> dict[tuple[str, str], Any]:
    labels, _ = read_labels(golden)
    return {
        (row["case_id"], row["axis"]): row["value"]
        for row in labels[["case_id", "axis", "value"]].to_dict("records")
    }


def test_a_label_is_one_line_and_a_row(golden: GoldenSet, path: Path) -> None:
    append_label(path, record(note="clear", run_id="run-1"))

    assert path.read_text() == (
        '{"case_id": "a", "run_id": "run-1", "output_hash": "h1", "rater": "scripted-anna", '
        '"axis": "factual", "value": 4, "note": "clear", "action": "label", '
        '"at": "2026-05-31T09:00:00+00:00"}\n'
    )
    labels, problems = read_labels(golden)
    pd.testing.assert_frame_equal(labels, LABELS.build([record(note="clear", run_id="run-1")]))
    assert problems == []


def test_no_labels_are_an_empty_frame(golden: GoldenSet) -> None:
    labels, problems = read_labels(golden)
    pd.testing.assert_frame_equal(labels, LABELS.empty())
    assert problems == []


def test_the_last_line_of_an_output_and_axis_holds(golden: GoldenSet, path: Path) -> None:
    append_label(path, record(value=1))
    append_label(path, record(value=2, axis="polite"))
    append_label(path, record(value=3))
    append_label(path, record(value=5, output_hash="h2"))
    labels, _ = read_labels(golden)
    assert labels[["output_hash", "axis", "value"]].to_numpy().tolist() == [
        ["h1", "polite", 2.0],
        ["h1", "factual", 3.0],
        ["h2", "factual", 5.0],
    ]


def test_undo_takes_back_all_lines_of_the_last_action(golden: GoldenSet, path: Path) -> None:
    append_label(path, record(value=1), record(value=1, axis="polite"))
    later = {"at": "2026-05-31T09:00:09+00:00"}
    append_label(path, record(value=2, **later), record(value=2, axis="polite", **later))
    append_label(path, undo())
    assert values(golden) == {("a", "factual"): 1.0, ("a", "polite"): 1.0}
    append_label(path, undo())
    assert values(golden) == {}
    append_label(path, undo())  # there is nothing left to take back
    append_label(path, record(value=5))
    assert values(golden) == {("a", "factual"): 5.0}


def test_undo_takes_back_the_last_action_on_the_output_that_it_names(
    golden: GoldenSet, path: Path
) -> None:
    append_label(path, record("a", 1))
    append_label(path, record("b", 2))
    append_label(path, undo())
    assert values(golden) == {("b", "factual"): 2.0}


def test_undo_that_names_nothing_takes_back_the_last_action(golden: GoldenSet, path: Path) -> None:
    append_label(path, record("a", 1))
    append_label(path, record("b", 2))
    append_label(path, {"rater": "scripted-anna", "action": "undo", "at": record()["at"]})
    assert values(golden) == {("a", "factual"): 1.0}


def test_what_was_skipped_is_a_row_without_a_value(golden: GoldenSet, path: Path) -> None:
    append_label(path, record(value=2))
    append_label(path, record(value=None, action="skip"))
    labels, _ = read_labels(golden)
    assert labels["action"].tolist() == ["skip"]
    assert labels["value"].isna().all()


def test_raters_have_files_of_their_own(golden: GoldenSet, path: Path) -> None:
    other = label_path(golden, "scripted-ben")
    append_label(path, record(value=2))
    append_label(other, record(value=4, rater="scripted-ben"))
    labels, _ = read_labels(golden)
    assert labels[["rater", "value"]].to_numpy().tolist() == [
        ["scripted-anna", 2.0],
        ["scripted-ben", 4.0],
    ]
    only, _ = read_labels(golden, ["scripted-ben"])
    assert only["rater"].tolist() == ["scripted-ben"]
    with pytest.raises(InputError, match=r"no labels of 'scripted-bem'.*mean 'scripted-ben'"):
        read_labels(golden, ["scripted-bem"])


def test_a_pair_is_another_output_than_its_halves(golden: GoldenSet, path: Path) -> None:
    append_label(path, record(value=1))
    append_label(path, record(value=0.5, other_hash="h2"))
    labels, _ = read_labels(golden)
    assert labels["value"].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"rater": "scripted-anna", "action": "label"}', "`at` is missing"),
        (
            '{"rater": "scripted-anna", "action": "label", "at": "2026-05-31T09:00:00Z"}',
            "without `case_id`, `output_hash`, `axis`, `value`",
        ),
        (
            '{"rater": "scripted-anna", "action": "skip", "at": "2026-05-31T09:00:00Z", "case_id": "a", "output_hash": "h", "value": 2}',
            "`skip` and a value",
        ),
        ('{"rater": "scripted-anna", "action": "undo", "at": "noon"}', "must be a time"),
        ('{"rater": "ben", "action": "undo", "at": "2026-05-31T09:00:00Z"}', "is of 'ben'"),
        ('{"rater": "scripted-anna", "action": "love", "at": "2026-05-31T09:00:00Z"}', "`action`"),
        ("\udcff", "is not UTF-8"),
    ],
)
def test_a_damaged_line_is_reported_and_costs_no_other(
    line: str, said: str, golden: GoldenSet, path: Path
) -> None:
    append_label(path, record("a", 1))
    with path.open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    append_label(path, record("b", 2))

    labels, problems = read_labels(golden)

    assert labels["case_id"].tolist() == ["a", "b"]
    (problem,) = problems
    assert (problem.file, problem.line) == (str(path), 2)
    assert said in str(problem)


@given(cut=st.integers(min_value=1))
def test_what_a_kill_tore_off_costs_its_own_line_alone(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("labels") / "scripted-anna.jsonl"
    for number in range(3):
        append_label(path, record(f"case-{number}", number, note="größer 👍"))
    content = path.read_bytes()
    cut = cut % (len(content) - 1) + 1
    path.write_bytes(content[:cut])
    torn = LabelFile(path).catch_up()
    n_whole = content[: cut + 1].count(b"\n")  # a line that lacks only its end is whole
    assert len(torn.actions) == n_whole
    is_torn = content[cut - 1 : cut] != b"\n" and content[cut : cut + 1] != b"\n"
    assert [problem.line for problem in torn.problems] == ([n_whole + 1] if is_torn else [])

    append_label(path, record("later", 9))
    torn.catch_up()

    again = LabelFile(path).catch_up()
    assert again.actions == torn.actions
    assert [action.rated[0] for action in again.actions] == [
        *(f"case-{number}" for number in range(n_whole)),
        "later",
    ]
    assert again.problems == torn.problems
    assert len(again.problems) == is_torn


def test_a_writer_that_is_killed_loses_nothing_that_it_was_told_is_saved(path: Path) -> None:
    n_saved = []
    for attempt in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(attempt), "100000", "20000"],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            for _ in range(5 + 3 * attempt):
                last = writer.stdout.readline()
            os.kill(writer.pid, signal.SIGKILL)
            told = [last, *writer.stdout.read().splitlines()]
        n_saved.append(int(told[-1]) + 1)
    file = LabelFile(path).catch_up()
    there = {action.rated[0] for action in file.actions if len(action.lines) == 2}
    assert {f"{k}-{n}" for k, count in enumerate(n_saved) for n in range(count)} <= there
    assert len(file.problems) <= 4


def test_two_writers_at_once_do_not_mix_their_lines(golden: GoldenSet, path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, "100", "30000"],
            stdout=subprocess.DEVNULL,
        )
        for name in ("one", "two")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    labels, problems = read_labels(golden)
    assert problems == []
    assert len(labels) == 2 * 100 * 2


def test_a_file_that_was_replaced_is_read_anew(path: Path) -> None:
    append_label(path, record("a"))
    append_label(path, record("b"))
    file = LabelFile(path).catch_up()
    path.unlink()
    append_label(path, record("c"))
    assert [action.rated[0] for action in file.catch_up().actions] == ["c"]


@pytest.mark.parametrize(
    "name",
    ["", "Anna", "../anna", "a/b", "anna.jsonl", "1anna", "con", "lpt1", "zoë", "a b", "a" * 41],
)
def test_a_name_that_can_be_no_file_is_refused(name: str, golden: GoldenSet) -> None:
    with pytest.raises(InputError, match="a rater's name is a file's name"):
        label_path(golden, name)
    with pytest.raises(InputError, match="a rater's name is a file's name"):
        check_rater(name)


def test_nobody_is_no_rater(golden: GoldenSet) -> None:
    path = label_path(golden, "your-name")
    with pytest.raises(InputError, match="say who rates"):
        append_label(path, record(rater="your-name"))
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rater": "scripted-ben"}, "does not belong"),
        ({"value": float("nan")}, "value"),
        ({"value": True}, "value"),
        ({"value": "4"}, "value"),
        ({"axis": None}, "without `axis`"),
        ({"action": "save"}, "action"),
    ],
)
def test_a_record_that_is_none_is_not_written(wrong: dict[str, Any], said: str, path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        append_label(path, record(**wrong))
    assert not path.exists()


def test_labels_need_a_folder_of_this_machine(tmp_path: Path) -> None:
    from upath import UPath

    folder = make_suite(tmp_path / "shop", [CASE]).folder
    assert folder is not None
    there = UPath("memory://labels-test/shop")
    for name in ("suite.toml", "cases.jsonl"):
        (there / name).write_text((folder / name).read_text())
    golden = read_golden(str(there))
    with pytest.raises(InputError, match="labels are written line by line, which needs a folder"):
        label_path(golden, "scripted-anna")
    with pytest.raises(InputError, match="is at a URL"):
        append_label(place(f"{there}/labels/scripted-anna.jsonl"), record())
    with pytest.raises(InputError, match="only a suite has labels"):
        read_labels(GoldenSet(golden.cases))


def test_what_cannot_be_written_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(InputError, match="the label was not saved"):
        append_label(path, record())


def test_what_cannot_be_read_is_said(golden: GoldenSet, path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(
        InputError, match=r"labels cannot be read\n.*scripted-anna.jsonl: cannot be"
    ):
        read_labels(golden)


def test_a_longer_file_in_its_place_is_read_anew(path: Path) -> None:
    append_label(path, record("a"))
    file = LabelFile(path).catch_up()
    merged = path.with_suffix(".new")
    lines = [record("b", note="longer than the first line of the file was"), record("a")]
    merged.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    merged.replace(path)
    assert [action.rated[0] for action in file.catch_up().actions] == ["b", "a"]
    assert file.problems == []


def test_a_full_disk_is_said_and_what_comes_later_is_kept(golden: GoldenSet, path: Path) -> None:
    written = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False
    )
    assert "the label was not saved" in written.stderr.splitlines()[-2]
    assert path.stat().st_size == 1000
    append_label(path, record("later"))
    labels, problems = read_labels(golden)
    assert labels["case_id"].tolist()[-1] == "later"
    n_axes = labels.groupby("case_id")["axis"].nunique().to_dict()
    told = {f"one-{number}": 2 for number in written.stdout.split()}
    # Of the action that did not fit, the line that did is there: the item is taken up again.
    half = f"one-{len(told)}"
    assert told
    assert n_axes in ({**told, "later": 1}, {**told, half: 1, "later": 1})
    (problem,) = problems
    assert "is not JSON" in problem.message


def test_a_value_off_the_scale_is_a_problem_of_its_line_and_counts_for_nothing(
    golden: GoldenSet, path: Path
) -> None:
    for number, value in enumerate((3, 6, -1e9, 2.5)):
        append_label(path, record(axis="politeness", value=value, output_hash=f"h{number}"))
    labels, problems = read_labels(golden)
    assert labels["value"].tolist() == [3.0]
    assert [problem.line for problem in problems] == [2, 3, 4]
    assert "is 6, and `politeness` has the levels 1, 2, 3, 4, 5." in str(problems[0])
