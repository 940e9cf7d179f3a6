"""A study of a judge, from public data and from a suite with scripted labels."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import pandas as pd
import papermill
import pytest

from evalnb.curation.labels import append_label
from evalnb.errors import DecisionError, InputError
from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import GoldenSet, read_golden
from evalnb.holdout import HOLDOUT
from evalnb.ratings import AxisScale, ratings_frame
from evalnb.results import latest_run, new_run_folder, write_run
from evalnb.runs import Run
from evalnb.study import Study, chosen
from evalnb.suite_study import open_study, suite_study
from evalnb.systems import load_system
from tests.suites import REPOSITORY, copy_of_support, make_suite

NOTEBOOK = REPOSITORY / "notebooks" / "judge_agreement.ipynb"


def judged_run(golden: GoldenSet) -> Run:
    """Replay a run of a suite with its judges, and keep it."""
    folder = new_run_folder(golden, datetime(2026, 12, 1, tzinfo=UTC))
    run = evaluate(
        golden,
        load_system(golden),
        run_id=folder.name,
        as_of=date(2026, 12, 1),
        tier="full",
        progress="none",
    )
    write_run(folder, run)
    return run


def label(golden: GoldenSet, run: Run, rater: str, shift: int = 0) -> int:
    """Label what the judges scored on politeness, as they did or `shift` levels higher."""
    assert golden.folder is not None
    scored = [
        row
        for row in to_records(run.scores)
        if row["scorer"] == "politeness" and "raw_value" in row
    ]
    for row in scored:
        append_label(
            golden.folder / "labels" / f"{rater}.jsonl",
            {
                "case_id": row["case_id"],
                "run_id": row["run_id"],
                "output_hash": row["output_hash"],
                "rater": rater,
                "axis": "politeness",
                "value": min(5.0, row["raw_value"] + shift),
                "note": "as scripted",
                "action": "label",
                "at": "2026-12-01T12:00:00Z",
            },
        )
    return len(scored)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[GoldenSet, int]:
    """A copy of the support suite with one judged run and two scripted raters."""
    golden = read_golden(copy_of_support(tmp_path_factory.mktemp("labelled")))
    run = judged_run(golden)
    label(golden, run, "scripted-anna")
    return golden, label(golden, run, "scripted-bo", shift=1)


@cache
def public(name: str) -> Study:
    return open_study(name)


@pytest.mark.parametrize("name", ["hanna", "triviaqa", "pandalm"])
def test_public_data_is_opened_by_its_name(name: str) -> None:
    study = public(name)
    assert study.name == name
    assert not study.needs
    assert study.axis == next(iter(study.scales))
    assert study.judge in study.judges
    assert study.decided["axis"].tolist() == list(study.scales)
    assert set(study.close_statistics["metric"]) <= set(study.statistics["metric"])
    assert len(study.furthest(3)) == 3


def test_names_that_are_not_there_are_said_with_the_nearest() -> None:
    for options, message in (
        ({"judge": "ChatGPT_p9"}, r"no judge 'ChatGPT_p9' \(did you mean 'ChatGPT_p"),
        ({"axis": "relevanse"}, r"no axis 'relevanse' \(did you mean 'relevance'\?\)"),
        ({"judges": ["nobody"]}, "no judge 'nobody'. There are: ChatGPT_p1"),
        ({"people": "humam_1"}, r"no person 'humam_1' \(did you mean 'human_1'\?\)"),
    ):
        with pytest.raises(InputError, match=message):
            open_study("hanna", **options)
    with pytest.raises(InputError, match=r"no public set 'trivia_qa' \(did you mean 'triviaqa'"):
        open_study("trivia_qa")


def two_judges(people: str | None = None) -> Study:
    """Two judges with an axis each and one that both rated; one of two people rated tone alone."""
    axes = {"tone": ["one", "both"], "facts": ["other", "both"]}
    people_of = {"tone": ["scripted-anna", "scripted-bo"], "facts": ["scripted-anna"]}
    rows = [
        {"item": str(n), "axis": axis, "rater": rater, "kind": kind, "value": 1 + n % top}
        for axis in axes
        for kind, raters_of in (("human", people_of), ("judge", axes))
        for top, rater in enumerate(raters_of[axis], 3)
        for n in range(30)
    ]
    scales = dict.fromkeys(axes, AxisScale((1, 2, 3, 4, 5)))
    return Study("two", "Scripted.", ratings_frame(pd.DataFrame(rows)), scales, people=people)


@pytest.mark.parametrize(
    ("people", "judge", "axis", "kept", "left_out"),
    [
        (None, "", "", ["tone"], "Left out are facts, for want of verdicts of one."),
        (None, "", "facts", ["facts"], "Left out are tone, for want of verdicts of other."),
        (None, "both", "", ["tone", "facts"], None),
        (
            "scripted-bo",
            "both",
            "",
            ["tone"],
            "Left out are facts, for want of verdicts of both, or of ratings of scripted-bo.",
        ),
    ],
)
def test_a_judge_is_looked_at_on_the_axes_that_it_rated(
    people: str | None, judge: str, axis: str, kept: list[str], left_out: str | None
) -> None:
    study = chosen(two_judges(people), judge=judge, axis=axis, judges=())
    assert list(study.scales) == study.decided["axis"].tolist() == kept
    assert study.axis == kept[0]
    assert list(study.warnings) == ([] if left_out is None else [left_out])
    assert set(study.statistics["axis"]) == set(study.ceiling["axis"]) == set(kept)
    compared = study.compared(0.05).groupby("axis")["judge"].agg(list).to_dict()
    rated = {"tone": {"one", "both"}, "facts": {"other", "both"}}
    assert {name: set(found) for name, found in compared.items()} == {
        name: rated[name] for name in kept
    }


def test_an_axis_that_the_judge_did_not_rate_is_said() -> None:
    with pytest.raises(InputError, match="nothing to compare on facts, for want of verdicts of on"):
        chosen(two_judges(), judge="one", axis="facts", judges=())
    with pytest.raises(InputError, match=r"nothing to compare on tone, facts, .*of scripted-bo"):
        chosen(two_judges("scripted-bo"), judge="other", axis="", judges=())
    with pytest.raises(InputError, match=r"nothing to compare on better, .*levels have no median"):
        open_study("pandalm", people="median")


def test_a_suite_without_labels_says_what_it_needs() -> None:
    study = open_study(str(REPOSITORY / "golden" / "support"))
    assert "There are no labels" in study.needs
    for frame in (
        study.decided,
        study.statistics,
        study.ceiling,
        study.confusion,
        study.biases,
        study.slices,
        study.countings,
        study.furthest(5),
        study.compared(0.05),
    ):
        assert frame.empty


def test_labels_without_a_run_ask_for_one(tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    append_label(
        tmp_path / "golden" / "support" / "labels" / "scripted-anna.jsonl",
        {
            "case_id": "a",
            "output_hash": "h",
            "rater": "scripted-anna",
            "axis": "politeness",
            "value": 3.0,
            "action": "label",
            "at": "2026-12-01T12:00:00Z",
        },
    )
    study = suite_study(golden)
    assert "there is no run" in study.needs
    assert "--tier full" in study.needs
    with pytest.raises(DecisionError, match="the run ended without a decision"):
        suite_study(golden, [tmp_path / "nowhere"])


def test_the_labels_of_a_suite_meet_what_its_judges_said(
    labelled: tuple[GoldenSet, int],
) -> None:
    golden, n = labelled
    study = suite_study(golden, people="scripted-anna")
    assert list(study.scales) == ["politeness"]
    assert study.scales["politeness"].levels == (1, 2, 3, 4, 5)
    row = study.decided.iloc[0]
    assert (row["n"], row["estimate"]) == (n, 1.0)
    assert study.counts["joined"].tolist() == [n, n]
    assert study.ratings["text"].str.startswith("Asked: ").any()
    other = suite_study(golden, people="scripted-bo")
    bias = other.close_statistics.set_index("metric")["estimate"].loc["bias"]
    assert -1 <= bias < 0
    assert not other.ceiling["estimate"].isna().any()


def test_holdout_cases_are_not_shown_one_by_one(labelled: tuple[GoldenSet, int]) -> None:
    golden, _ = labelled
    study = suite_study(golden, people="scripted-bo")
    hidden = {case.id for case in golden if case.split == HOLDOUT}
    assert set(study.ratings["split"].dropna()) >= {HOLDOUT}
    shown = study.furthest(1000)
    assert len(shown)
    assert not {item.split(" ")[0] for item in shown["item"]} & hidden


def test_a_run_of_another_suite_is_refused(labelled: tuple[GoldenSet, int], tmp_path: Path) -> None:
    golden, _ = labelled
    other = make_suite(tmp_path / "shop", [{"id": "a", "input": "Hello?", "must_contain": ["hi"]}])
    folder = latest_run(golden)
    append_label(
        tmp_path / "shop" / "labels" / "scripted-anna.jsonl",
        {"case_id": "a", "output_hash": "h", "rater": "scripted-anna", "axis": "politeness",
         "value": 3, "action": "label", "at": "2026-12-01T12:00:00Z"},
    )  # fmt: skip
    with pytest.raises(InputError, match="is a run of support, not of shop"):
        suite_study(other, [folder])


def test_a_torn_line_of_labels_is_said(labelled: tuple[GoldenSet, int], tmp_path: Path) -> None:
    golden = read_golden(copy_of_support(tmp_path))
    labels = tmp_path / "golden" / "support" / "labels"
    labels.mkdir()
    (labels / "scripted-anna.jsonl").write_text('{"case_id": "a"')
    (warning,) = suite_study(golden).warnings
    assert "scripted-anna.jsonl" in warning


@pytest.mark.parametrize("data", ["triviaqa", "pandalm", "golden/support"])
def test_the_notebook_runs_on_each_other_input(data: str, tmp_path: Path) -> None:
    copy_of_support(tmp_path)
    done = execute(tmp_path, {"data": data})
    said = "\n".join(done)
    assert said.count("What it shows.") == said.count("What to do.") == 10
    assert ("There are no labels" in said) == (data == "golden/support")


def test_the_notebook_shows_a_suite_with_labels(labelled: tuple[GoldenSet, int]) -> None:
    golden, n = labelled
    assert golden.folder is not None
    done = execute(golden.folder.parent.parent, {"data": "golden/support", "people": "median"})
    said = " ".join("\n".join(done).split())
    assert f"{2 * n} of {2 * n} labels met a judge's score" in said


def execute(here: Path, parameters: dict[str, object]) -> list[str]:
    """Run the notebook in a folder and return what its cells printed."""
    done = papermill.execute_notebook(
        str(NOTEBOOK),
        str(here / "out.ipynb"),
        parameters=parameters,
        kernel_name="python3",
        progress_bar=False,
        cwd=str(here),
        extra_arguments=["--IPKernelApp.log_level=40"],
    )
    return [
        output.text
        for cell in done.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream"
    ]
