"""The review where something is damaged, hostile, missing or too much."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.errors import InputError
from evalnb.frames import LOGS
from evalnb.reports import review_words as say
from evalnb.reports.review_page import review_page
from evalnb.review.opening import open_review
from evalnb.review.traffic import drawn_traffic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evalnb.demo.making import DemoHistory
    from evalnb.review.review import Review

HOSTILE = "<img src=x onerror=alert(1)>|`**x**\n# [a](javascript:1) \x1b[31m\u202e"


@dataclass(frozen=True)
class Few:
    """A project with the last nights of the demo."""

    folder: Path
    demo: DemoHistory

    @property
    def suite(self) -> Path:
        return self.folder / "golden" / "support"

    @property
    def runs(self) -> list[Path]:
        return sorted((self.folder / "results" / "support").iterdir())

    @property
    def logs(self) -> Path:
        return self.folder / "logs.jsonl"

    def review(self, logs: str = "") -> Review:
        return open_review(
            str(self.suite),
            as_of=self.demo.as_of,
            results=str(self.folder / "results"),
            logs=logs,
        )


@pytest.fixture
def few(tmp_path: Path, demo: DemoHistory) -> Few:
    shutil.copytree(demo.suite, tmp_path / "golden" / "support")
    shutil.copy(demo.logs, tmp_path / "logs.jsonl")
    for run in sorted((demo.folder / "results" / "support").iterdir())[-3:]:
        shutil.copytree(run, tmp_path / "results" / "support" / run.name)
    return Few(tmp_path, demo)


def rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_a_newest_run_that_is_torn_is_passed_over_and_said(few: Few) -> None:
    (few.runs[-1] / "scores.jsonl").write_text('{"torn')
    review = few.review()
    assert review.newest is not None
    assert review.newest.manifest["run_id"] == few.runs[-2].name
    (line,) = [line for line in say.about_lines(review) if "passed over" in line]
    assert few.runs[-1].name in line
    assert "is not JSON" in line
    assert say.advice_lines(review)[0].startswith("On relevance")


def test_labels_that_are_torn_are_said(few: Few) -> None:
    (few.suite / "labels" / "synthetic-rater.jsonl").write_text('{"torn\n')
    said = " ".join(say.about_lines(few.review()))
    assert "A label was left out: " in said
    assert "synthetic-rater.jsonl:1: is not JSON" in said
    assert "There are no labels up to" in said


def test_one_run_and_no_baseline_say_that_nothing_compares(few: Few) -> None:
    for run in few.runs[:-1]:
        shutil.rmtree(run)
    shutil.rmtree(few.suite / "baseline")
    review = few.review()
    assert say.trend_lines(review)[0].endswith("; no earlier run compares.")
    assert say.falling_lines(review) == ["No two runs to compare."]
    assert say.state_lines(review)[0] == "Over the last 1 run of the system as it is:"
    assert say.coverage_lines(review) == ["No logs: what the golden set lacks is not known."]


def test_logs_that_are_not_there_and_certificates_that_are_torn_are_errors(few: Few) -> None:
    with pytest.raises(InputError, match="there are no logs at nowhere"):
        few.review("nowhere/*.jsonl")
    (few.suite / "certificates.json").write_text("{")
    with pytest.raises(InputError, match="Restore it from git, or delete it"):
        say.kappa_lines(few.review())


def test_nothing_hostile_gets_through_to_the_page(few: Few) -> None:
    for run in few.runs:
        rewrite(run / "scores.jsonl", lambda row: row | {"reason": HOSTILE})
        report = run / "report.json"
        report.write_text(report.read_text().replace("order-status-played", "<b>hostile</b>"))
    rewrite(few.logs, lambda row: row | {"conversation_id": f"<script>{row['conversation_id']}"})
    waivers = few.suite / "waivers.toml"
    waivers.write_text(waivers.read_text().replace('"synthetic: made', '"<script>: made'))
    review = few.review(str(few.logs))
    page = review_page(review)
    assert "&lt;b&gt;hostile" in page
    assert "&lt;script&gt;" in page
    for raw in ("<script", "<img src=x", "<b>hostile", "\x1b", "\u202e"):
        assert raw not in page


def test_of_much_traffic_always_the_same_conversations_are_drawn() -> None:
    whole = {"at": "2026-05-01T00:00:00+00:00", "category": "orders", "turn": 1, "role": "user"}
    logs = LOGS.build({**whole, "conversation_id": f"c{k}", "text": "?"} for k in range(300))
    drawn = drawn_traffic(logs, most=100)["conversation_id"]
    assert drawn.nunique() == 100
    back = drawn_traffic(logs.iloc[::-1].reset_index(drop=True), most=100)["conversation_id"]
    assert set(drawn) == set(back)
    # Evenly: of the first 150 about half, within four standard errors of the hypergeometric (4.1 each).
    assert abs(drawn.isin([f"c{k}" for k in range(150)]).sum() - 50) <= 4 * 4.1
    assert drawn_traffic(logs, most=300) is logs
