from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalnb.cases import Case
from evalnb.errors import InputError
from evalnb.golden import GoldenSet
from evalnb.scorers import (
    MeasuredOutput,
    NotApplicable,
    Score,
    check_own_scorer,
    own_score,
    scorers_fingerprint,
    suite_scorers,
)
from tests.suites import make_suite

CASE = Case.model_validate({"id": "a", "input": "Hi", "expected_exact": "x"})
OUTPUT = MeasuredOutput("x", output_tokens=3, latency_ms=5.0)


def said(answer: Any) -> Score | NotApplicable:
    return own_score("polite", lambda *_: answer, CASE, OUTPUT)


def test_what_a_scorer_may_say() -> None:
    whole = Score(0.5, False, "half", raw_value=2.0)
    assert said(whole) == whole
    assert said(True) == Score(1.0, True, "polite says yes")
    assert said(False) == Score(0.0, False, "polite says no")
    assert said(np.bool_(True)) == Score(1.0, True, "polite says yes")
    assert said(0.5) == Score(0.5, True, "polite says 0.5, 0.5 needed")
    assert said(np.float64(0.25)) == Score(0.25, False, "polite says 0.25, 0.5 needed")
    assert said(1) == Score(1.0, True, "polite says 1, 0.5 needed")
    assert said(None) == NotApplicable("polite says nothing of this case")


def test_half_a_sign_in_a_reason_can_be_written_all_the_same() -> None:
    found = said(Score(1.0, True, "\ud800"))
    assert isinstance(found, Score)
    found.reason.encode()


@pytest.mark.parametrize("answer", ["yes", [1.0], {"value": 1}, object])
def test_other_answers_are_mistakes(answer: Any) -> None:
    with pytest.raises(TypeError, match=r"polite must return a Score, True or False, a number"):
        said(answer)


@pytest.mark.parametrize("answer", [1.5, -0.1, float("nan"), Score(2.0, True, "much")])
def test_numbers_are_shares(answer: Any) -> None:
    with pytest.raises(ValueError, match=r"polite must return a number in \[0, 1\]\. Got"):
        said(answer)


def test_case_and_output_are_given_with_what_the_output_took() -> None:
    def look(case: Case, output: MeasuredOutput) -> bool:
        return (case.id, output.text, output.output_tokens, output.latency_ms) == ("a", "x", 3, 5)

    assert own_score("look", look, CASE, OUTPUT) == Score(1.0, True, "look says yes")


@pytest.mark.parametrize("name", ["", "a b", "(case)", "1st", "x" * 65, "größe", "a\n"])
def test_a_name_is_plain(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits, _ and -, a letter first"):
        check_own_scorer(name, said, frozenset())


def test_what_cannot_be_called_as_it_is_is_refused() -> None:
    async def later(case: Case, output: MeasuredOutput) -> bool:
        return True

    with pytest.raises(ValueError, match="'exact' is taken"):
        check_own_scorer("exact", said, frozenset({"exact"}))
    with pytest.raises(TypeError, match=r"must be a function of case and output\. Got 3"):
        check_own_scorer("three", 3, frozenset())
    with pytest.raises(TypeError, match=r"must be a plain function\. Got one with `async`"):
        check_own_scorer("later", later, frozenset())


def suite(folder: Path, module: str, source: str, name: str = "polite") -> GoldenSet:
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    cases = [{"id": "a", "input": "Hi", "expected_exact": "x"}]
    settings = f'[scorers]\n{name} = "{module}:polite"\n'
    return make_suite(folder / "golden" / "shop", cases, settings)


def test_a_suites_scorers_are_imported(tmp_path: Path) -> None:
    golden = suite(tmp_path, "own_imported", "def polite(case, output): return True")
    found = suite_scorers(golden, frozenset({"exact"}))
    assert list(found) == ["polite"]
    assert found["polite"](CASE, OUTPUT) is True


@pytest.mark.parametrize(
    ("module", "source", "name", "message"),
    [
        ("own_taken", "polite = print", "exact", r"`scorers.exact` in suite.toml .* is taken"),
        ("own_number", "polite = 3", "polite", "must be a function"),
        ("own_absent", "", "polite", "`own_absent` has no `polite`"),
    ],
)
def test_a_suites_scorers_that_cannot_be_used_are_named(
    tmp_path: Path, module: str, source: str, name: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        suite_scorers(suite(tmp_path, module, source, name), frozenset({"exact"}))


def test_the_fingerprint_follows_names_and_sources(tmp_path: Path) -> None:
    source = "def polite(case, output): return True\n"
    one = scorers_fingerprint(suite(tmp_path / "1", "own_print_1", source))
    assert one is not None
    assert len(one) == 12
    assert scorers_fingerprint(suite(tmp_path / "1", "own_print_1", source)) == one
    assert scorers_fingerprint(suite(tmp_path / "1", "own_print_1", source, "kind")) != one
    plain = make_suite(tmp_path / "plain", [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    assert scorers_fingerprint(plain) is None


def test_another_source_is_another_fingerprint(tmp_path: Path) -> None:
    golden = suite(tmp_path, "own_changing", "def polite(case, output): return True\n")
    before = scorers_fingerprint(golden)
    (tmp_path / "own_changing.py").write_text("def polite(case, output): return not True\n")
    linecache.clearcache()  # a new process would read the file anew
    assert scorers_fingerprint(golden) != before
