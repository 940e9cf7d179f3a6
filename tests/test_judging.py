"""Judges asked beside a run and afterwards, against a stand-in whose verdicts are drawn by lot."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.baseline import write_baseline
from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.evaluation import evaluate
from evalnb.frames import OUTPUTS, VERDICTS, to_records
from evalnb.golden import read_golden
from evalnb.judging import Judging, judge_outputs
from evalnb.reports.verdicts import judge_sentences
from evalnb.rescoring import rescore
from evalnb.results import read_run, write_run
from evalnb.runner import run
from evalnb.scoring import score
from evalnb.systems import load_system
from tests.commands import evalnb, start_evalnb
from tests.standin import StandIn
from tests.suites import make_suite
from tests.upstreams import FakeUpstream, LoopbackUpstream, message

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2
    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

DAY = date(2026, 6, 1)
N_CASES = 40
SETTINGS = """
[judging]
judges = ["rubric", "axes"]
model = "claude-haiku-5-5"
[gate]
na_budget = 0.05
max_latency_ratio = 1000.0
"""


def shop(folder: Path, settings: str = SETTINGS, n: int = N_CASES) -> GoldenSet:
    """Make a suite of which every other case names a word that the stand-in never says."""
    return make_suite(
        folder / "shop",
        [
            {
                "id": f"case-{number:02}",
                "input": f"Where is order number {number}? It is late by two weeks.",
                "rubric": ["Speaks of the order.", "Is polite."],
                "must_not_include": ["order"] if number % 4 == 3 else ["unheard-of"],
                "tags": ["common"] if number % 2 else ["edge"],
                "tools": [],
            }
            for number in range(n)
        ],
        settings,
    )


def live(golden: GoldenSet, standin: StandIn, folder: Path | None = None, **options: Any) -> Run:
    return evaluate(
        golden,
        load_system(golden),
        run_id="r",
        as_of=DAY,
        mode="live",
        progress="none",
        folder=folder,
        **{
            "tier": "full",
            "concurrency": 16,
            "upstream": LoopbackUpstream(standin.url),
            **options,
        },
    )


def judged(run: Run) -> list[dict[str, Any]]:
    return [row for row in to_records(run.scores) if row["tier"] == "judge"]


def test_a_case_that_no_rule_fails_is_judged_by_everybody(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        found = live(golden, standin)
        n_calls = standin.stats()["answered"]
    failed = {
        row["case_id"]
        for row in to_records(found.scores)
        if row.get("passed") is False and row["tier"] == "rule"
    }
    assert failed
    rows = judged(found)
    assert {row["scorer"] for row in rows} == {"rubric", "politeness", "factual", "relevance"}
    assert len(rows) == 4 * N_CASES
    assert {row["case_id"] for row in rows if "na_reason" in row} == failed
    assert {row["na_reason"] for row in rows if "na_reason" in row} == {"skipped_by_rule"}
    assert n_calls == N_CASES + 2 * (N_CASES - len(failed))
    given = [row for row in rows if "na_reason" not in row]
    assert all(row["judge_model_answered"] == "claude-haiku-5-5" for row in given)
    assert all(0 <= row["value"] <= 1 and row["reason"] for row in given)


class SlowUpstream(FakeUpstream):
    """Takes a while for each answer, and remembers how many requests were under way."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.under_way: list[int] = []
        self._n = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._n += 1
        self.under_way.append(self._n)
        await asyncio.sleep(0.05)
        self._n -= 1
        return self.handle_request(request)


def test_the_first_request_of_a_judge_goes_ahead_of_the_others(tmp_path: Path) -> None:
    golden = shop(tmp_path, SETTINGS.replace('"rubric", ', ""), n=12)
    outputs = OUTPUTS.build(
        {"case_id": case.id, "repeat": 1, "text": "It is on its way.", "output_hash": case.id}
        for case in golden
    )
    upstream = SlowUpstream(message("no verdict"))
    asked = Cassettes(tmp_path / "none", "live")
    found = judge_outputs(golden, outputs, cassettes=asked, upstream=upstream)
    assert len(found) == len(upstream.under_way) == 12
    assert upstream.under_way[:2] == [1, 1]
    assert max(upstream.under_way) > 2


def test_a_case_may_ask_to_be_judged_always(tmp_path: Path) -> None:
    golden = shop(tmp_path, SETTINGS.replace("[gate]", 'always = ["common"]\n[gate]'))
    with StandIn() as standin:
        found = live(golden, standin)
    skipped = {row["case_id"] for row in judged(found) if "na_reason" in row}
    assert skipped == set()  # the cases that fail are of the tag


