"""What looks worse in a live run is asked again on both sides, and the fresh repeats decide."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

from evalnb.acceptance import accept_baseline
from evalnb.confirmation import Confirmation, first_level
from evalnb.evaluation import decided_run, evaluate, run_and_score
from evalnb.frames import OUTPUTS
from evalnb.gate import decide, exit_code, suspect_cases
from evalnb.golden import read_golden
from evalnb.merging import joined
from evalnb.reports.sentences import confirmation_sentences
from evalnb.results import write_run
from evalnb.systems import load_system
from tests.suites import PROMPT, make_suite
from tests.test_sampled import DAY, accepted, run, steady, suite, with_lost
from tests.upstreams import AnsweringUpstream, message

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.runs import Run

N = 10
CANDIDATE = PROMPT.replace("in one sentence", "in two sentences")


class Bot(AnsweringUpstream):
    """Answers as scripted: what the candidate's prompt asks for may fail, at first or always."""

    def __init__(self, *, fails_from: int = 0, fails_until: int = 10**9) -> None:
        super().__init__(self._answer)
        self.asked: Counter[str] = Counter()
        self._span = range(fails_from, fails_until)

    def _answer(self, body: dict[str, Any], _: int) -> dict[str, Any]:
        side = "candidate" if "two sentences" in body["system"] else "baseline"
        number = self.asked[side]
        self.asked[side] += 1
        wrong = side == "candidate" and number in self._span
        return message("yes!" if wrong else "yes")  # the same word, so that wording decides nothing


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a suite whose baseline passed throughout, and a candidate's prompt after it."""
    root = tmp_path_factory.mktemp("confirming")
    cases = [
        {"id": f"c{n}", "input": f"{n}?", "expected_exact": "yes", "tools": []} for n in range(N)
    ]
    # How busy the machine is decides nothing here.
    settings = "repeats = 2\n[gate]\nmax_latency_ratio = 1000.0\n"
    golden = make_suite(root / "golden" / "shop", cases, settings)
    live(golden, root / "results" / "shop" / "first", Bot())
    accept_baseline(
        golden,
        root / "results" / "shop" / "first",
        reason="the first",
        now=datetime(2026, 6, 1, tzinfo=UTC),
        environment={},
    )
    (root / "golden" / "shop" / "systems" / "v1.toml").write_text(CANDIDATE)
    return root


@pytest.fixture
def golden(shop: Path, tmp_path: Path) -> GoldenSet:
    copytree(shop, tmp_path, dirs_exist_ok=True)
    return read_golden(tmp_path / "golden" / "shop")


def live(golden: GoldenSet, folder: Path, bot: Bot, **options: Any) -> Run:
    folder.mkdir(parents=True)
    found = evaluate(
        golden,
        load_system(golden),
        run_id=folder.name,
        folder=folder,
        as_of=date(2026, 6, 1),
        mode="live",
        progress="none",
        concurrency=1,
        upstream=bot,
        **options,
    )
    write_run(folder, found)
    return found


def test_a_drop_that_stays_is_confirmed_on_both_sides_and_blocks(
    golden: GoldenSet, tmp_path: Path
) -> None:
    bot, folder = Bot(), tmp_path / "results" / "shop" / "second"
    found = live(golden, folder, bot)
    # The run, and the fresh repeats: the baseline's prompt is asked as acceptance kept it.
    assert bot.asked == {"candidate": 4 * N, "baseline": 2 * N}
    assert found.exit_code == 1
    row = found.decision[found.decision["rule"] == "drift"].iloc[0]
    assert row["reason"].startswith("confirmed by fresh repeats on both sides: the pass rate")
    assert row["p_value"] == pytest.approx(2**-N)
    assert found.manifest["confirmation"] | {"cost_usd": 0} == {
        "cases": N, "repeats": 2, "answers": 4 * N, "missing": 0, "cost_usd": 0,
    }  # fmt: skip
    assert (
        "Asked again on both sides: 10 cases, 2 repeats a side, 40 answers"
        in (folder / "summary.md").read_text()
    )
    for side in ("baseline", "candidate"):
        lines = (folder / "confirmation" / side / "outputs.jsonl").read_text().splitlines()
        assert {json.loads(line)["run_id"] for line in lines} == {f"confirmation-{side}"}
        assert len(lines) == 2 * N


def test_a_drop_that_was_bad_luck_is_not_confirmed_and_passes(
    golden: GoldenSet, tmp_path: Path
) -> None:
    found = live(golden, tmp_path / "second", Bot(fails_until=2 * N))
    assert found.exit_code == 0
    row = found.decision[found.decision["rule"] == "not_confirmed"].iloc[0]
    assert row["reason"].startswith("in the run it fell by 1.000, p = 0.001; fresh repeats on both")
    assert row["candidate"] == 1


