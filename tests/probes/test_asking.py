"""Asking a judge about variants, through cassettes; what the judge says is scripted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.cassettes import Cassettes
from evalnb.errors import InputError
from evalnb.frames import OUTPUTS
from evalnb.judges import load_judge, load_pairwise_judge
from evalnb.probes import (
    PROBE_VERDICTS,
    PROBES,
    NothingToProbeError,
    Probe,
    load_probes,
    probe_effects,
    probe_judges,
    probed_judges,
    probed_outputs,
    unchanged,
)
from evalnb.probes.base import changed
from tests.probes.judges import ScriptedJudge
from tests.suites import make_suite
from tests.upstreams import FakeUpstream, error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evalnb.golden import GoldenSet
    from evalnb.probes import Item, Variant

CASES = [
    {"id": name, "input": f"How long does it take to {name}?", "rubric": ["Says how long."]}
    for name in ("post", "return")
]


@pytest.fixture
def golden(tmp_path: Path) -> GoldenSet:
    return make_suite(
        tmp_path / "shop", CASES, '[judging]\njudges = ["axes"]\nmodel = "claude-haiku-5-5"\n'
    )


def answers() -> pd.DataFrame:
    return OUTPUTS.build(
        {"case_id": case["id"], "repeat": 1, "text": "Five days. By post.", "output_hash": "h"}
        for case in CASES
    )


def ask(golden: GoldenSet, upstream: FakeUpstream, *names: str, **options: Any) -> pd.DataFrame:
    return probe_judges(
        golden,
        answers(),
        [options.pop("judge", None) or load_judge(golden, "axes")],
        [PROBES[name] for name in names],
        cassettes=options.pop("cassettes", None) or Cassettes("none", "live"),
        upstream=upstream,
        **options,
    )


def lists(text: str) -> int:
    return 5 if "\n- " in text else 3


def test_every_variant_has_a_row_for_each_axis_and_repeat(golden: GoldenSet) -> None:
    verdicts = ask(golden, ScriptedJudge(lists), "formatting")
    PROBE_VERDICTS.check(verdicts)
    # Two cases, three axes, the answer twice, the list and the bold one once.
    assert len(verdicts) == 2 * 3 * 4
    values = verdicts.drop_duplicates(["variant", "value"]).set_index("variant")["value"]
    assert values.to_dict() == {"unchanged": 3, "list": 5, "bold": 3}
    assert set(verdicts["scorer"]) == {"politeness", "factual", "relevance"}
    assert verdicts["low"].eq(1).all()
    assert verdicts["high"].eq(5).all()


def test_what_two_probes_show_is_asked_once(golden: GoldenSet) -> None:
    upstream = ScriptedJudge(lists)
    verdicts = ask(golden, upstream, "repetition", "formatting", repeats=3)
    assert len(upstream.requests) == 2 * (3 + 2)
    unchanged_rows = verdicts[verdicts["role"] == "unchanged"]
    assert unchanged_rows.groupby("probe").size().eq(2 * 3 * 3).all()


def test_effects_follow_from_what_was_said(golden: GoldenSet) -> None:
    effects = probe_effects(ask(golden, ScriptedJudge(lists), "formatting"))
    rows = effects[effects["scorer"] == "factual"].set_index(["variant", "metric"])["estimate"]
    # A list is worth two levels more, bold type nothing; 5 passes and 3 does not.
    assert rows.to_dict() == {
        ("all", "shift"): 1.0,
        ("all", "flip_rate"): 0.5,
        ("list", "shift"): 2.0,
        ("bold", "shift"): 0.0,
    }
    assert effects["span"].dropna().eq(4).all()


def test_pairs_have_the_better_one_by_place(golden: GoldenSet) -> None:
    verdicts = ask(
        golden,
        ScriptedJudge(lambda _: "first"),
        "position",
        "length_preference",
        judge=load_pairwise_judge(golden),
    )
    assert verdicts["better"].eq("first").all()
    assert verdicts["value"].isna().all()
    effects = probe_effects(verdicts).set_index(["probe", "metric"])["estimate"]
    assert effects["position", "net_first_preference"] == 1
    assert effects["position", "conflict_rate"] == 1
    assert effects["length_preference", "longer_preference"] == 0


def test_a_failure_is_a_row_with_its_reason(golden: GoldenSet) -> None:
    upstream = ScriptedJudge(lists)
    upstream.say = lambda _: 9  # no level of the scale
    verdicts = ask(golden, upstream, "formatting")
    assert verdicts["value"].isna().all()
    assert verdicts["na_reason"].notna().all()
    effects = probe_effects(verdicts)
    assert set(effects["reason"]) == {"too_few"}
    assert effects["n_left_out"].gt(0).all()
    assert effects["n_failed"].eq(8).all()


def test_what_was_recorded_is_replayed_and_a_miss_is_no_call(
    golden: GoldenSet, tmp_path: Path
) -> None:
    folder = tmp_path / "cassettes"
    folder.mkdir()
    recorded = ask(
        golden, ScriptedJudge(lists), "formatting", cassettes=Cassettes(folder, "record")
    )
    replayed = probe_judges(
        golden,
        answers(),
        [load_judge(golden, "axes")],
        [PROBES["formatting"]],
        cassettes=Cassettes(folder),
    )
    columns = ["probe", "case_id", "variant", "scorer", "judge_repeat", "value", "reason"]
    pd.testing.assert_frame_equal(recorded[columns], replayed[columns])
    silent = ScriptedJudge(lists)
    missing = ask(golden, silent, "verbosity", cassettes=Cassettes(folder))
    assert not silent.requests
    assert missing.loc[missing["role"] == "changed", "na_reason"].eq("miss").all()
    assert missing.loc[missing["role"] == "unchanged", "value"].notna().all()


def test_a_key_that_is_refused_stops_it(golden: GoldenSet) -> None:
    upstream = FakeUpstream(error(401, "authentication_error"))
    with pytest.raises(InputError, match="does not accept the key"):
        ask(golden, upstream, "formatting")


def test_what_cannot_be_asked_is_said(golden: GoldenSet) -> None:
    upstream = ScriptedJudge(lists)
    with pytest.raises(NothingToProbeError, match="position is of pairs, and axes judges answers"):
        ask(golden, upstream, "position")
    with pytest.raises(InputError, match="two probes 'floor'"):
        ask(golden, upstream, "floor", "floor")
    with pytest.raises(ValueError, match="at least 2"):
        ask(golden, upstream, "floor", repeats=1)
    for judges, message in (
        (["axes"], "of the 0 answers"),
        (["reference"], "none is for reference"),
    ):
        with pytest.raises(NothingToProbeError, match=message):
            probe_judges(
                golden,
                OUTPUTS.empty() if judges == ["axes"] else answers(),
                probed_judges(golden, judges),
                [PROBES["floor"]],
                cassettes=Cassettes("none"),
            )


def test_each_judge_is_asked_by_the_probes_of_its_kind(golden: GoldenSet) -> None:
    upstream = ScriptedJudge(lambda text: "tie" if "</first-" in text else 3)
    verdicts = probe_judges(
        golden,
        answers(),
        probed_judges(golden),
        load_probes(golden, ["floor", "position"]),
        cassettes=Cassettes("none", "live"),
        upstream=upstream,
    )
    found = verdicts.groupby("judge")["probe"].unique().map(list).to_dict()
    assert found == {"axes": ["floor"], "pairwise": ["position"]}


def test_a_budget_is_that_of_all_judges_together(golden: GoldenSet) -> None:
    def cost(budget_usd: float) -> float:
        # Ten thousand tokens at 0.50 US dollars a million: 0.005 a verdict.
        usage = {"input_tokens": 0, "output_tokens": 10_000}
        say = ScriptedJudge(lambda text: "tie" if "</first-" in text else 3, usage=usage)
        verdicts = probe_judges(
            golden,
            answers(),
            probed_judges(golden),
            load_probes(golden, ["floor", "position"]),
            cassettes=Cassettes("none", "live"),
            upstream=say,
            budget_usd=budget_usd,
        )
        assert set(verdicts["na_reason"].dropna()) <= {"budget"}
        return 0.005 * len(say.requests)

    # Two cases: of answers 2 + 3 verdicts each, of pairs two orders twice.
    assert cost(1.0) == pytest.approx(0.005 * 2 * (5 + 4))
    assert 0.02 < cost(0.05) <= 0.05


# Which probes and cases

OWN = """
from evalnb.probes import Probe, changed, unchanged


