"""What live runs of the same system teach: noise, flaky cases, trends, thresholds."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

from evalnb.baseline import CASE
from evalnb.cli import app
from evalnb.errors import InputError
from evalnb.jsontext import dump_json
from evalnb.judges import suite_judges
from evalnb.looking_back import flaky_in
from evalnb.noise import describe_noise, noise_floor, plan_by_noise
from evalnb.past_runs import past_runs
from evalnb.suggesting import suggest_thresholds, with_thresholds, write_thresholds
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet

N = 10
TEXT = """\
[gate]
margin = 0.02  # agreed in May
floors = { "(case)" = 0.5 }
"""


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    cases = [{"id": f"c{n}", "input": f"{n}?", "expected_exact": "yes"} for n in range(N)]
    return make_suite(tmp_path / "golden" / "shop", cases, "repeats = 2\n\n[gate]\nmargin = 0.02\n")


def write(
    golden: GoldenSet, name: str, passes: list[int], tokens: float = 100, **about: Any
) -> None:
    """Write a live run of two repeats a case, as `evalnb run` does."""
    assert golden.folder is not None
    folder = golden.folder.parents[1] / "results" / "shop" / name
    folder.mkdir(parents=True)
    manifest = {
        "run_id": name,
        "suite": "shop",
        "system": "v1",
        "mode": "live",
        "golden_version": golden.version,
        "system_fingerprint": "f00d",
        "tier": "rule_only",
        "models": ["m"],
        **about,
    }
    results = [
        {
            "case_id": f"c{n}",
            "n_repeats": 2,
            "n_scored": 2,
            "pass_rate": passed / 2,
            "mean_scores": {"exact": passed / 2},
            "output_tokens": 2 * tokens,
        }
        for n, passed in enumerate(passes)
    ]
    (folder / "run.json").write_text(dump_json(manifest))
    (folder / "report.json").write_text(json.dumps({"run_id": name, "results": results}))


def aa(golden: GoldenSet, lost: list[int], **about: Any) -> None:
    """Write runs, in each of which so many repeats of the first cases failed."""
    for number, n in enumerate(lost):
        passes = [2 - max(0, min(2, n - 2 * case)) for case in range(N)]
        write(golden, f"r{number}", passes, tokens=100 + n, **about)


def test_noise_is_learned_from_the_last_runs_without_a_change(golden: GoldenSet) -> None:
    write(golden, "a", [0] * N, system_fingerprint="0ld")
    aa(golden, [1, 0, 1, 0])
    (golden.folder / ".." / ".." / "results" / "shop" / "r9").resolve().mkdir()  # type: ignore[operator]
    found = noise_floor(golden)
    assert found.runs == ("r0", "r1", "r2", "r3")
    flips = found.flips.set_index("case_id")["flip_rate"]
    # 6 of 8 repeats passed: 2 * 6 * 2 / (8 * 7).
    assert flips["c0"] == pytest.approx(24 / 56)
    assert (flips.drop("c0") == 0).all()
    rates = found.differences[found.differences["measure"] == CASE]["difference"]
    assert rates.tolist() == pytest.approx([0.05, -0.05, 0.05])
    assert found.planned is not None
    # The variance of a pass within c0 is half its flip rate, 0 in nine other cases.
    assert found.planned.within == pytest.approx(12 / 56 / N)
    assert found.smallest_drop == found.planned.smallest_drop(N, 2)
    assert plan_by_noise(golden).source == "from 4 A/A runs"
    said = "\n".join(describe_noise(found))
    assert "c0: 43%, passed 6 of 8" in said
    assert "(case): 3 differences from one run to the next, -0.050 to +0.050" in said


def test_a_run_alone_teaches_no_noise(golden: GoldenSet) -> None:
    aa(golden, [0])
    found = noise_floor(golden)
    assert found.smallest_drop is None
    assert describe_noise(found)[0].startswith("1 live run of the present system")


@pytest.mark.parametrize(
    "about", [{"golden_version": "0ther"}, {"mode": "replay"}, {"rescored_from": "r"}]
)
def test_runs_that_do_not_compare_are_left_out(golden: GoldenSet, about: dict[str, Any]) -> None:
    aa(golden, [0, 1], **about)
    assert past_runs(golden).empty


def test_a_case_is_flaky_over_runs_of_one_system(golden: GoldenSet) -> None:
    aa(golden, [2, 0, 2, 0])
    history = past_runs(golden)
    assert flaky_in(history, "f00d")["case_id"].tolist() == ["c0"]
    assert flaky_in(history, "beef").empty
    assert flaky_in(past_runs(golden, before="r1"), "f00d").empty


def test_thresholds_are_quantiles_of_differences_where_nothing_changed(golden: GoldenSet) -> None:
    lost = [2, 0, 3, 1, 4, 0, 2]
    aa(golden, lost)
    found = suggest_thresholds(golden)
    drops = np.diff(lost) / (2 * N)
    largest = np.quantile(drops, 0.95)
    assert found.tables["gate"]["margin"] == pytest.approx(largest, abs=0.001)
    floor = 1 - np.mean(lost) / (2 * N) - largest
    assert found.tables["gate.floors"][CASE] == pytest.approx(floor, abs=0.001)
    assert found.tables["gate"]["max_output_tokens_ratio"] == pytest.approx(
        np.exp(np.quantile(np.diff(np.log([100 + n for n in lost])), 0.95)), abs=0.001
    )
    path = write_thresholds(golden, found)
    written = tomllib.loads(path.read_text())
    assert written["gate"]["floors"] == found.tables["gate.floors"]
    assert written["repeats"] == 2
    with pytest.raises(InputError, match="changed meanwhile"):
        write_thresholds(golden, found)


def test_few_runs_suggest_nothing(golden: GoldenSet) -> None:
    aa(golden, [0, 1, 0])
    with pytest.raises(InputError, match="there are 3 at the end"):
        suggest_thresholds(golden)


def test_the_command_writes_only_when_told_to(
    golden: GoldenSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    aa(golden, [2, 0, 3, 1, 4, 0, 2])
    assert golden.folder is not None
    path, runner = golden.folder / "suite.toml", CliRunner()
    before = path.read_text()
    shown = runner.invoke(app, ["thresholds", "suggest", str(golden.folder)])
    assert shown.exit_code == 0
    assert "-margin = 0.02\n+margin = 0." in shown.stdout
    assert "nothing was changed" in shown.stdout
    assert path.read_text() == before
    told = runner.invoke(app, ["thresholds", "suggest", str(golden.folder), "--write"])
    assert "written; review and commit" in told.stdout
    assert path.read_text() != before
    said = runner.invoke(app, ["noise", str(golden.folder)])
    assert said.stdout.startswith("shop: 7 runs of the same system, r0 to r6")


def test_tables_in_one_line_are_left_to_a_person() -> None:
    with pytest.raises(InputError, match="edit by hand"):
        with_thresholds(TEXT, {"gate.floors": {"exact": 0.9}})
    changed = with_thresholds(TEXT, {"gate": {"margin": 0.03, "max_output_tokens_ratio": 1.0}})
    assert changed.splitlines()[:2] == ["[gate]", "margin = 0.03  # agreed in May"]
    assert tomllib.loads(changed)["gate"]["max_output_tokens_ratio"] == 1.0


def test_repeated_verdicts_tell_the_noise_of_the_judge_from_that_of_the_system(
    tmp_path: Path,
) -> None:
    case = {"id": "c0", "input": "0?", "rubric": ["is short"]}
    golden = make_suite(tmp_path / "golden" / "shop", [case])
    (judge,) = [judge for judge in suite_judges(golden) if judge.applies_to(golden["c0"])]
    # Scores of two verdicts on the one answer of each of three runs: scripted.
    scores = {"r0": (4, 5), "r1": (2, 3), "r2": (4, 5)}
    for name, given in scores.items():
        write(golden, name, [2], tier="full")
        folder = tmp_path / "results" / "shop" / name
        rows = [
            {
                "case_id": "c0",
                "repeat": 1,
                "judge": judge.name,
                "part": "all",
                "judge_repeat": number,
                "answers": {
                    "criterion_1": {"reason": "it is", "verdict": "met"},
                    "reason": "short",
                    "score": score,
                },
                "judge_model": judge.model,
                "judge_fingerprint": judge.fingerprint,
            }
            for number, score in enumerate(given, 1)
        ]
        (folder / "verdicts.jsonl").write_text("".join(f"{dump_json(row)}\n" for row in rows))
    found = noise_floor(golden)
    noise = found.judges["rubric"].set_index("metric")["estimate"]
    # On the scale from 0 to 1 a level is 0.25: two verdicts one level apart have the variance
    # 0.25² / 2; the means 4.5, 2.5, 4.5 have 0.25² * 4 / 3, of which half of the former is the judge's.
    assert noise["variance_judge"] == pytest.approx(0.25**2 / 2)
    assert noise["variance_system"] == pytest.approx(0.25**2 * (4 / 3 - 1 / 4))
    assert "32% of the noise is the judge's" in "\n".join(describe_noise(found))
