"""Finding judges by name, file and import path; the answers of one's own are scripted by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from evalnb.errors import InputError
from evalnb.frames import VERDICTS
from evalnb.golden import GoldenSet
from evalnb.judges import (
    Judge,
    JudgeFile,
    load_judge,
    load_pairwise_judge,
    read_verdict,
    suite_judges,
)
from evalnb.panel import Panel
from tests.suites import make_suite

CASES = [{"id": "a", "input": "Hi", "rubric": ["Greets."]}]

OWN = """
from dataclasses import dataclass
from evalnb.judges import Judge, JudgedScore, JudgeFile, PairwiseJudge

class Tone(Judge):
    template = "{candidate} {wish}"
    scorers = ("tone",)

    def applies_to(self, case):
        return True

    def instructions(self, part):
        return "Name the tone."

    def blocks(self, case, output):
        return {"candidate": output["text"], "wish": "Kind, please."}

    def properties(self, case, part):
        return {"Why so": {"type": "string"}, "theTone": {"enum": ["Kind", "Not kind"]}}

    def scores(self, case, part, answers):
        kind = answers["theTone"] == "Kind"
        yield JudgedScore("tone", 5 if kind else 1, 1, 5, answers["Why so"])

tone = Tone("tone", JudgeFile(kind="rubric"), "m")
duel = PairwiseJudge("duel", JudgeFile(kind="pairwise"), "m")
number = 5
"""


def suite(folder: Path, settings: str = "", **judges: str) -> GoldenSet:
    golden = make_suite(folder / "shop", CASES, settings)
    (folder / "shop" / "judges").mkdir(exist_ok=True)
    for name, text in judges.items():
        (folder / "shop" / "judges" / f"{name}.toml").write_text(text)
    return golden


@pytest.fixture
def own(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[GoldenSet, str]:
    """Return a suite and a module of judges that lies beside it."""
    module = "own_" + re.sub(r"\W", "_", request.node.name)
    (tmp_path / f"{module}.py").write_text(OWN)
    return suite(tmp_path), module


def test_a_file_is_found_by_name_by_ending_and_by_place(tmp_path: Path) -> None:
    golden = suite(tmp_path, strict='kind = "rubric"\nmodel = "m"')
    place = tmp_path / "shop" / "judges" / "strict.toml"
    found = [
        load_judge(golden, name)
        for name in ("strict", "strict.toml", "judges/strict.toml", str(place))
    ]
    assert {judge.name for judge in found} == {"strict"}
    assert {judge.fingerprint for judge in found} == {found[0].fingerprint}
    assert found[0].path == place


def test_a_file_of_the_suite_stands_before_the_judge_of_the_package(tmp_path: Path) -> None:
    golden = suite(tmp_path, rubric='kind = "rubric"\nsystem = "Judge."')
    assert load_judge(golden, "rubric").file.system == "Judge."


def test_without_a_folder_there_are_the_judges_of_the_package() -> None:
    golden = GoldenSet(())
    for name in ("rubric", "axes", "reference", "faithfulness"):
        judge = load_judge(golden, name)
        assert (judge.name, judge.path) == (name, None)
    assert load_pairwise_judge(golden).name == "pairwise"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rubrik", "there is no judge 'rubrik'. Did you mean 'rubric'?"),
        ("stricd", "there is no judge 'stricd'. Did you mean 'strict'?"),
        (
            "x",
            "there is no judge 'x'. There are rubric, axes, reference, faithfulness, duel, strict.",
        ),
        (
            "",
            "there is no judge ''. There are rubric, axes, reference, faithfulness, duel, strict.",
        ),
        (
            "pairwise",
            (
                "'pairwise' is a judge of pairs: it has no score for a single answer. Use it with "
                "`evalnb.judge_pairs`, by `evalnb.load_pairwise_judge`."
            ),
        ),
    ],
)
def test_a_name_that_finds_none_says_what_there_is(tmp_path: Path, name: str, said: str) -> None:
    golden = suite(tmp_path, strict='kind = "rubric"', duel='kind = "pairwise"')
    with pytest.raises(InputError) as raised:
        load_judge(golden, name)
    assert raised.value.message == said


def test_judges_of_pairs_are_found_apart_from_the_others(tmp_path: Path) -> None:
    golden = suite(tmp_path, duel='kind = "pairwise"\nmodel = "m"', strict='kind = "rubric"')
    assert load_pairwise_judge(golden, "duel").model == "m"
    with pytest.raises(InputError, match=r"duel\.toml is a judge of pairs"):
        load_judge(golden, "duel")
    with pytest.raises(InputError, match=r"strict\.toml is no judge of pairs: its kind is 'rubric"):
        load_pairwise_judge(golden, "strict")
    with pytest.raises(InputError, match="there is no judge 'other' in the suite's folder"):
        load_pairwise_judge(golden, "other")


def test_a_judge_without_a_model_of_its_own_asks_that_of_the_suite(tmp_path: Path) -> None:
    settings = '[judging]\nmodel = "claude-haiku-5-5"\n'
    golden = suite(tmp_path, settings, strict='kind = "rubric"', other='kind = "axes"\nmodel = "m"')
    names = ("strict", "rubric", "other")
    models = [load_judge(golden, name).model for name in names]
    assert models == ["claude-haiku-5-5", "claude-haiku-5-5", "m"]


def test_the_pass_rule_is_no_part_of_a_judge_and_the_model_is(tmp_path: Path) -> None:
    rules = ("", "pass_score = 3.0", "unmet_fails = false", 'model = "m"')
    prints = [
        load_judge(suite(tmp_path / str(number), f"[judging]\n{rule}\n"), "rubric").fingerprint
        for number, rule in enumerate(rules)
    ]
    assert len(set(prints[:3])) == 1
    assert prints[3] != prints[0]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ('["rubric", "rubric"]', "there are two judges 'rubric'"),
        ('["judges/one/tone.toml", "judges/two/tone.toml"]', "there are two judges 'tone'"),
        ('["rubric", "strict"]', "the judges 'rubric' and 'strict' both give `rubric`"),
        ('["axis"]', "`judging.judges` in suite.toml: there is no judge 'axis'"),
    ],
)
def test_the_judges_of_a_suite_are_told_apart(tmp_path: Path, names: str, said: str) -> None:
    golden = suite(tmp_path, f"[judging]\njudges = {names}\n", strict='kind = "rubric"')
    for number in ("one", "two"):
        folder = tmp_path / "shop" / "judges" / number
        folder.mkdir()
        (folder / "tone.toml").write_text(
            f'kind = "axes"\n[[axes]]\nname = "{number}"\nquestion = "?"\n'
            '[axes.levels]\n1 = "bad"\n2 = "good"\n'
        )
    with pytest.raises(InputError) as raised:
        suite_judges(golden)
    assert said in raised.value.message


def test_a_judge_of_one_s_own_asks_and_scores_as_it_likes(own: tuple[GoldenSet, str]) -> None:
    golden, module = own
    judge = load_judge(golden, f"{module}:tone")
    request = judge.request(golden["a"], {"text": "Hello"})
    shown = request["messages"][0]["content"]
    assert "\nHello\n</candidate-" in shown
    assert "\nKind, please.\n</wish-" in shown
    assert request["system"][0]["text"] == "Name the tone."

    answer = 'So:\n{"why_so": "warm", "TheTone": "not kind"}'
    response = {"content": [{"type": "text", "text": answer}], "stop_reason": "end_turn"}
    verdict = read_verdict(response, judge.schema(golden["a"], "all"))
    assert verdict.answers == {"Why so": "warm", "theTone": "Not kind"}

    row = {
        "case_id": "a",
        "repeat": 1,
        "output_hash": "h",
        "judge": "tone",
        "part": "all",
        "judge_repeat": 1,
        "answers": verdict.answers,
        "judge_model": "m",
        "judge_fingerprint": judge.fingerprint,
    }
    panel = Panel(golden.settings.judging, [judge], VERDICTS.build([row]))
    output = {"case_id": "a", "repeat": 1, "output_hash": "h"}
    assert panel.scorers(golden["a"]) == ["tone"]
    score = panel.scores(golden["a"], output)["tone"]
    assert (score["value"], score["passed"]) == (0.0, False)
    assert score["reason"] == "1 of 5, 4 needed\nwarm"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Tone", "must be a Judge. Got a class: name an object of it."),
        ("number", "must be a Judge. Got int."),
        ("duel", "is a judge of pairs: it has no score for a single answer."),
        ("tune", "has no `tune`. Did you mean `tone`?"),
    ],
)
def test_an_import_path_that_leads_to_no_judge_says_so(
    own: tuple[GoldenSet, str], name: str, said: str
) -> None:
    golden, module = own
    with pytest.raises(InputError) as raised:
        load_judge(golden, f"{module}:{name}")
    assert said in str(raised.value)


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no module `no_such_judges`"):
        load_judge(suite(tmp_path), "no_such_judges:tone")


def test_a_judge_that_says_less_than_it_must_cannot_be_made() -> None:
    class Half(Judge):
        def applies_to(self, case: Any) -> bool:  # noqa: ARG002
            return True

    with pytest.raises(TypeError, match="abstract"):
        Half("half", JudgeFile(kind="rubric"))  # type: ignore[abstract]
