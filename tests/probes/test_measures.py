"""Effects and decisions on small frames whose answers are worked out by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.probes import PROBE_EFFECTS, PROBE_VERDICTS, PROBES, probe_effects
from evalnb.probes.decisions import decided_row
from evalnb.probes.measures import Measure
from evalnb.stats.estimates import wilson


def verdict(item: str, variant: str, value: float | None, **given: Any) -> dict[str, Any]:
    """Return a row of what a judge of answers said on a scale from 1 to 5."""
    role = {"unchanged": "unchanged"}.get(variant, "changed")
    return {
        "judge": "axes",
        "judge_fingerprint": "f",
        "probe": "formatting",
        "case_id": item,
        "variant": variant,
        "family": variant,
        "role": role,
        "scorer": "tone",
        "judge_repeat": 1,
        "value": value,
        "low": 1,
        "high": 5,
        "passed": None if value is None else value >= 4,
        "na_reason": "server" if value is None else None,
        **given,
    }


def effects(*rows: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the effects of verdicts by variant and metric."""
    found = probe_effects(PROBE_VERDICTS.build(rows)).to_dict("records")
    return {(row["variant"], row["metric"]): row for row in found}


def test_a_shift_is_held_against_what_mere_repeats_do() -> None:
    found = effects(
        *(verdict("a", "unchanged", 3), verdict("a", "unchanged", 4, judge_repeat=2)),
        *(verdict("a", "list", 5), verdict("a", "bold", 3)),
        *(verdict("b", "unchanged", 2), verdict("b", "unchanged", 2, judge_repeat=2)),
        *(verdict("b", "list", 4), verdict("b", "bold", None)),
        *(verdict("c", "unchanged", None), verdict("c", "unchanged", 1, judge_repeat=2)),
        *(verdict("c", "list", 4), verdict("c", "bold", 4)),
    )
    shift = found["all", "shift"]
    # a: (2 + 0)/2 = 1, floor 1; b: 2 alone, floor 0; c has no first verdict.
    assert (shift["estimate"], shift["floor"], shift["net"]) == (1.5, 0.5, 1.0)
    assert (shift["n"], shift["n_left_out"], shift["n_failed"]) == (2, 1, 2)
    assert found["list", "shift"]["estimate"] == 2
    # a passes once of twice with a change and fails without; b passes once as a list.
    assert found["all", "flip_rate"]["estimate"] == 0.75


def test_a_line_through_the_origin_says_what_a_doubling_does() -> None:
    rows = []
    for item, slope in (("a", 0.5), ("b", 1.0)):
        rows.append(verdict(item, "unchanged", 1, probe="verbosity"))
        rows += [
            verdict(
                item, f"padded x{2**n}", 1 + slope * n, probe="verbosity", family="padded", dose=n
            )
            for n in (1, 2)
        ]
    found = effects(*rows)["padded", "per_doubling"]
    # Sum of d s over sum of d^2: (0.5 + 2 + 1 + 4) / (1 + 4 + 1 + 4) = 0.75.
    assert found["estimate"] == pytest.approx(0.75)
    # Pulls of the clusters are -1.25 and 1.25; se = sqrt(2 * 2 * 1.5625) / 10 = 0.25; t(1) = 12.7062.
    assert found["ci_high"] - found["estimate"] == pytest.approx(12.7062 * 0.25, rel=1e-4)


def test_an_attack_is_held_against_its_twin() -> None:
    rows = []
    for number, (attacked, twin) in enumerate([(5, 1), (5, 1), (4, 4), (1, 1)]):
        item = f"c{number}"
        shared = {"probe": "injection", "family": "command"}
        rows += [
            verdict(item, "unchanged", 1, probe="injection"),
            verdict(item, "command", attacked, **shared),
            verdict(item, "command twin", twin, **shared, role="control"),
        ]
    found = effects(*rows)
    success = found["all", "success_rate"]
    assert (success["estimate"], success["floor"], success["net"]) == (0.75, 0.25, 0.5)
    expected = wilson(3, 4)
    assert (success["ci_low"], success["ci_high"]) == (expected.ci_low, expected.ci_high)
    # Two of two discordant pairs one way: 2 of the 4 patterns of signs are as far from 0.
    assert success["p"] == 0.5
    assert found["command", "shift"]["estimate"] == (4 + 4 + 3 + 0) / 4


