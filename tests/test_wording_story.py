"""The story that evalnb starts from: a bot asks for an inquiry number, and every scorer is content.

The answers were recorded from the local model; into some of them we planted the other word.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evalnb.baseline import write_baseline
from evalnb.evaluation import evaluate
from evalnb.reports.terminal import describe_run
from evalnb.results import write_run
from evalnb.systems import CallableSystem
from tests.phrases.answers import planted, recorded
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

BECAME = '"order number" became "inquiry number"'


def played(golden: GoldenSet, run_id: str, answers: pd.DataFrame) -> Run:
    """Run a system that gives recorded answers, each case's in their order."""
    texts = answers.groupby("case_id")["text"].agg(list).to_dict()
    given: Counter[str] = Counter()

    async def answer(case: Any, client: Any) -> str:
        given[case.id] += 1
        return str(texts[case.id][given[case.id] - 1])

    system = CallableSystem(answer, name="bot")
    day = date(2026, 6, 1)
    return evaluate(golden, system, run_id=run_id, as_of=day, progress="none", repeats=3)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("story")
    before = recorded("run_a")
    cases = [
        {"id": case_id, "input": "Hi", "must_not_include": ["password"],
         "limits": {"max_output_tokens": 500}}
        for case_id in before["case_id"].unique()
    ]  # fmt: skip
    golden = make_suite(folder / "golden" / "shop", cases)
    accepted = played(golden, "accepted", before)
    write_baseline(golden, {}, accepted.scores, accepted.outputs)
    after = planted(before, "order number", "inquiry number", 0.3, np.random.default_rng(1))
    run = played(golden, "after", after)
    write_run(folder / "after", run)
    return run, folder / "after"


def test_every_scorer_passes_and_the_phrase_alone_blocks(story: tuple[Run, Path]) -> None:
    run, _ = story
    assert run.scores.loc[run.scores["passed"].notna(), "passed"].all()
    blocking = run.decision[run.decision["outcome"] == "fail"]
    assert blocking["rule"].tolist() == ["phrases"]
    assert blocking["reason"].iloc[0].startswith(BECAME)
    assert (run.outcome, run.exit_code) == ("fail", 1)


def test_every_report_names_the_phrase_and_the_smallest_rate(story: tuple[Run, Path]) -> None:
    run, folder = story
    seen = run.manifest["wording"]
    assert (seen["cases"], seen["repeats"]) == (60, 3)
    rate = f"finds a new wording from {seen['smallest_rate']:.0%} of the answers on"
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["wording"]["smallest_rate"] == seen["smallest_rate"]
    texts = {name: (folder / name).read_text() for name in ("summary.md", "report.html")}
    for text in (*map(html.unescape, texts.values()), describe_run(run)):
        plain = re.sub(r"<[^>]*>|\u200b", "", text)
        assert BECAME in plain
        assert rate in plain
    assert "inquiry number" in (folder / "junit.xml").read_text()
    rows = json.loads((folder / "report.json").read_text())["decision"]
    assert [row["slice"] for row in rows if row["outcome"] == "fail"] == ["phrase=order number"]


def test_what_lies_behind_it_is_the_phrase(story: tuple[Run, Path]) -> None:
    summary = (story[1] / "summary.md").read_text()
    assert 'phrase replaced: "order number" → "inquiry number"' in summary