def test_no_case_is_lost_among_faults_and_what_is_missing_has_a_reason(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    faults = {"429": 0.1, "529": 0.05, "bad_json": 0.02}
    with StandIn(faults=faults, retry_after=0.01, seed=3) as standin:
        found = live(golden, standin)
        n_broken = standin.stats()["by_status"]
    missing = [row["na_reason"] for row in judged(found) if "na_reason" in row]
    n_bad = missing.count("bad_verdict")
    assert n_broken["429"] > 0
    assert set(missing) - {"bad_verdict"} == {"skipped_by_rule"}
    assert found.manifest["na_by_accident"].get("bad_verdict", 0) == n_bad
    assert len(found.outputs) == N_CASES
    assert found.outputs["na_reason"].isna().all()


@pytest.mark.parametrize(("budget", "expected"), [(0.5, 0), (0.001, 2)])
def test_missing_verdicts_leave_it_open_only_beyond_the_budget(
    tmp_path: Path, budget: float, expected: int
) -> None:
    golden = shop(tmp_path, SETTINGS.replace("0.05", str(budget)))
    with StandIn() as standin:
        first = live(golden, standin)
        write_baseline(golden, {"golden_version": golden.version}, first.scores, first.outputs)
        standin.set(faults={"bad_json": 0.2})
        second = live(golden, standin)
    assert second.manifest["na_by_accident"]["bad_verdict"] > 0
    assert second.exit_code == expected


def test_the_budget_is_for_system_and_judges_together(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        whole = live(golden, standin)
        short = live(golden, standin, budget_usd=whole.manifest["cost_usd"] / 2)
    assert whole.manifest["judge_cost_usd"] > 0
    assert short.manifest["cost_usd"] <= whole.manifest["cost_usd"] / 2
    assert "budget" in short.manifest["na_by_accident"]


def test_the_cost_of_judging_is_what_the_requests_cost(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        found = live(golden, standin)
    # Haiku 5.5 below 100,000 tokens: 0.10 and 0.50 US dollars per million.
    by_hand = sum(
        (row["input_tokens"] * 0.10 + row["output_tokens"] * 0.50) / 1e6
        for row in to_records(found.verdicts)
    )
    assert found.manifest["judge_cost_usd"] == pytest.approx(by_hand)
    of_scores = sum(row["cost_usd"] for row in judged(found) if "cost_usd" in row)
    assert of_scores == pytest.approx(by_hand)


def test_a_run_replays_without_asking_and_says_the_same(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    assert golden.folder is not None
    with StandIn() as standin:
        recorded = Judging(golden, upstream=LoopbackUpstream(standin.url))
        run(
            golden,
            load_system(golden),
            cassettes=Cassettes(golden.folder / "cassettes", "record"),
            upstream=LoopbackUpstream(standin.url),
            follower=recorded,
            progress="none",
        )
    replayed = evaluate(
        golden, load_system(golden), run_id="r", as_of=DAY, tier="full", progress="none"
    )
    names = ["case_id", "judge", "part", "answers", "text", "request_key", "na_reason"]
    assert recorded.frame()[names].equals(replayed.verdicts[names])
    assert replayed.misses.empty


def test_a_verdict_that_was_never_recorded_is_a_miss(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    assert golden.folder is not None
    with StandIn() as standin:
        run(
            golden,
            load_system(golden),
            cassettes=Cassettes(golden.folder / "cassettes", "record"),
            upstream=LoopbackUpstream(standin.url),
            progress="none",
        )
    found = evaluate(
        golden, load_system(golden), run_id="r", as_of=DAY, tier="full", progress="none"
    )
    assert found.exit_code == 3
    assert {row["na_reason"] for row in judged(found)} == {"miss", "skipped_by_rule"}


def test_what_the_rules_alone_score_asks_no_judge(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        found = live(golden, standin, tier="rule_only")
        assert standin.stats()["answered"] == N_CASES
    assert {row["na_reason"] for row in judged(found)} == {"no_judge", "skipped_by_rule"}
    assert found.verdicts.empty


def test_stored_outputs_are_judged_again_and_the_system_is_not_run(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        first = live(golden, standin)
        n_before = standin.stats()["answered"]
        same = rescore(golden, first, run_id="again", as_of=DAY)
        assert standin.stats()["answered"] == n_before  # a verdict of the same judge is kept
        upstream = LoopbackUpstream(standin.url)
        other = rescore(
            golden,
            first,
            run_id="other",
            as_of=DAY,
            judges=["reference", "rubric", "axes"],
            judge_repeats=2,
            mode="live",
            upstream=upstream,
        )
        n_judged = first.verdicts["case_id"].nunique()
        assert standin.stats()["answered"] == n_before + 2 * n_judged
    assert same.verdicts["text"].equals(first.verdicts["text"])
    assert other.verdicts["judge_repeat"].max() == 2


def test_another_pass_rule_costs_no_call(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn() as standin:
        first = live(golden, standin)
    strict = shop(tmp_path, SETTINGS.replace("[gate]", "pass_score = 5\n[gate]"))
    lenient = shop(
        tmp_path, SETTINGS.replace("[gate]", "pass_score = 1\nunmet_fails = false\n[gate]")
    )
    n_passed = [
        int(again.scores.loc[again.scores["tier"] == "judge", "passed"].sum())
        for again in (
            rescore(suite, first, run_id="again", as_of=DAY) for suite in (strict, golden, lenient)
        )
    ]
    assert n_passed[0] < n_passed[1] < n_passed[2]


def test_a_run_with_verdicts_is_read_back_as_it_was(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    folder = tmp_path / "results" / "shop" / "r"
    folder.mkdir(parents=True)
    with StandIn() as standin:
        found = live(golden, standin, folder)
    write_run(folder, found)
    again = read_run(folder)
    assert to_records(again.verdicts) == to_records(found.verdicts)
    assert to_records(again.scores) == to_records(found.scores)


def test_requests_that_no_judge_gets_through_stop_the_run(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    rules = [{"contains": "You judge one answer", "fault": "400"}]
    with StandIn(rules=rules) as standin, pytest.raises(InputError, match="none of the judges'"):
        live(golden, standin, concurrency=1)


def test_the_key_that_is_refused_stops_the_run(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    rules = [{"contains": "You judge one answer", "fault": "401"}]
    with StandIn(rules=rules) as standin, pytest.raises(InputError, match="the run stopped"):
        live(golden, standin)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"stop_reason": "refusal", "content": []}, "refusal"),
        ({"stop_reason": "max_tokens"}, "truncated"),
        ({"content": [{"type": "text", "text": "  "}]}, "empty"),
        ({"stop_reason": "new_reason"}, "unknown_stop"),
    ],
)
def test_what_a_judge_does_not_say_is_missing_with_its_reason(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    golden = shop(tmp_path, n=1)
    outputs = run(
        golden,
        load_system(golden),
        cassettes=Cassettes(tmp_path / "none", "live"),
        upstream=FakeUpstream(message("All fine.")),
        progress="none",
    )
    verdicts = judge_outputs(
        golden,
        outputs,
        cassettes=Cassettes(tmp_path / "none", "live"),
        upstream=FakeUpstream(message("no JSON", **fields)),
    )
    assert set(verdicts["na_reason"]) == {reason}
    assert verdicts["input_tokens"].notna().all()
    scores = score(golden, outputs, verdicts=verdicts)
    assert set(scores.loc[scores["tier"] == "judge", "na_reason"]) == {reason}


def asking(standin: StandIn) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": standin.url, "ANTHROPIC_API_KEY": "unused"}


def test_a_killed_run_goes_on_and_asks_for_no_verdict_twice(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    assert golden.folder is not None
    command = [
        *("run", str(golden.folder), "--mode", "live"),
        *("--tier", "full", "--no-notebook", "--concurrency", "4"),
        *("--results", str(tmp_path / "results")),
    ]
    with StandIn(latency=30) as standin:
        process = start_evalnb(*command, folder=tmp_path, **asking(standin))
        while standin.stats()["answered"] < N_CASES:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        n_before = standin.stats()
        done = evalnb(*command, folder=tmp_path, **asking(standin))
        after = standin.stats()
    assert done.code == 2, done.out + done.error  # there is no baseline
    assert "goes on with run" in done.error
    assert n_before["answered"] < after["distinct_answered"]
    assert after["repeated_answers"] <= 8  # system and judges had four under way each
    folder = next((tmp_path / "results" / "shop").glob("*/run.json")).parent
    manifest = json.loads((folder / "run.json").read_text())
    cost = sum(
        row.get("cost_usd", 0)
        for name in ("outputs", "verdicts")
        for row in map(json.loads, (folder / f"{name}.jsonl").read_text().splitlines())
    )
    assert manifest["cost_usd"] == pytest.approx(cost)


def test_verdicts_come_in_the_order_of_the_cases(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    with StandIn(latency="lognormal:5:1") as standin:
        found = live(golden, standin)
    order = [case.id for case in golden]
    positions = [order.index(case_id) for case_id in found.verdicts["case_id"]]
    assert positions == sorted(positions)
    assert VERDICTS.check(found.verdicts) is not None


def test_the_suite_is_read_again_as_it_was_judged(tmp_path: Path) -> None:
    golden = shop(tmp_path)
    assert golden.folder is not None
    assert read_golden(golden.folder).settings.judging == golden.settings.judging


def test_the_command_line_judges_again_and_says_what_it_will_cost(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=6)
    assert golden.folder is not None
    folder = tmp_path / "results" / "shop" / "r"
    folder.mkdir(parents=True)
    with StandIn() as standin:
        write_run(folder, live(golden, standin, folder))
    results = ("--results", str(tmp_path / "results"))
    again = evalnb("rescore", golden.folder, folder, *results, folder=tmp_path)
    assert again.code == 2, again.error  # there is no baseline
    assert "Judges scored 20 of 24 scores; 4 were skipped" in again.out
    assert "judged again from r" in again.out
    expected = evalnb("estimate", golden.folder, "--runs-per-month", "30", folder=tmp_path)
    assert expected.code == 0
    assert "judge claude-haiku-5-5: about 12 calls" in expected.out
    assert "a month of 30 runs" in expected.out


def test_a_judge_of_the_system_s_family_is_warned_of(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=4)
    with StandIn() as standin:
        found = live(golden, standin)
    sentences = "\n".join(judge_sentences(found))
    assert "is of one family with claude-haiku-5-5, which it judges" in sentences
    assert "No certificate: verdicts are advisory" in sentences


def test_a_rescoring_that_cannot_begin_leaves_no_run_behind(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=2)
    assert golden.folder is not None
    folder = tmp_path / "results" / "shop" / "r"
    folder.mkdir(parents=True)
    with StandIn() as standin:
        write_run(folder, live(golden, standin))
    results = ("--results", str(tmp_path / "results"))
    done = evalnb("rescore", golden.folder, *results, "--judge", "rubrik", folder=tmp_path)
    assert (done.code, "Did you mean 'rubric'" in done.error) == (2, True)
    no_key = evalnb(
        "rescore", golden.folder, *results, "--judge", "reference", "--judge", "axes",
        "--judge-repeats", "2", "--mode", "live", folder=tmp_path,
    )  # fmt: skip
    assert (no_key.code, "no credentials" in no_key.error) == (2, True)
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["r"]


def test_a_judge_that_the_suite_misspells_is_told_with_its_place(tmp_path: Path) -> None:
    golden = shop(tmp_path, SETTINGS.replace('"axes"', '"axis"'), n=2)
    with pytest.raises(InputError, match=r"`judging\.judges` in suite\.toml: .*'axis'"):
        score(golden, run_of_nothing(golden))


def run_of_nothing(golden: GoldenSet) -> pd.DataFrame:
    return OUTPUTS.build([{"case_id": golden.cases[0].id, "repeat": 1, "na_reason": "server"}])


def test_another_model_than_the_baseline_s_is_said_first(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=4)
    with StandIn() as standin:
        first = live(golden, standin)
        judges = {
            scorer: {**judge, "answered": ["claude-haiku-5-4"]}
            for scorer, judge in first.manifest["judges"].items()
        }
        content = {"golden_version": golden.version, "judges": judges}
        write_baseline(golden, content, first.scores, first.outputs)
        second = live(golden, standin)
    changed = second.decision[second.decision["rule"] == "judge_changed"]
    assert set(changed["scorer"]) == {"rubric", "politeness", "factual", "relevance"}
    assert set(changed["outcome"]) == {"note"}
    assert judge_sentences(second)[0] == (
        "Attention, factual: the judge's model answered as claude-haiku-5-4 in the baseline, "
        "claude-haiku-5-5 now: scores of the two do not compare."
    )


def test_a_rubric_that_changed_is_asked_about_again(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=2)
    with StandIn() as standin:
        first = live(golden, standin)
        longer = [
            case.model_copy(update={"rubric": [*(case.rubric or ()), "Names a day."]})
            for case in golden
        ]
        n_before = standin.stats()["answered"]
        again = rescore(
            golden.replace(longer),
            first,
            run_id="again",
            as_of=DAY,
            mode="live",
            upstream=LoopbackUpstream(standin.url),
        )
        # Two rubrics; on the axes nothing is asked otherwise.
        assert standin.stats()["answered"] == n_before + 2
    rows = to_records(again.verdicts)
    assert all("criterion_3" in row["answers"] for row in rows if row["judge"] == "rubric")
    stale = score(golden.replace(longer), first.outputs, verdicts=first.verdicts)
    rubric = stale[stale["scorer"] == "rubric"]
    assert set(rubric["na_reason"]) == {"no_judge"}


def test_judges_that_give_one_score_are_not_asked_together(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=2)
    with StandIn() as standin:
        first = live(golden, standin)
    with pytest.raises(InputError, match="two judges 'rubric'"):
        rescore(golden, first, run_id="r", as_of=DAY, judges=["rubric", "rubric"])


BATCHES = SETTINGS.replace("[gate]", 'transport = "batch"\n[gate]')


def test_verdicts_in_batches_cost_half_and_say_the_same(tmp_path: Path) -> None:
    one_by_one, together = shop(tmp_path / "a", n=8), shop(tmp_path / "b", BATCHES, n=8)
    folder = tmp_path / "run"
    folder.mkdir()
    with StandIn() as standin:
        first = live(one_by_one, standin)
        second = live(together, standin, folder)
        assert standin.stats()["batches"] == 1
    assert second.verdicts["text"].tolist() == first.verdicts["text"].tolist()
    assert second.verdicts["latency_ms"].isna().all()
    assert second.manifest["judge_cost_usd"] == pytest.approx(first.manifest["judge_cost_usd"] / 2)


def test_repeated_verdicts_go_into_one_batch_and_keep_apart(tmp_path: Path) -> None:
    golden = shop(tmp_path, BATCHES, n=4)
    with StandIn() as standin:
        first = live(golden, standin, tier="rule_only")
        again = rescore(
            golden,
            first,
            run_id="again",
            as_of=DAY,
            mode="live",
            judge_repeats=3,
            folder=tmp_path,
            upstream=LoopbackUpstream(standin.url),
        )
        assert standin.stats()["batches"] == 1
    assert again.verdicts["judge_repeat"].value_counts().to_dict() == {1: 6, 2: 6, 3: 6}
    assert again.verdicts["na_reason"].isna().all()


def test_a_run_killed_between_sending_and_fetching_a_batch_sends_none_again(
    tmp_path: Path,
) -> None:
    golden = shop(tmp_path, BATCHES, n=8)
    assert golden.folder is not None
    command = [
        *("run", str(golden.folder), "--mode", "live"),
        *("--tier", "full", "--no-notebook", "--results", str(tmp_path / "results")),
    ]
    with StandIn(batch_seconds=600) as standin:
        process = start_evalnb(*command, folder=tmp_path, **asking(standin))
        kept = tmp_path / "results" / "shop"
        while not any('"created"' in path.read_text() for path in kept.glob("*/batches.jsonl")):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
        process.communicate()
        standin.set(batch_seconds=0)
        done = evalnb(*command, folder=tmp_path, **asking(standin))
        assert standin.stats()["batches"] == 1
    assert done.code == 2, done.out + done.error  # there is no baseline
    assert "Judges scored 24 of 32 scores; 8 were skipped" in done.out


def test_batches_need_a_folder_that_knows_what_was_sent(tmp_path: Path) -> None:
    golden = shop(tmp_path, BATCHES, n=2)
    with StandIn() as standin, pytest.raises(ValueError, match="need a run's `folder`"):
        live(golden, standin)


def test_more_repeats_than_a_run_has_are_asked_and_not_given_twice(tmp_path: Path) -> None:
    golden = shop(tmp_path, n=1)
    assert golden.folder is not None
    with StandIn() as standin:
        recorded = Judging(golden, upstream=LoopbackUpstream(standin.url), repeats=2)
        run(
            golden,
            load_system(golden),
            cassettes=Cassettes(golden.folder / "cassettes", "record"),
            upstream=LoopbackUpstream(standin.url),
            follower=recorded,
            progress="none",
        )
    first = evaluate(
        golden, load_system(golden), run_id="r", as_of=DAY, tier="full", progress="none"
    )
    third = rescore(golden, first, run_id="s", as_of=DAY, judge_repeats=3)
    # Of each judge two were recorded, one was taken from the run, and a third was never asked.
    assert third.verdicts["na_reason"].isna().tolist() == [True, True, False] * 2
    assert set(third.verdicts["na_reason"].dropna()) == {"miss"}
