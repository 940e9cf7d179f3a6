"""What sways a judge, in a terminal."""

from __future__ import annotations

from evalnb.probes import PROBE_VERDICTS
from evalnb.reports.probes import describe_effects
from tests.reports import bias_frames as frames

VERDICTS = PROBE_VERDICTS.build(
    {
        "judge": "axes",
        "probe": "formatting",
        "case_id": case_id,
        "variant": "list",
        "family": "list",
        "role": "changed",
        "scorer": "tone",
        "judge_repeat": 1,
        "request_key": case_id,
        "na_reason": reason,
    }
    for case_id, reason in (("a", None), ("b", "truncated"))
)


def test_each_probe_has_a_line_and_what_matters_has_advice() -> None:
    lines = describe_effects(
        VERDICTS, frames.effects({"n_left_out": 2}, frames.SMALL, frames.NOISE, frames.ABSENT)
    )
    assert lines == [
        "judge axes: 1 verdict, 1 missing (truncated 1), on answers of 2 cases",
        "  tone",
        (
            "    formatting: +0.50 of a level (0.30 to 0.70), without the change +0.02, n = 40 of 42: "
            "MORE THAN NOISE, AND IT MATTERS"
        ),
        (
            "    verbosity: +0.10 of a level (0.30 to 0.70), without the change +0.02, n = 40: more "
            "than noise, too small to matter"
        ),
        (
            "    sycophancy: +0.10 of a level (0.30 to 0.70), without the change +0.02, n = 40: not "
            "shown to be more than noise"
        ),
        "    injection: not known, too few",
        (
            "  formatting: Say in the rubric that a layout earns nothing, or take the marks out before "
            "judging."
        ),
    ]


def test_names_are_one_line_and_advice_of_other_probes_may_be_given() -> None:
    own = frames.effects({"probe": "tone\x1b[31m", "scorer": frames.HOSTILE})
    lines = describe_effects(VERDICTS, own, {"tone\x1b[31m": "Say so.\nAgain."})
    assert not any("\x1b" in line or "\n" in line for line in lines)
    assert lines[-1].endswith("Say so. Again.")
