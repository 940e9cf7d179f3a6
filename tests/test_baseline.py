from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from pandas.testing import assert_frame_equal

from evalnb.baseline import CASE, count, pass_rates, read_baseline, write_baseline
from evalnb.cases import Case
from evalnb.errors import InputError
from evalnb.frames import BASELINE, OUTPUTS, SCORES
from evalnb.golden import GoldenSet
from evalnb.scoring import summarize
from tests.suites import make_suite
from tests.test_gate import runs, scores

if TYPE_CHECKING:
    from pathlib import Path

RUN = scores(
    ("b", 1, "exact", True),
    ("b", 2, "exact", False),
    ("b", 3, "exact", "server"),
    ("b", 1, "keywords", True, 0.5),
    ("b", 2, "keywords", True, 0.75),
    ("b", 3, "keywords", "server"),
    ("a", 1, "exact", True),
    ("a", 1, "rubric", "no_judge"),
)
TEXTS = OUTPUTS.build(
    [
        {"case_id": "b", "repeat": 1, "output_hash": "h", "model": "m", "text": "Grüße\n\u2028"}
        | {"tool_calls": [], "stop_reason": "end_turn", "latency_ms": 3.5, "cost_usd": 0.1}
        | {"output_tokens": 7},
        {"case_id": "a", "repeat": 1, "tool_calls": [{"name": "t", "arguments": {"x": None}}]},
        {"case_id": "a", "repeat": 2, "na_reason": "server"},
    ]
)
MANIFEST = {"golden_version": "abc", "system": {"name": "v1", "fingerprint": "f00d"}, "mode": None}


def suite(folder: Path) -> GoldenSet:
    return make_suite(
        folder, [{"id": case_id, "input": "Hi", "expected_exact": "x"} for case_id in "ab"]
    )


def written(folder: Path) -> GoldenSet:
    golden = suite(folder)
    write_baseline(golden, MANIFEST, RUN, TEXTS)
    return golden


# Counts


def test_counts_of_a_run() -> None:
    assert_frame_equal(
        count(RUN),
        BASELINE.build(
            {
                "case_id": case_id,
                "scorer": scorer,
                "n_repeats": n_repeats,
                "n_scored": n_scored,
                "n_passed": n_passed,
                "mean": mean,
                "n_na": n_na,
            }
            for case_id, scorer, n_repeats, n_scored, n_passed, mean, n_na in [
                # Of b, repeat 1 passes, 2 fails, 3 is missing.
                ("b", CASE, 3, 2, 1, 0.5, 1),
                ("b", "exact", 3, 2, 1, 0.5, 1),
                ("b", "keywords", 3, 2, 2, 0.625, 1),  # (0.5 + 0.75) / 2
                ("a", CASE, 1, 1, 1, 1.0, 0),
                ("a", "exact", 1, 1, 1, 1.0, 0),
                ("a", "rubric", 1, 0, 0, None, 1),
            ]
        ),
    )


def test_nothing_counts_as_nothing() -> None:
    assert_frame_equal(count(SCORES.empty()), BASELINE.empty())


def test_pass_rates_are_those_of_scored_cases() -> None:
    assert pass_rates(count(RUN)) == {"b": 0.5, "a": 1.0}
    assert pass_rates(count(scores(("a", 1, "exact", "server")))) == {}


@given(runs())
@settings(max_examples=12)
def test_counts_add_up_and_do_not_depend_on_the_order_of_rows(frame: pd.DataFrame) -> None:
    counts = count(frame)
    assert (counts["n_repeats"] == counts["n_scored"] + counts["n_na"]).all()
    assert (counts["n_passed"] <= counts["n_scored"]).all()
    assert (counts["mean"].isna() == (counts["n_scored"] == 0)).all()
    key = ["case_id", "scorer"]
    again = count(frame.iloc[::-1].reset_index(drop=True))
    assert_frame_equal(
        counts.sort_values(key, ignore_index=True), again.sort_values(key, ignore_index=True)
    )


@given(runs())
@settings(max_examples=12)
def test_cases_count_as_their_results_say(frame: pd.DataFrame) -> None:
    cases = [{"id": case_id, "input": "Hi", "expected_exact": "x"} for case_id in "abc"]
    golden = GoldenSet(tuple(Case.model_validate(case) for case in cases))
    results = summarize(golden, OUTPUTS.empty(), frame)
    counts = count(frame)
    counts = counts[counts["scorer"] == CASE].set_index("case_id").loc[list(results["case_id"])]
    assert counts["n_scored"].tolist() == results["n_scored"].tolist()
    assert counts["mean"].fillna(-1).tolist() == results["pass_rate"].fillna(-1).tolist()


# Files


