"""Judge files, good and bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evalnb.errors import InputError
from evalnb.judges import JudgeFile, load_judge, package_axes, suite_judges
from evalnb.judges.judge import Judge, RubricJudge
from tests.suites import make_suite

if TYPE_CHECKING:
    from pathlib import Path

    from evalnb.golden import GoldenSet

CASES = [{"id": "a", "input": "Hi", "rubric": ["Greets."], "tools": []}]
AXIS = """
[[axes]]
name = "tone"
question = "What is the tone?"
[axes.levels]
1 = "bad"
2 = "good"
"""


def suite(folder: Path, settings: str = "", **judges: str) -> GoldenSet:
    golden = make_suite(folder / "shop", CASES, settings)
    (folder / "shop" / "judges").mkdir(exist_ok=True)
    for name, text in judges.items():
        (folder / "shop" / "judges" / f"{name}.toml").write_text(text)
    return golden


def test_axes_of_the_package_and_of_one_s_own_may_stand_side_by_side() -> None:
    own = {"name": "tone", "question": "?", "levels": {"0": "bad", "1": "good"}}
    file = JudgeFile.model_validate({"kind": "axes", "axes": ["factual", own]})
    assert [axis.name for axis in file.axes or ()] == ["factual", "tone"]


def test_the_package_describes_each_level_of_its_axes() -> None:
    axes = package_axes()
    assert list(axes) == ["politeness", "factual", "relevance"]
    assert all(list(axis.levels) == [1, 2, 3, 4, 5] for axis in axes.values())


def test_a_judge_is_found_by_name_file_and_path(tmp_path: Path) -> None:
    golden = suite(tmp_path, tone=f'kind = "axes"\nmodel = "m"\n{AXIS}')
    by_name, by_file = load_judge(golden, "tone"), load_judge(golden, "judges/tone.toml")
    assert by_name == by_file
    assert (by_name.model, by_name.scorers) == ("m", ("tone",))
    assert load_judge(golden, "rubric").model == "claude-sonnet-5-5"


def test_the_suite_names_its_judges_and_their_model(tmp_path: Path) -> None:
    golden = suite(tmp_path, '[judging]\njudges = ["axes"]\nmodel = "claude-haiku-5-5"\n')
    (judge,) = suite_judges(golden)
    assert judge.model == "claude-haiku-5-5"
    assert judge.scorers == ("politeness", "factual", "relevance")


def test_two_judges_of_one_score_are_refused(tmp_path: Path) -> None:
    golden = suite(tmp_path, '[judging]\njudges = ["rubric", "strict"]\n', strict='kind = "rubric"')
    with pytest.raises(InputError, match="'rubric' and 'strict' both give `rubric`"):
        suite_judges(golden)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "vibes"', "`kind` must be"),
        ('kind = "rubric"\nmodle = "m"', "Did you mean `model`"),
        ('kind = "axes"\naxes = ["politness"]', "Did you mean 'politeness'"),
        ('kind = "axes"\naxes = ["speed"]', "names the axis 'speed', which nobody described"),
        ('kind = "axes"\naxes = ["factual", "factual"]', "Twice: factual"),
        ('kind = "axes"\naxes = []', "at least 1 item"),
        (f'kind = "rubric"\n{AXIS}', "`axes` is for the kind `axes`, and this judge is of"),
        (
            'kind = "rubric"\ncalls = "per_axis"',
            "`calls` is for the kind `axes`, and this judge is of",
        ),
        (
            'kind = "axes"\n' + AXIS.replace("1 =", "5 =").replace("2 =", "4 ="),
            "must ascend one by one, the worst level first: 5, 4 is no such scale",
        ),
        ('kind = "axes"\n' + AXIS.replace("2 =", "3 ="), "must ascend one by one"),
        ('kind = "axes"\n' + AXIS.replace("2 =", "good ="), "each by its number"),
        ('kind = "axes"\n' + AXIS.replace('2 = "good"', ""), "two levels or more"),
        (
            'kind = "rubric"\ntemplate = "{criteria}"',
            "`template` lacks {candidate}: the judge would not see what it judges",
        ),
        ('kind = "rubric"\ntemplate = "{candidat} {candidate}"', "did you mean {candidate}?"),
        ('kind = "axes"\ntemplate = "{criteria} {candidate}"', "but this kind of judge has"),
        ('kind = "pairwise"\ntemplate = "{first}"', "`template` lacks {second}"),
        ('kind = "rubric"\n[parameters]\nmodel = "x"', "must not hold `model`"),
        ('kind = "rubric"\nmax_tokens = 0', "`max_tokens` must be greater than 0"),
        ("kind = ", "cannot be read"),
    ],
)
def test_a_judge_file_that_is_wrong_says_where_and_what_to_do(
    tmp_path: Path, text: str, said: str
) -> None:
    golden = suite(tmp_path, bad=text)
    with pytest.raises(InputError) as raised:
        load_judge(golden, "bad")
    message = str(raised.value)
    assert "bad.toml" in message
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'kind = "vibes"',
            (
                "`kind` must be 'rubric', 'axes', 'reference', 'faithfulness' or 'pairwise'. "
                'Got "vibes". Correct the value.'
            ),
        ),
        ("", "`kind` is missing. Add the field."),
        ('kind = "rubric"\nmodle = "m"', "`modle` is no known field. Did you mean `model`?"),
        (
            'kind = "axes"\naxes = ["politness"]',
            (
                "`axes.0` names the axis 'politness', which nobody described. Did you mean "
                "'politeness'? Others are tables with `name`, `question` and `levels`. "
                'Got "politness". Correct the value.'
            ),
        ),
        (
            'kind = "axes"\n' + AXIS.replace("1 =", "5 =").replace("2 =", "4 ="),
            (
                "`axes.0.levels` must ascend one by one, the worst level first: 5, 4 is no such "
                'scale. Got {"5": "bad", "4": "good"}. Correct the value.'
            ),
        ),
        (
            'kind = "axes"\n' + AXIS.replace("2 =", "3 ="),
            (
                "`axes.0.levels` must ascend one by one, the worst level first: 1, 3 is no such "
                'scale. Got {"1": "bad", "3": "good"}. Correct the value.'
            ),
        ),
        (
            'kind = "axes"\n' + AXIS.replace('"tone"', '"all"'),
            (
                '`axes.0.name` must not be `all`, which means every axis. Got "all". '
                "Correct the value."
            ),
        ),
        (
            'kind = "axes"\n' + AXIS.replace('question = "What is the tone?"\n', ""),
            "`axes.0.question` is missing. Add the field.",
        ),
        (
            'kind = "rubric"\ncalls = "per_axis"',
            (
                "`calls` is for the kind `axes`, and this judge is of the kind `rubric`. "
                'Got "per_axis". Correct the value.'
            ),
        ),
        (
            'kind = "reference"\naxes = ["factual"]',
            (
                "`axes` is for the kind `axes`, and this judge is of the kind `reference`. "
                'Got ["factual"]. Correct the value.'
            ),
        ),
        (
            'kind = "rubric"\ntemplate = "{criteria}"',
            (
                "`template` lacks {candidate}: the judge would not see what it judges. "
                'Got "{criteria}". Correct the value.'
            ),
        ),
        (
            'kind = "axes"\ntemplate = "{candidat} {candidate}"',
            (
                "`template` shows {candidat} (did you mean {candidate}?), but this kind of judge has "
                '{conversation}, {context}, {candidate}. Got "{candidat} {candidate}". '
                "Correct the value."
            ),
        ),
        (
            'kind = "rubric"\n[parameters]\nmodel = "x"\nstream = true',
            (
                "`parameters` must not hold `model`, `stream`: the case and the file's own fields say that. "
                'Got {"model": "x", "stream": true}. Correct the value.'
            ),
        ),
        (
            'kind = "rubric"\nmax_tokens = 0',
            "`max_tokens` must be greater than 0. Got 0. Correct the value.",
        ),
        (
            'kind = "rubric"\nstructured = "no"',
            '`structured` must be a valid boolean. Got "no". Correct the value.',
        ),
    ],
)
def test_a_message_names_file_field_fault_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    golden = suite(tmp_path, bad=text)
    with pytest.raises(InputError) as raised:
        load_judge(golden, "bad")
    file = tmp_path / "shop" / "judges" / "bad.toml"
    assert str(raised.value) == f"the judge file cannot be used\n  {file}: {said}"


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path) -> None:
    golden = suite(tmp_path, bad='kind = "rubric"\nmodle = "m"\ntemplate = "x"\nmax_tokens = 0')
    with pytest.raises(InputError) as raised:
        load_judge(golden, "bad")
    assert {problem.field for problem in raised.value.problems} == {
        "modle",
        "template",
        "max_tokens",
    }


def test_a_file_may_say_everything(tmp_path: Path) -> None:
    text = f"""