class Shouting(Probe):
    name = "shouting"
    advice = "Say that capitals earn nothing."

    def variants(self, items):
        for item in items:
            yield unchanged(item)
            yield changed(item, "capitals", item.text.upper())


shouting = Shouting()
again = type("Floor", (Shouting,), {"name": "floor"})()
number = 3
"""


def with_own(folder: Path, name: str) -> GoldenSet:
    """Make a suite with a probe of its own, whose module has a name that no other suite's has."""
    module = f"own_probes_{name}"
    (folder / f"{module}.py").write_text(OWN)
    settings = f'[probes]\nown = ["{module}:{name}"]\n[judging]\njudges = ["axes"]\n'
    return make_suite(folder / "shop", CASES, settings)


def test_a_suite_has_probes_of_its_own(tmp_path: Path) -> None:
    golden = with_own(tmp_path, "shouting")
    assert [probe.name for probe in load_probes(golden)] == [*PROBES, "shouting"]
    probes = load_probes(golden, ["shouting"])
    loud = ScriptedJudge(lambda text: 5 if "FIVE DAYS" in text else 3)
    verdicts = probe_judges(
        golden, answers(), [load_judge(golden, "axes")], probes,
        cassettes=Cassettes("none", "live"), upstream=loud,
    )  # fmt: skip
    headline = probe_effects(verdicts, probes).set_index("scorer").loc["factual"]
    assert headline.loc[headline["metric"] == "shift", "estimate"].tolist() == [2.0]
    with pytest.raises(ValueError, match=r"every probe that asked\. Not there: shouting"):
        probe_effects(verdicts)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("again", "another probe is: give it a name of its own"),
        ("number", r"must be a Probe\. Got int"),
        ("Shouting", "Got a class: name an object of it"),
    ],
)
def test_what_is_no_probe_is_said(tmp_path: Path, name: str, message: str) -> None:
    golden = with_own(tmp_path, name)
    with pytest.raises(InputError, match=message):
        load_probes(golden)


