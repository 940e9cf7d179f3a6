"""The gap between dev and holdout since the first baseline, over a real git history."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from evalnb.first_baseline import first_pass_rates, gap_since_first_baseline
from evalnb.frames import RESULTS, to_records
from evalnb.golden import GoldenSet
from evalnb.holdout import LOOKS, split_rates
from evalnb.reports.sentences import holdout_sentences
from tests.suites import make_suite


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit_baseline(golden: GoldenSet, content: str) -> None:
    assert golden.folder is not None
    path = golden.folder / "baseline" / "baseline.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    git(golden.folder, "add", "-A")
    git(golden.folder, "commit", "-m", "baseline")


def baseline(**passes: int) -> str:
    return json.dumps(
        {"cases": {name: {"(case)": {"n_scored": 2, "n_passed": n}} for name, n in passes.items()}}
    )


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    cases = [
        {"id": name, "input": f"{name}?", "must_contain": ["x"], "split": "holdout" if name > "d" else "dev"}
        for name in "abcdefgh"
    ]  # fmt: skip
    found = make_suite(tmp_path / "golden" / "shop", cases)
    git(tmp_path, "init", "-q")
    return found


def results(**rates: float | None):  # type: ignore[no-untyped-def]
    return RESULTS.build(
        {"case_id": name, "split": "holdout" if name > "d" else "dev", "pass_rate": rate}
        for name, rate in rates.items()
    )


NOW = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 1.0, "e": 0.0, "f": 0.5, "g": 0.0, "h": None}


def test_it_is_the_first_that_can_be_read_and_not_a_later_one(golden: GoldenSet) -> None:
    commit_baseline(golden, "{]")
    commit_baseline(golden, baseline(a=0, b=0, c=1, d=1, e=1, f=1, g=0, h=2))
    commit_baseline(golden, baseline(a=2, b=2, c=2, d=2, e=2, f=2, g=2, h=2))
    assert golden.folder is not None
    first = first_pass_rates(golden.folder)
    assert first == {"a": 0, "b": 0, "c": 0.5, "d": 0.5, "e": 0.5, "f": 0.5, "g": 0, "h": 1}
    found = gap_since_first_baseline(golden, results(**NOW))
    # By hand, t with 4.9 degrees of freedom: 0.79 - 2.59 * 0.29. Dev rose by 1, 1, 0, 0.5, holdout by -0.5, 0, 0; h is not scored now.
    row = found.iloc[0]
    assert row["estimate"] == pytest.approx(2.5 / 4 + 0.5 / 3)
    assert (row["n"], row["n_left_out"]) == (7, 1)
    said = holdout_sentences(
        split_rates(results(**NOW)), LOOKS.empty(), golden.version, to_records(found)
    )
    assert said[-1] == (
        "Since the first baseline the gap has changed by +0.79 (0.0 to 1.5), 7 cases compared. "
        "It has grown: what was done helps dev more than holdout."
    )


def test_without_history_or_holdout_there_is_nothing_to_compare(golden: GoldenSet) -> None:
    assert golden.folder is not None
    assert first_pass_rates(golden.folder) == {}
    assert gap_since_first_baseline(golden, results(**NOW)).loc[0, "reason"] == "no_overlap"
    dev = results(a=1.0, b=0.0)
    assert gap_since_first_baseline(golden, dev).empty
    assert first_pass_rates(golden.folder.parent / "none") == {}