kind = "axes"
model = "m"
max_tokens = 100
effort = "max"
thinking = "disabled"
structured = false
max_reason_characters = 80
system = "Judge."
template = "{{conversation}} {{context}} {{candidate}}"
calls = "per_axis"
parameters = {{ temperature = 0.0, metadata = {{ user_id = "u" }} }}
{AXIS.replace("1 =", "-1 =").replace("2 =", "0 =")}
"""
    file = load_judge(suite(tmp_path, whole=text), "whole").file
    assert file.axes is not None
    assert (file.axes[0].low, file.axes[0].high) == (-1, 0)
    assert file.parameters == {"temperature": 0.0, "metadata": {"user_id": "u"}}


def test_a_judge_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no judge 'rubrik'\. Did you mean 'rubric'"):
        load_judge(suite(tmp_path), "rubrik")


def test_a_judge_of_pairs_scores_no_single_answer(tmp_path: Path) -> None:
    golden = suite(tmp_path, duel='kind = "pairwise"')
    with pytest.raises(InputError, match="judge of pairs"):
        load_judge(golden, "duel")


def test_a_judge_of_a_users_own_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_judges_x.py").write_text(
        "from evalnb.judges import JudgeFile\n"
        "from evalnb.judges.judge import RubricJudge\n"
        "class Short(RubricJudge):\n"
        "    def instructions(self, part):\n"
        "        return 'Say in one word.'\n"
        "short = Short('short', JudgeFile(kind='rubric'), 'm')\n"
        "no_judge = 5\n"
    )
    monkeypatch.chdir(tmp_path)
    golden = suite(tmp_path)
    judge = load_judge(golden, "own_judges_x:short")
    assert isinstance(judge, Judge)
    request = judge.request(golden["a"], {"text": "Hello"})
    assert request["system"][0]["text"] == "Say in one word."
    assert judge.fingerprint != RubricJudge("short", judge.file, "m").fingerprint
    with pytest.raises(InputError, match=r"must be a Judge\. Got int"):
        load_judge(golden, "own_judges_x:no_judge")


@pytest.mark.parametrize(
    ("settings", "text", "said"),
    [
        ("", 'kind = "axes"\n' + AXIS.replace('"tone"', '"exact"'), "which is a rule's name"),
        ("", f'kind = "axes"\n{AXIS}', "goes up to 2, and 4 is needed to pass"),
        ("pass_scores = { tnoe = 2.0 }", f'kind = "axes"\n{AXIS}', "needed to pass"),
        (
            "pass_scores = { tone = 2.0, tnoe = 2.0 }",
            f'kind = "axes"\n{AXIS}',
            "no judge of the suite gives `tnoe`. Did you mean `tone`?",
        ),
    ],
)
def test_a_pass_rule_that_fits_no_judge_is_refused(
    tmp_path: Path, settings: str, text: str, said: str
) -> None:
    golden = suite(tmp_path, f'[judging]\njudges = ["own"]\n{settings}\n', own=text)
    with pytest.raises(InputError) as raised:
        suite_judges(golden)
    assert said in str(raised.value)


def test_a_scale_of_ones_own_passes_from_what_the_suite_says(tmp_path: Path) -> None:
    settings = '[judging]\njudges = ["own"]\npass_scores = { tone = 2.0 }\n'
    (judge,) = suite_judges(suite(tmp_path, settings, own=f'kind = "axes"\n{AXIS}'))
    assert judge.scales == {"tone": (1, 2)}