def test_a_baseline_of_an_earlier_version_has_texts_alone(tmp_path: Path) -> None:
    golden = written(tmp_path)
    texts = tmp_path / "baseline" / "outputs.jsonl"
    old = b'{"case_id": "a", "repeat": 1, "text": "Hi"}\n'
    head = tmp_path / "baseline" / "baseline.json"
    now, then = (hashlib.sha256(content).hexdigest() for content in (texts.read_bytes(), old))
    texts.write_bytes(old)
    head.write_text(head.read_text(encoding="utf-8").replace(now, then), encoding="utf-8")
    baseline = read_baseline(golden)
    assert baseline is not None
    assert baseline.outputs["output_tokens"].isna().all()


def test_without_an_accepted_run_there_is_none(tmp_path: Path) -> None:
    assert read_baseline(suite(tmp_path)) is None


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    baseline = read_baseline(written(tmp_path))
    assert baseline is not None
    texts = (tmp_path / "baseline" / "outputs.jsonl").read_bytes()
    digest = hashlib.sha256(texts).hexdigest()
    assert baseline.manifest == {"format": 1, **MANIFEST, "outputs_sha256": digest}
    key = ["case_id", "scorer"]
    assert_frame_equal(baseline.counts, count(RUN).sort_values(key, ignore_index=True))
    # Of the outputs, what is shown and compared of them is kept.
    kept = [
        *("case_id", "repeat", "output_hash", "model", "text", "tool_calls", "stop_reason"),
        *("output_tokens", "cost_usd", "latency_ms", "na_reason"),
    ]
    assert_frame_equal(baseline.outputs[kept], TEXTS[kept])
    assert baseline.outputs.drop(columns=kept).isna().all(axis=None)
    assert [path.name for path in sorted((tmp_path / "baseline").iterdir())] == [
        "baseline.json",
        "outputs.jsonl",
    ]


def test_every_case_has_a_line(tmp_path: Path) -> None:
    written(tmp_path)
    digest = hashlib.sha256((tmp_path / "baseline" / "outputs.jsonl").read_bytes()).hexdigest()
    assert (tmp_path / "baseline" / "baseline.json").read_text(encoding="utf-8") == (
        "{\n"
        ' "format": 1,\n'
        ' "golden_version": "abc",\n'
        ' "system": {"name": "v1", "fingerprint": "f00d"},\n'
        ' "mode": null,\n'
        f' "outputs_sha256": "{digest}",\n'
        ' "cases": {\n'
        '  "a": {'
        '"(case)": {"n_repeats": 1, "n_scored": 1, "n_passed": 1, "mean": 1.0, "n_na": 0}, '
        '"exact": {"n_repeats": 1, "n_scored": 1, "n_passed": 1, "mean": 1.0, "n_na": 0}, '
        '"rubric": {"n_repeats": 1, "n_scored": 0, "n_passed": 0, "n_na": 1}},\n'
        '  "b": {'
        '"(case)": {"n_repeats": 3, "n_scored": 2, "n_passed": 1, "mean": 0.5, "n_na": 1}, '
        '"exact": {"n_repeats": 3, "n_scored": 2, "n_passed": 1, "mean": 0.5, "n_na": 1}, '
        '"keywords": {"n_repeats": 3, "n_scored": 2, "n_passed": 2, "mean": 0.625, "n_na": 1}}\n'
        " }\n"
        "}\n"
    )


def test_a_change_of_one_case_changes_one_line(tmp_path: Path) -> None:
    golden = written(tmp_path)
    path = tmp_path / "baseline" / "baseline.json"
    before = path.read_text(encoding="utf-8").splitlines()
    changed = RUN.assign(passed=RUN["passed"].where(RUN["case_id"] != "a", other=False))
    # The order of the rows leaves no trace.
    changed = changed.iloc[::-1].reset_index(drop=True)
    write_baseline(golden, MANIFEST, changed, TEXTS)
    after = path.read_text(encoding="utf-8").splitlines()
    differ = [one for one, other in zip(before, after, strict=True) if one != other]
    assert [line.split(":")[0] for line in differ] == ['  "a"']


def test_a_run_without_scores_is_read_back(tmp_path: Path) -> None:
    golden = suite(tmp_path)
    write_baseline(golden, {}, SCORES.empty(), OUTPUTS.empty())
    baseline = read_baseline(golden)
    assert baseline is not None
    assert_frame_equal(baseline.counts, BASELINE.empty())
    assert_frame_equal(baseline.outputs, OUTPUTS.empty())


@given(runs())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_counts_come_back_exactly(tmp_path: Path, frame: pd.DataFrame) -> None:
    golden = suite(tmp_path)
    write_baseline(golden, {}, frame, OUTPUTS.empty())
    baseline = read_baseline(golden)
    assert baseline is not None
    key = ["case_id", "scorer"]
    assert_frame_equal(baseline.counts, count(frame).sort_values(key, ignore_index=True))


