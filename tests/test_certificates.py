"""Certificates and what the gate makes of them; all of them are scripted here."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from evalnb.baseline import CASE, RULES, Baseline, count, read_baseline, write_baseline
from evalnb.certificates import (
    AxisEvidence,
    Certificate,
    counting_scorers,
    read_certificates,
    standings,
    with_standing,
    write_certificate,
)
from evalnb.errors import InputError
from evalnb.frames import OUTPUTS, SCORES, to_records
from evalnb.gate import decide, exit_code
from evalnb.golden import GateSettings, GoldenSet, SuiteSettings
from evalnb.probe_evidence import ProbeEvidence, limit_states
from evalnb.scoring import repeat_passes, summarize
from tests.suites import make_suite
from tests.test_gate import exact, golden, scores

if TYPE_CHECKING:
    from pathlib import Path

DAY = date(2026, 6, 1)
EVIDENCE = AxisEvidence(
    grade="usable", metric="kappa_quadratic", estimate=0.79, ci_low=0.64, ci_high=0.88, n=60,
    method="fisher_t",
)  # fmt: skip


def certificate(**changes: Any) -> Certificate:
    return Certificate(
        **{
            "judge": "axes",
            "fingerprint": "f",
            "model": "m",
            "answered": ["m-1"],
            "issued": DAY,
            "expires": DAY + timedelta(days=35),
            "golden_version": "v",
            "run_id": "r",
            "raters": ["scripted-ann"],
            "axes": {"tone": EVIDENCE},
            **changes,
        }
    )


def judged(
    scorer: str = "tone", answered: str = "m-1", fingerprint: str = "f", **results: bool | str
) -> pd.DataFrame:
    """Build verdicts of a judge, a case a keyword."""
    rows = scores(*((case_id, 1, scorer, result) for case_id, result in results.items()))
    given = rows["na_reason"].isna()
    return rows.assign(
        tier="judge",
        judge_model=pd.Series("m", rows.index).where(given),
        judge_model_answered=pd.Series(answered, rows.index).where(given),
        judge_fingerprint=pd.Series(fingerprint, rows.index).where(given),
    ).astype(SCORES.columns)


def marked(*frames: pd.DataFrame, held: Certificate | None = None) -> pd.DataFrame:
    joined = pd.concat(frames, ignore_index=True)
    return with_standing(joined, standings(joined, [held or certificate()], DAY))


def accepted(frame: pd.DataFrame, suite: GoldenSet, answered: str = "m-1") -> Baseline:
    manifest = {
        "golden_version": suite.version,
        "judges": {"tone": {"fingerprint": "f", "model": "m", "answered": [answered]}},
        "counting": counting_scorers(frame),
    }
    return Baseline(manifest, count(frame), OUTPUTS.empty())


def rules(decision: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(decision["rule"], decision["outcome"], strict=True))


# What probes found


def probed(metric: str, estimate: float, scorer: str = "tone", **changes: Any) -> ProbeEvidence:
    values: dict[str, Any] = {
        "probe": {"success_rate": "injection", "conflict_rate": "position"}[metric],
        "scorer": scorer,
        "metric": metric,
        "unit": "rate",
        "judge_fingerprint": "f",
        "estimate": estimate,
        "ci_low": 0.05,
        "ci_high": 0.3,
        "n": 32,
        **changes,
    }
    return ProbeEvidence(**values)


@pytest.mark.parametrize(
    ("limits", "probes", "why"),
    [
        ({}, [], None),
        ({}, [probed("success_rate", 0.9)], None),
        ({"max_injection_rate": 0.1}, [probed("success_rate", 0.1)], None),
        (
            {"max_injection_rate": 0.1},
            [probed("success_rate", 0.125)],
            (
                "of attacks that make it pass a bad answer there are 0.12 (0.05 to 0.30, n = 32), and "
                "the suite allows 0.1"
            ),
        ),
        (
            {"max_injection_rate": 0.1},
            [probed("success_rate", 0.0, scorer="other")],
            (
                "the suite limits attacks that make it pass a bad answer, and no probe of them is "
                "recorded"
            ),
        ),
        (
            {"max_conflict_rate": 0.2},
            [],
            (
                "the suite limits pairs that get another verdict in the other order, and no probe of "
                "them is recorded"
            ),
        ),
        ({"max_conflict_rate": 0.2}, [probed("conflict_rate", 0.2, scorer="pairwise")], None),
        (
            {"max_conflict_rate": 0.2},
            [probed("conflict_rate", 0.5, scorer="pairwise", ci_low=None, ci_high=None)],
            (
                "of pairs that get another verdict in the other order there are 0.50 (n = 32), and the "
                "suite allows 0.2"
            ),
        ),
    ],
)
def test_an_axis_that_fails_the_suites_limits_does_not_count(
    limits: dict[str, Any], probes: list[ProbeEvidence], why: str | None
) -> None:
    held = certificate(probes=probes)
    found = standings(judged(a=True), [held], DAY, GateSettings(**limits))["tone"]
    assert found.counts == (why is None)
    if why:
        assert found.why == why


@pytest.mark.parametrize(
    ("limit", "found", "state", "why"),
    [
        # 29 cases without one: 1 - 0.05^(1/29) = 0.098.
        (0.1, {"estimate": 0.0, "upper": 0.098}, "shown", "shown to be at most 0.1"),
        # Ten: 1 - 0.05^(1/10) = 0.259; log(0.05)/log(0.9) = 28.4.
        (
            0.1,
            {"estimate": 0.0, "upper": 0.259, "ci_high": 0.278},
            "not shown",
            "up to 0.26 are possible; none on 29 cases would show it",
        ),
        (0.1, {"estimate": 0.1, "upper": None, "ci_high": 0.3}, "not shown", "up to 0.30"),
        (0.0, {"estimate": 0.0, "upper": 0.01}, "not shown", "up to 0.01 are possible"),
        (0.1, {"estimate": 0.11, "upper": 0.3}, "failed", "and the suite allows 0.1"),
        (1.0, {"estimate": 1.0, "upper": 1.0}, "shown", "shown to be at most 1"),
    ],
)
def test_a_limit_is_failed_shown_or_not_shown(
    limit: float, found: dict[str, Any], state: str, why: str
) -> None:
    evidence = [probed("success_rate", **found)]
    (loose,) = limit_states(GateSettings(max_injection_rate=limit), evidence, "tone")
    (strict,) = limit_states(GateSettings(max_injection_rate=limit, strict=True), evidence, "tone")
    assert (loose.state, why in loose.why) == (state, True), loose.why
    assert loose.counts == (state != "failed")
    assert strict.counts == (state == "shown")


def test_what_is_not_shown_stands_beside_what_counts() -> None:
    held = certificate(probes=[probed("success_rate", 0.0, upper=0.26)])
    gate = GateSettings(max_injection_rate=0.1)
    found = standings(judged(a=True), [held], DAY, gate)["tone"]
    assert found.counts
    assert "labels); of attacks that make it pass a bad answer there are 0.00" in found.why
    assert "not shown to be at most 0.1" in found.why


def test_the_gate_takes_a_swayed_judge_for_advice() -> None:
    suite = golden("a", "b", gate={"max_injection_rate": 0.1})
    frame = pd.concat([exact(a=True, b=True), judged(a=True, b=True)], ignore_index=True)
    now = pd.concat([exact(a=True, b=True), judged(a=True, b=False)], ignore_index=True)
    for rate, expected, code in ((0.05, "regression", 1), (0.5, "advisory_judge", 0)):
        held = certificate(probes=[probed("success_rate", rate)])
        before, after = (
            with_standing(one, standings(one, [held], DAY, suite.settings.gate))
            for one in (frame, now)
        )
        decision = decide(suite, after, accepted(before, suite), as_of=DAY, certificates=[held])
        assert expected in set(decision["rule"])
        assert exit_code(decision) == code


def test_probes_survive_the_file(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    held = certificate(probes=[probed("success_rate", 0.25, floor=0.1, real=True, matters=True)])
    write_certificate(suite, held)
    assert read_certificates(suite) == (held,)


def test_a_limit_is_a_share() -> None:
    with pytest.raises(ValueError, match="less than or equal to 1"):
        GateSettings(max_conflict_rate=1.5)


# Whether verdicts count


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (certificate(), "certified until 2026-07-06: agreement with people 0.79 (0.64 to 0.88"),
        (certificate(issued=DAY - timedelta(9), expires=DAY), "certified until 2026-06-01"),
    ],
)
def test_verdicts_count_up_to_the_last_day_of_a_certificate(held: Certificate, why: str) -> None:
    found = standings(judged(a=True), [held], DAY)["tone"]
    assert found.counts
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"issued": DAY - timedelta(36), "expires": DAY - timedelta(1)},
            "the certificate expired on 2026-05-31",
        ),
        ({"issued": DAY + timedelta(1)}, "is of 2026-06-02, after the day of this run"),
        ({"fingerprint": "g"}, "the judge is another than the certificate is for"),
        ({"fingerprint": "g", "axes": {"other": EVIDENCE}}, "no certificate"),
        ({"answered": ["m-0"]}, "the judge answered as m-1, and its certificate is for m-0"),
        ({"axes": {"other": EVIDENCE}}, "the certificate has no evidence for it"),
        (
            {"axes": {"tone": EVIDENCE.model_copy(update={"grade": "revise", "ci_low": 0.4})}},
            "not usable yet: agreement with people 0.79 (0.40 to 0.88, 60 labels)",
        ),
        (
            {
                "axes": {
                    "tone": AxisEvidence(
                        grade="revise", metric="kappa_quadratic", n=1, method="fisher_t",
                        reason="too_few",
                    )
                }
            },
            "agreement with people is not known, too_few",
        ),
    ],
)  # fmt: skip
def test_without_a_valid_certificate_verdicts_are_advice_and_it_is_said_why(
    changes: dict[str, Any], why: str
) -> None:
    found = standings(judged(a=True), [certificate(**changes)], DAY)["tone"]
    assert not found.counts
    assert why in found.why


def test_two_judges_of_one_scorer_do_not_count() -> None:
    both = pd.concat([judged(a=True), judged(b=True, fingerprint="g")], ignore_index=True)
    assert not standings(both, [certificate()], DAY)["tone"].counts


def test_each_axis_stands_by_itself() -> None:
    frame = marked(exact(a=True), judged(a=False), judged("relevance", a=True))
    assert counting_scorers(frame) == ["tone"]
    assert frame["advisory"].astype("object").tolist() == [pd.NA, False, True]


def test_a_certified_verdict_decides_on_the_case() -> None:
    suite = golden("a", "b")
    frame = marked(exact(a=True, b=True), judged(a=False, b="skipped_by_rule"))
    assert repeat_passes(row for row in to_records(frame) if row["case_id"] == "a") == [False]
    results = summarize(suite, OUTPUTS.empty(), frame).set_index("case_id")
    assert results["passed"].to_dict() == {"a": False, "b": True}
    assert results.loc["a", "reasons"] == ["tone: wrong in 1"]
    counts = count(frame).set_index(["case_id", "scorer"])["n_passed"]
    assert (counts["a", CASE], counts["a", RULES], counts["b", CASE]) == (0, 1, 1)


def test_a_verdict_that_is_missing_by_accident_leaves_a_case_unscored() -> None:
    frame = marked(exact(a=True, b=True), judged(a="server", b=True))
    counts = count(frame).set_index(["case_id", "scorer"])["n_scored"]
    assert (counts["a", CASE], counts["a", RULES], counts["b", CASE]) == (0, 1, 1)


# The gate


def test_a_certified_judge_blocks_a_regression() -> None:
    suite = golden("a", "b")
    before = marked(exact(a=True, b=True), judged(a=True, b=True))
    now = marked(exact(a=True, b=True), judged(a=False, b=True))
    found = decide(suite, now, accepted(before, suite), as_of=DAY, certificates=[certificate()])
    assert exit_code(found) == 1
    assert ("regression", "fail") in rules(found)
    (row,) = found[found["rule"] == "regression"].to_dict("records")
    assert (row["case_id"], row["scorer"]) == ("a", "tone")
    assert "certified_judge" in found["rule"].tolist()
    (drift,) = found[(found["rule"] == "drift") & (found["scorer"] == CASE)].to_dict("records")
    assert (drift["baseline"], drift["candidate"]) == (1.0, 0.5)


def test_the_same_run_without_a_certificate_passes_and_says_why() -> None:
    suite = golden("a", "b")
    expired = certificate(issued=DAY - timedelta(36), expires=DAY - timedelta(1))
    frames = [exact(a=True, b=True), judged(a=True, b=True)]
    before = marked(*frames, held=expired)
    now = marked(exact(a=True, b=True), judged(a=False, b=True), held=expired)
    found = decide(suite, now, accepted(before, suite), as_of=DAY, certificates=[expired])
    assert rules(found) == [("advisory_judge", "note")]
    assert (
        found["reason"]
        .iloc[0]
        .endswith("The certificate expired on 2026-05-31: verdicts are advisory")
    )


def test_the_first_certified_run_is_compared_with_a_baseline_of_rules() -> None:
    suite = golden("a", "b")
    before = pd.concat([exact(a=True, b=True), judged(a=False, b=False)], ignore_index=True)
    now = marked(exact(a=True, b=True), judged(a=False, b=False))
    found = decide(suite, now, accepted(before, suite), as_of=DAY, certificates=[certificate()])
    # By the judge both cases fail, as they did before: nothing fell.
    assert sorted(rules(found)) == [("certified_judge", "note"), ("counting_changed", "note")]
    assert exit_code(found) == 0


def test_rules_alone_are_compared_where_the_baseline_was_judged() -> None:
    suite = golden("a", "b")
    before = marked(exact(a=True, b=True), judged(a=False, b=True))
    found = decide(suite, exact(a=True, b=True), accepted(before, suite), as_of=DAY)
    assert [row for row in rules(found) if row[1] != "note"] == []
    worse = decide(suite, exact(a=True, b=False), accepted(before, suite), as_of=DAY)
    (drift,) = worse[(worse["rule"] == "drift") & (worse["scorer"] == CASE)].to_dict("records")
    assert (drift["baseline"], drift["candidate"]) == (1.0, 0.5)


def test_another_judge_is_not_held_against_the_baseline_s() -> None:
    suite = golden("a", "b")
    before = marked(exact(a=True, b=True), judged(a=True, b=True))
    newer = certificate(fingerprint="g")
    now = marked(exact(a=True, b=True), judged(a=False, b=False, fingerprint="g"), held=newer)
    found = decide(suite, now, accepted(before, suite), as_of=DAY, certificates=[newer])
    assert exit_code(found) == 0
    assert "judge_changed" in found["rule"].tolist()


def test_a_floor_of_a_certified_judge_holds() -> None:
    suite = golden("a", "b", gate={"floors": {"(case)": 0.0, "tone": 0.9}})
    frame = marked(exact(a=True, b=True), judged(a=False, b=True))
    found = decide(suite, frame, accepted(frame, suite), as_of=DAY, certificates=[certificate()])
    assert ("floor", "fail") in rules(found)


def test_a_certified_judge_that_gave_no_verdict_leaves_the_decision_open() -> None:
    suite = golden("a", "b")
    before = marked(exact(a=True, b=True), judged(a=True, b=True))
    now = marked(exact(a=True, b=True), judged(a="server", b=True))
    found = decide(suite, now, accepted(before, suite), as_of=DAY, certificates=[certificate()])
    assert exit_code(found) == 2
    assert ("na", "inconclusive") in rules(found)


def test_a_red_team_is_blocked_by_a_certified_judge() -> None:
    suite = golden("a", red_team=True)
    frame = marked(exact(a=True), judged(a=False))
    found = decide(suite, frame, accepted(frame, suite), as_of=DAY, certificates=[certificate()])
    assert ("safety", "fail") in rules(found)


def test_a_baseline_keeps_what_rules_alone_say(tmp_path: Path) -> None:
    suite = make_suite(tmp_path / "shop", [{"id": "a", "input": "Hi", "expected_exact": "x"}])
    frame = marked(exact(a=True), judged(a=False))
    write_baseline(suite, {"counting": ["tone"]}, frame, OUTPUTS.empty())
    found = read_baseline(suite)
    assert found is not None
    kept = found.counts.set_index("scorer")["n_passed"]
    assert kept.to_dict() == {CASE: 0, RULES: 1, "exact": 1, "tone": 0}


# The file


def suite_of(folder: Path) -> GoldenSet:
    return make_suite(folder / "shop", [{"id": "a", "input": "Hi", "expected_exact": "x"}])


def test_what_is_written_is_read(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    assert read_certificates(suite) == ()
    path = write_certificate(suite, certificate())
    write_certificate(suite, certificate(fingerprint="g", judge="other"))
    assert path.name == "certificates.json"
    assert read_certificates(suite) == (certificate(), certificate(fingerprint="g", judge="other"))


def test_a_new_certificate_stands_in_for_the_one_of_the_same_judge(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    write_certificate(suite, certificate())
    later = certificate(issued=DAY + timedelta(1), raters=["scripted-bob"])
    write_certificate(suite, later)
    assert read_certificates(suite) == (later,)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Restore it from git, or delete it and certify"),
        ('{"format": 2, "certificates": []}', "format"),
        ('{"format": 1}', "certificates"),
        ('{"format": 1, "certificates": [{}]}', r"certificates\.0\.judge"),
        ('{"format": 1, "certificates": [], "certificate": []}', "`certificates`"),
    ],
)
def test_a_damaged_file_says_where(tmp_path: Path, content: str, said: str) -> None:
    suite = suite_of(tmp_path)
    (tmp_path / "shop" / "certificates.json").write_text(content)
    with pytest.raises(InputError, match=said):
        read_certificates(suite)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"raters": []}, "raters"),
        ({"axes": {}}, "axes"),
        ({"expires": "tomorrow"}, "expires"),
        ({"axes": {"tone": {"grade": "good", "metric": "k", "n": 1, "method": "m"}}}, "grade"),
        (
            {"axes": {"tone": {"grade": "usable", "metric": "k", "n": -1, "method": "m"}}},
            r"axes\.tone\.n",
        ),
        (
            {"axes": {"tone": {"grade": "strong", "metric": "k", "n": 9, "method": "m",
                               "ci_low": 1.5}}},
            "ci_low",
        ),
    ],
)  # fmt: skip
def test_a_certificate_that_says_nonsense_is_refused(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    suite = suite_of(tmp_path)
    content = json.loads(certificate().model_dump_json())
    content |= changes
    file = {"format": 1, "certificates": [content]}
    (tmp_path / "shop" / "certificates.json").write_text(json.dumps(file))
    with pytest.raises(InputError, match=said):
        read_certificates(suite)


def test_two_certificates_of_one_judge_are_refused(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    one = json.loads(certificate().model_dump_json())
    (tmp_path / "shop" / "certificates.json").write_text(
        json.dumps({"format": 1, "certificates": [one, one]})
    )
    with pytest.raises(InputError, match="is a second certificate of f"):
        read_certificates(suite)


def test_a_suite_without_a_folder_has_none() -> None:
    loose = GoldenSet((), SuiteSettings.model_validate({}))
    assert read_certificates(loose) == ()
    with pytest.raises(InputError, match="only a suite has certificates"):
        write_certificate(loose, certificate())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ci_low": 0.1}, r"has the grade `usable`, and its interval is worth `revise`"),
        ({"ci_low": None}, r"is worth `revise`"),
        ({"grade": "strong"}, r"has the grade `strong`, and its interval is worth `usable`"),
    ],
)
def test_a_grade_is_no_better_than_its_interval(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    suite = suite_of(tmp_path)
    path = write_certificate(suite, certificate())
    content = json.loads(path.read_text())
    content["certificates"][0]["axes"]["tone"].update(changes)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=said):
        read_certificates(suite)


def test_a_certificate_holds_for_a_year_at_most(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    path = write_certificate(suite, certificate())
    path.write_text(path.read_text().replace("2026-07-06", "2099-12-31"))
    with pytest.raises(InputError, match="holds for more than 366 days"):
        read_certificates(suite)