def test_an_unknown_name_is_refused_with_the_nearest(golden: GoldenSet) -> None:
    with pytest.raises(InputError, match=r"no probe 'verbositi'\. Did you mean 'verbosity'\?"):
        load_probes(golden, ["verbositi"])
    with pytest.raises(InputError, match="There are repetition, verbosity"):
        load_probes(golden, ["zzz"])


def test_a_suite_names_the_cases_that_are_probed(tmp_path: Path) -> None:
    golden = make_suite(tmp_path / "a", CASES, '[probes]\ncases = ["return"]\n')
    assert probed_outputs(golden, answers())["case_id"].tolist() == ["return"]
    wrong = make_suite(tmp_path / "b", CASES, '[probes]\ncases = ["retrun"]\n')
    with pytest.raises(InputError, match=r"no case 'retrun'\. Did you mean 'return'\?"):
        probed_outputs(wrong, answers())


def test_a_probe_measures_shifts_where_it_says_nothing_else() -> None:
    class Quiet(Probe):
        name = "quiet"

        def variants(self, items: Sequence[Item]) -> Iterator[Variant]:
            for item in items:
                yield unchanged(item)
                yield changed(item, "lower", item.text.lower())

    assert Quiet().advice == ""
    assert [measure.metric for measure in Quiet().measures(PROBE_VERDICTS.empty())] == [
        "shift",
        "flip_rate",
    ]
