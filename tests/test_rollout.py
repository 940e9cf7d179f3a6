"""Shadow mode and overrides: loud ways past the gate, but never past an unsafe answer."""

from __future__ import annotations

import subprocess
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.errors import InputError
from evalnb.frames import MISSES, Outcome
from evalnb.gate import decide, exit_code, outcome
from evalnb.rollout import Override, find_override
from tests.test_gate import DAY, accepted, exact, golden

if TYPE_CHECKING:
    from pathlib import Path

WORSE = exact(a=False)
LET_PASS = Override("the shop is down", "SKIP_EVAL_REASON")


def decided(gate: dict[str, Any] | None = None, *, red_team: bool = False, **options: Any) -> Any:
    suite = golden("a", gate=gate, red_team=red_team)
    return decide(suite, WORSE, accepted(exact(a=True), suite), as_of=DAY, **options)


@pytest.mark.parametrize("days", [0, 1])
def test_shadow_mode_reports_all_and_blocks_nothing_up_to_its_last_day(days: int) -> None:
    found = decided({"shadow_until": DAY + timedelta(days)})
    assert outcome(found) == Outcome.FAIL
    assert exit_code(found) == 0
    assert "regression" in found["rule"].tolist()
    (note,) = found[found["rule"] == "shadow_mode"].to_dict("records")
    assert note["reason"] == f"what blocks is reported only, until {DAY + timedelta(days)}"


def test_shadow_mode_ends() -> None:
    found = decided({"shadow_until": DAY - timedelta(1)})
    assert exit_code(found) == 1
    assert "shadow_mode" not in found["rule"].tolist()


def test_shadow_mode_leaves_open_what_could_not_be_decided() -> None:
    suite = golden("a", gate={"shadow_until": DAY})
    found = decide(suite, exact(a="server"), accepted(exact(a=True), suite), as_of=DAY)
    assert exit_code(found) == 2


def test_an_override_passes_one_run_and_stands_in_its_decision() -> None:
    found = decided(override=LET_PASS)
    assert (outcome(found), exit_code(found)) == (Outcome.FAIL, 0)
    (note,) = found[found["rule"] == "override"].to_dict("records")
    assert note["reason"] == "this run was let pass: the shop is down (SKIP_EVAL_REASON)"
    misses = MISSES.build(
        [{"case_id": "a", "repeat": 1, "occurrence": 1, "key": "k", "explanation": "new"}]
    )
    missed = decided(override=LET_PASS, misses=misses)
    assert (exit_code(decided(misses=misses)), exit_code(missed)) == (3, 0)


def test_neither_passes_an_unsafe_answer() -> None:
    found = decided({"shadow_until": DAY}, red_team=True, override=LET_PASS)
    assert exit_code(found) == 1
    assert {"override_ignored", "shadow_mode_ignored"} <= set(found["rule"])
    safety = pd.DataFrame(
        {"rule": ["safety", "override", "shadow_mode"], "outcome": ["fail", "note", "note"]}
    )
    assert exit_code(safety) == 1


# Who overrides


@pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
def test_nobody_overrides_unless_somebody_says_so(value: str) -> None:
    assert find_override({"SKIP_EVAL": value, "SKIP_EVAL_REASON": "x"}, None) is None
    assert find_override({}, None) is None


@pytest.mark.parametrize("value", ["true", "1", "YES"])
def test_an_override_is_set_with_its_reason(value: str) -> None:
    environment = {"SKIP_EVAL": value, "SKIP_EVAL_REASON": "  the shop\n is down "}
    assert find_override(environment, None) == LET_PASS


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"SKIP_EVAL": "true"}, "an override needs a reason"),
        ({"SKIP_EVAL": "true", "SKIP_EVAL_REASON": " "}, "an override needs a reason"),
        ({"SKIP_EVAL": "maybe"}, "SKIP_EVAL must be true or false. Got 'maybe'"),
    ],
)
def test_an_override_without_a_reason_is_refused(environment: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_override(environment, None)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=kim", "-c", "user.email=kim@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Start")
    return tmp_path


def test_a_trailer_of_the_commit_overrides(repository: Path) -> None:
    assert find_override({}, repository) is None
    git(repository, "commit", "-q", "--allow-empty", "-m", "Fix\n\nSkip-Eval: the shop is down")
    found = find_override({}, repository)
    assert found is not None
    assert found.reason == "the shop is down"
    assert found.source == f"Skip-Eval of commit {git(repository, 'rev-parse', 'HEAD')[:12]}"
    git(repository, "commit", "-q", "--allow-empty", "-m", "Next")
    assert find_override({}, repository) is None


def test_of_a_merge_the_second_parent_s_trailer_counts(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "change")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Fix\n\nSkip-Eval: the shop is down")
    git(repository, "checkout", "-q", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Else\n\nSkip-Eval: not this one")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merge", "change")
    found = find_override({}, repository)
    assert found is not None
    assert found.reason == "the shop is down"


def test_an_empty_trailer_is_refused(repository: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "Fix\n\nSkip-Eval: ")
    with pytest.raises(InputError, match="says nothing after it"):
        find_override({}, repository)


def test_outside_of_a_repository_nobody_overrides(tmp_path: Path) -> None:
    assert find_override({}, tmp_path) is None


def test_the_day_is_a_date() -> None:
    with pytest.raises(ValueError, match="shadow_until"):
        golden("a", gate={"shadow_until": "soon"})
    assert golden("a", gate={"shadow_until": date(2026, 6, 1)}).settings.fingerprint