def test_what_cannot_be_written_leaves_the_baseline_as_it_was(tmp_path: Path) -> None:
    golden = written(tmp_path)
    folder = tmp_path / "baseline"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for manifest in ({"n": float("nan")}, {"n": "\ud83d"}):
        with pytest.raises(ValueError, match=r"Out of range|surrogates not allowed"):
            write_baseline(golden, manifest, RUN, OUTPUTS.empty())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# Damage


def damage(folder: Path, content: Any, name: str = "baseline.json") -> tuple[str, str]:
    """Write content in the place of a file; return field and message of what is said of it."""
    golden = written(folder)
    path = folder / "baseline" / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(InputError, match="the baseline cannot be used") as caught:
        read_baseline(golden)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    assert problem.remedy == "Restore it from git, or accept a baseline anew."
    return problem.field, problem.message


GOOD = {"n_repeats": 2, "n_scored": 1, "n_passed": 1, "mean": 1.0, "n_na": 1}


@pytest.mark.parametrize(
    ("content", "field", "message"),
    [
        (b"", "", "is not JSON: Expecting value at column 1."),
        (b'{"format": 1, "cases": {', "", "is not JSON: Expecting property name"),
        (b"<<<<<<< HEAD\n{}", "", "is not JSON: Expecting value at column 1."),
        (b'{"format": 1, "cases": {"a": {}, "a": {}}}', "a", "is given twice in one object."),
        (b'{"format": "\xff"}', "", "cannot be read: 'utf-8' codec"),
        ([], "", "has format None; this version reads 1."),
        ({}, "", "has format None; this version reads 1."),
        ({"format": 2, "cases": {}}, "", "has format 2; this version reads 1."),
        ({"format": 1}, "cases", "must map each case to its counts."),
        ({"format": 1, "cases": []}, "cases", "must map each case to its counts."),
        ({"format": 1, "cases": {"a": []}}, "cases.a", "must have counts for '(case)'."),
        ({"format": 1, "cases": {"a": {"x": GOOD}}}, "cases.a", "must have counts for '(case)'."),
        ({"format": 1, "cases": {"a": {CASE: 1}}}, "cases.a.(case)", "must have n_repeats, n_sco"),
        (
            {"format": 1, "cases": {"a": {CASE: GOOD, "x": GOOD | {"n_scored": None}}}},
            "cases.a.x",
            "must have n_repeats, n_scored, n_passed, n_na, with `n_passed` ≤ `n_scored` ≤",
        ),
        ({"format": 1, "cases": {"a": {CASE: GOOD | {"n_passed": 3}}}}, "cases.a.(case)", "must"),
        ({"format": 1, "cases": {"a": {CASE: GOOD | {"n_passed": True}}}}, "cases.a.(case)", "mu"),
        (
            {"format": 1, "cases": {"a": {CASE: GOOD | {"mean": "high"}}}},
            "cases",
            "cannot be read: column `mean` of a baseline frame must be Float64. Got 'high'.",
        ),
    ],
)
def test_a_damaged_baseline_is_told(tmp_path: Path, content: Any, field: str, message: str) -> None:
    found = damage(tmp_path, content)
    assert found[0] == field
    assert found[1].startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing."),
        (b'{"case_id": "a", "rep', "is not JSON: Unterminated string"),
        ({"case_id": "a", "repeat": "one"}, "cannot be read: column `repeat` of a outputs frame"),
        (
            b'{"case_id": "a", "repeat": 1}\n{"case_id": "a", "repeat": 1}\n',
            "cannot be read: a outputs frame has one row for each key. Got two for",
        ),
    ],
)
def test_damaged_texts_are_told(tmp_path: Path, content: Any, message: str) -> None:
    assert damage(tmp_path, content, "outputs.jsonl")[1].startswith(message)


def test_texts_of_another_baseline_are_told(tmp_path: Path) -> None:
    found = damage(tmp_path, {"case_id": "a", "repeat": 1}, "outputs.jsonl")
    assert found[1] == "does not belong to baseline.json."


def test_a_baseline_of_another_suite_is_told(tmp_path: Path) -> None:
    found = damage(tmp_path, {"format": 1, "suite": "other", "cases": {}})
    assert found[1].startswith("is of suite 'other', not of ")


def test_only_a_suite_has_a_baseline(tmp_path: Path) -> None:
    bare = GoldenSet(suite(tmp_path).cases)
    with pytest.raises(InputError, match="only a suite has a baseline"):
        read_baseline(bare)
    with pytest.raises(InputError, match="only a suite has a baseline"):
        write_baseline(bare, {}, RUN, TEXTS)
