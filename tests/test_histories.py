"""What the runs of a suite came to, read from their folders."""

from __future__ import annotations

import json
import math
import shutil
import uuid
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

from evalnb.evaluation import evaluate
from evalnb.frames import to_records
from evalnb.golden import read_golden
from evalnb.histories import DamagedRunWarning, case_history, history
from evalnb.places import place
from evalnb.results import new_run_folder, write_run
from evalnb.systems import CallableSystem
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet

CASES = [
    {"id": name, "input": f"{name}?", "must_contain": ["yes"], "must_not_include": ["no"]}
    for name in ("a", "b", "c", "d")
]
NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(tmp_path / "golden" / "shop", CASES)


def answer_run(golden: GoldenSet, day: int, says_yes: str) -> str:
    """Write a run in which the cases named say yes and the others no; return its id."""

    async def answer(case: Any, client: Any) -> str:
        return "yes" if case.id in says_yes else "no"

    folder = new_run_folder(golden, NOW + timedelta(days=day))
    run = evaluate(
        golden,
        CallableSystem(answer, name="bot"),
        run_id=folder.name,
        as_of=date(2026, 6, 1),
        progress="none",
    )
    write_run(folder, run)
    return folder.name


def test_runs_are_in_order_of_time_with_their_figures(golden: GoldenSet) -> None:
    later = answer_run(golden, 2, "abcd")
    first = answer_run(golden, 1, "abc")
    found = history(golden)
    cases = to_records(found[found["scorer"] == "(case)"])
    assert [row["run_id"] for row in cases] == [first, later]
    assert [(row["mean"], row["n"], row["n_missing"]) for row in cases] == [
        (0.75, 4, 0), (1.0, 4, 0)
    ]  # fmt: skip
    # Wilson's interval of 3 of 4 (Newcombe 1998, method 3), by hand with z = 1.959964.
    z2 = 1.959964**2
    middle, half = (3 + z2 / 2) / (4 + z2), math.sqrt(3 * 1 / 4 + z2 / 4) * 1.959964 / (4 + z2)
    assert (cases[0]["ci_low"], cases[0]["ci_high"]) == pytest.approx(
        (middle - half, middle + half)
    )
    assert len({row["series"] for row in cases}) == 1
    assert found.loc[found["run_id"] == first, "outcome"].nunique() == 1
    exact = found[(found["scorer"] == "must_contain") & (found["run_id"] == first)]
    assert exact["mean"].tolist() == [0.75]


def test_another_golden_version_is_another_series(golden: GoldenSet) -> None:
    answer_run(golden, 1, "abcd")
    assert golden.folder is not None
    more = [*CASES, {"id": "e", "input": "e?", "must_contain": ["yes"]}]
    (golden.folder / "cases.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in more))
    answer_run(read_golden(golden.folder), 2, "abcde")
    found = history(golden)
    assert found.loc[found["scorer"] == "(case)", "series"].nunique() == 2
    assert found["golden_version"].nunique() == 2


def test_damaged_runs_are_named_and_cost_no_other(golden: GoldenSet) -> None:
    good = answer_run(golden, 1, "abcd")
    root = golden.folder.parent.parent / "results" / "shop" if golden.folder else None
    assert root is not None
    bad = {name: root / f"2026060{day}T030000Z-{name}" for day, name in enumerate("wxyz", 2)}
    for folder in bad.values():
        shutil.copytree(root / good, folder)
    (bad["w"] / "run.json").write_text("{")
    (bad["x"] / "report.json").unlink()
    manifest = json.loads((bad["z"] / "run.json").read_text())
    (bad["z"] / "run.json").write_text(
        json.dumps({**manifest, "run_id": bad["z"].name, "suite": "other"})
    )
    with pytest.warns(DamagedRunWarning) as caught:
        found = history(golden)
    said = str(caught[0].message)
    assert said.startswith("4 runs of shop left out: ")
    for name, why in (("w", "run.json cannot be read"), ("x", "it came to no decision"),
                      ("y", "run.json belongs to run"), ("z", "is of the suite other")):  # fmt: skip
        assert f"{bad[name].name} (" in said
        assert why in said
    assert set(found["run_id"]) == {good}


def test_a_run_without_figures_is_read_from_its_results(golden: GoldenSet) -> None:
    name = answer_run(golden, 1, "abc")
    expected = history(golden)
    assert golden.folder is not None
    path = golden.folder.parent.parent / "results" / "shop" / name / "run.json"
    manifest = json.loads(path.read_text())
    del manifest["figures"]
    path.write_text(json.dumps(manifest))
    assert to_records(history(golden)) == to_records(expected)


def test_runs_at_a_url_are_the_same(golden: GoldenSet) -> None:
    answer_run(golden, 1, "abc")
    answer_run(golden, 2, "ab")
    assert golden.folder is not None
    root = f"memory://{uuid.uuid4().hex}"
    fs = fsspec.filesystem("memory")
    fs.put(str(golden.folder.parent.parent / "results"), root, recursive=True)
    assert to_records(history(golden, place(root))) == to_records(history(golden))


def test_no_runs_are_an_empty_frame(golden: GoldenSet) -> None:
    assert history(golden).empty
    assert history(golden, place(f"memory://{uuid.uuid4().hex}")).empty


def test_cases_over_the_runs(golden: GoldenSet) -> None:
    runs = [answer_run(golden, 1, "abc"), answer_run(golden, 2, "ab")]
    found = case_history(golden, runs)
    cases = found[found["scorer"] == "(case)"]
    rates = {name: rows["value"].tolist() for name, rows in cases.groupby("case_id")}
    assert rates == {"a": [1, 1], "b": [1, 1], "c": [1, 0], "d": [0, 0]}
    assert cases["n_scored"].eq(1).all()