def test_above_the_lowest_level_one_slip_is_no_habit() -> None:
    rows = []
    for number in range(10):
        item = f"c{number}"
        rows.append(verdict(item, "unchanged", 4, probe="floor"))
        rows.append(verdict(item, "empty", 2 if number == 0 else 1, probe="floor"))
    found = effects(*rows)["all", "above_lowest"]
    assert found["estimate"] == 0.1
    # At least 1 of 10 at a rate of 0.05: 1 - 0.95^10.
    assert found["p"] == pytest.approx(1 - 0.95**10)
    assert not found["real"]


def pair(item: str, order: str, better: str | None, repeat: int = 1) -> dict[str, Any]:
    return verdict(
        item,
        order,
        None,
        probe="position",
        scorer="pairwise",
        role="unchanged",
        judge_repeat=repeat,
        better=better,
        na_reason=None if better else "server",
    )


def test_positions_are_told_by_both_orders() -> None:
    # First place twice, the same answer by content, second twice, unread.
    said = {"p": ("first", "first"), "q": ("first", "second"), "r": ("second", "second"),
            "s": ("first", None), "t": ("tie", "first")}  # fmt: skip
    found = effects(
        *(
            pair(item, order, better)
            for item, both in said.items()
            for order, better in zip(("ab", "ba"), both, strict=True)
        ),
        *(pair("p", order, "second", 2) for order in ("ab", "ba")),
    )
    net = found["all", "net_first_preference"]
    assert (net["estimate"], net["n"], net["n_left_out"]) == ((1 + 0 - 1 + 1) / 4, 4, 1)
    conflicts = found["all", "conflict_rate"]
    assert conflicts["estimate"] == 3 / 4
    assert conflicts["floor"] == 1  # p alone was asked again, and said another thing in both orders


def test_several_answers_of_one_item_count_by_what_they_tell() -> None:
    def row(items: list[str], hits: list[int]) -> dict[str, Any]:
        units = pd.DataFrame({"item": items, "effect": hits}).astype(
            {"item": "string", "effect": "Float64"}
        )
        return decided_row(Measure("all", "rate", "rate", units, low=0.0, high=1.0))

    alike = row(list("aaabbbcccddd"), [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0])
    four = wilson(2, 4)
    assert (alike["ci_low"], alike["ci_high"]) == pytest.approx((four.ci_low, four.ci_high))
    mixed = row(list("aaabbbcccddd"), [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0])
    twelve = wilson(4, 12)
    assert (mixed["ci_low"], mixed["ci_high"]) == pytest.approx((twelve.ci_low, twelve.ci_high))


def test_nothing_known_is_too_few_and_nothing_varying_has_no_interval() -> None:
    found = effects(verdict("a", "unchanged", None), verdict("a", "list", 3))
    assert found["list", "shift"]["reason"] == "too_few"
    same = effects(
        *(verdict(item, "unchanged", 3) for item in "abc"),
        *(verdict(item, "list", 4) for item in "abc"),
    )["list", "shift"]
    assert (same["estimate"], same["reason"]) == (1, "no_variance")
    assert pd.isna(same["ci_low"])


@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.integers(1, 5)) for _ in range(3)]),
        min_size=1,
        max_size=12,
    )
)
def test_any_verdicts_give_effects_within_the_scale(said: list[tuple[int | None, ...]]) -> None:
    rows = [
        row
        for number, (first, again, changed) in enumerate(said)
        for row in (
            verdict(f"c{number}", "unchanged", first),
            verdict(f"c{number}", "unchanged", again, judge_repeat=2),
            verdict(f"c{number}", "list", changed),
        )
    ]
    found = PROBE_EFFECTS.check(probe_effects(PROBE_VERDICTS.build(rows)))
    for row in found.to_dict("records"):
        known = not pd.isna(row["estimate"])
        assert known == (row["n"] > 0)
        assert row["n"] + row["n_left_out"] == len(said)
        if known:
            assert abs(row["estimate"]) <= (4 if row["unit"] == "level" else 1)
        if not pd.isna(row["ci_low"]):
            assert row["ci_low"] <= row["estimate"] + 1e-9 <= row["ci_high"] + 2e-9
        if not pd.isna(row["p"]):
            assert 0 < row["p"] <= 1
        assert pd.isna(row["matters"]) or not row["matters"] or row["real"]


def test_every_probe_of_the_package_gives_advice() -> None:
    assert all(probe.advice for probe in PROBES.values())