def test_what_looks_no_worse_is_not_asked_again(golden: GoldenSet, tmp_path: Path) -> None:
    bot = Bot(fails_until=0)
    found = live(golden, tmp_path / "second", bot)
    assert bot.asked == {"candidate": 2 * N}
    assert found.exit_code == 0
    assert found.manifest["confirmation"] is None


@pytest.mark.parametrize(("fails_until", "said"), [(10**9, True), (0, False)])
def test_merged_shards_say_that_nothing_was_asked_again(
    golden: GoldenSet, fails_until: int, *, said: bool
) -> None:
    scored = run_and_score(
        golden,
        load_system(golden),
        run_id="1-of-1",
        mode="live",
        progress="none",
        concurrency=1,
        upstream=Bot(fails_until=fails_until),
    )
    merged = decided_run(golden, joined(golden, [scored], run_id="m"), as_of=date(2026, 6, 1))
    assert merged.exit_code == (1 if said else 0)
    sentence = (
        "Not asked again before blocking: shards are merged without a request. The run decides "
        "by itself; `evalnb run` asks again."
    )
    assert confirmation_sentences(merged.manifest) == ([sentence] if said else [])


def test_a_baseline_that_is_gone_leaves_the_decision_to_the_run(
    golden: GoldenSet, tmp_path: Path
) -> None:
    assert golden.folder is not None
    (golden.folder / "baseline" / "system.toml").unlink()
    bot = Bot()
    found = live(golden, tmp_path / "second", bot)
    assert bot.asked == {"candidate": 2 * N}
    assert found.exit_code == 1
    assert (
        "the system of the baseline, v1, is not there as it was then"
        in (tmp_path / "second" / "summary.md").read_text()
    )


def test_levels_multiply_to_that_of_one_look() -> None:
    assert first_level(0.03) * 0.30 == pytest.approx(0.03)
    assert first_level(0.02) * 0.30 == pytest.approx(0.02)


def fresh(before: list[list[Any]], now: list[list[Any]]) -> Confirmation:
    return Confirmation(run(before), run(now), OUTPUTS.empty(), OUTPUTS.empty())


def test_fresh_repeats_that_are_missing_leave_it_open() -> None:
    golden, first = suite(20), with_lost(20, 8)
    before = accepted(run(steady(20)), golden)
    again = fresh(steady(20), [*with_lost(20, 8)[:-1], [True, True, "server"]])
    found = decide(golden, run(first), before, as_of=DAY, mode="live", confirmation=again)
    assert exit_code(found) == 2
    row = found[found["rule"] == "na"].iloc[0]
    assert row["reason"].startswith("fresh repeats are missing, so that a drop is neither")


def test_a_slice_that_fell_is_asked_again_and_no_other() -> None:
    golden = suite(40, slices=("language",))
    now = with_lost(40, 4)  # all of them German: 4 of 20, p = 1/16; 1/32 takes one more
    before = accepted(run(steady(40)), golden)
    assert suspect_cases(golden, run(now), before, as_of=DAY) == []
    found = suspect_cases(golden, run(with_lost(40, 6)), before, as_of=DAY)
    assert len(found) == 40  # p = 1/64 in the whole suite too, under 0.10 after Holm over both
    mixed = [[False] * 3] * 6 + steady(14) + [[True] * 3] * 20
    old = steady(20) + [[False] * 3] * 6 + steady(14)
    # What German lost English won: the suite as a whole did not move.
    found = suspect_cases(golden, run(mixed), accepted(run(old), golden), as_of=DAY)
    assert found == [f"c{number}" for number in range(20)]


def test_a_single_case_is_confirmed_by_its_own_fresh_repeats() -> None:
    golden = suite(20)
    first = with_lost(20, 1, 7)  # 7 of 7 against 0 of 7 among 20: 20/3432
    before = accepted(run(steady(20, 7)), golden)
    assert suspect_cases(golden, run(first), before, as_of=DAY) == ["c0"]

    def code(again: list[list[Any]]) -> int:
        found = decide(
            golden,
            run(first),
            before,
            as_of=DAY,
            mode="live",
            confirmation=fresh([[True] * 7], again),
        )
        return exit_code(found)

    assert code([[False] * 7]) == 1
    assert code([[True] * 7]) == 0


def test_a_red_team_suite_is_exact_and_asks_nothing_again() -> None:
    golden = suite(20)
    strict = replace(golden, settings=golden.settings.model_copy(update={"red_team": True}))
    before = accepted(run(steady(20)), strict)
    assert suspect_cases(strict, run(with_lost(20, 20)), before, as_of=DAY) == []
