from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.frames import Outcome
from evalnb.stats.detectable import (
    detectable_drop_of_flags,
    detectable_drop_of_means,
    detectable_loss_of_cases,
)
from evalnb.stats.drops import DROPS, decide_drops
from evalnb.stats.levels import ALPHA, LIMITS, MARGIN, PHRASES, SCORES
from evalnb.stats.mcnemar import mcnemar
from evalnb.stats.multiplicity import adjusted, reachable
from evalnb.stats.sign_flip import sign_flip


def pairs(
    now: list[Any], before: list[Any] | None = None, *, repeats: int = 3, **columns: Any
) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "case_id": [f"c{number}" for number in range(len(now))],
            "cluster": None,
            "scorer": "exact",
            "slice": "all",
            "baseline": before if before is not None else [1.0] * len(now),
            "candidate": now,
            "repeats": repeats,
        }
    )
    return frame.assign(**columns)


def test_the_levels_add_up() -> None:
    assert pytest.approx(ALPHA) == SCORES + PHRASES + LIMITS


def test_means_are_compared_by_sign_flips_and_flags_by_mcnemar() -> None:
    now = [2 / 3] * 4 + [1.0] * 8
    row = decide_drops(pairs(now)).loc[0]
    assert row["p_value"] == pytest.approx(1 / 16)
    assert row["method"] == "sign flip, exact; t"
    assert row["compared"] == "case means of 3 repeats"
    flags = [0.0] * 5 + [1.0] * 7
    row = decide_drops(pairs(flags, repeats=1)).loc[0]
    assert row["p_value"] == pytest.approx(mcnemar(0, 5, alternative="less"))
    assert row["p_value"] == pytest.approx(1 / 64)  # mid-p: half of 1/32
    assert row["method"] == "mcnemar mid_p; tango"
    assert row["compared"] == "pass flags of 1 repeat"


def test_a_drop_must_be_shown_and_large_enough() -> None:
    lost = decide_drops(pairs([0.5] * 6 + [1.0] * 6)).loc[0]
    assert (lost["outcome"], lost["shown"]) == (Outcome.FAIL, True)
    # The same pattern of signs, but the mean falls by 0.01.
    trifle = decide_drops(pairs([0.98] * 6 + [1.0] * 6)).loc[0]
    assert trifle["p_value"] == lost["p_value"]
    assert trifle["outcome"] == Outcome.PASS
    chance = decide_drops(pairs([0.5] * 2 + [1.0] * 10)).loc[0]
    assert (chance["outcome"], chance["shown"]) == (Outcome.PASS, False)
    assert decide_drops(pairs([0.5] * 2 + [1.0] * 10), strict=True).loc[0, "outcome"] == (
        Outcome.INCONCLUSIVE
    )


def test_a_pass_is_shown_by_its_bound() -> None:
    same = decide_drops(pairs([1.0] * 400)).loc[0]
    assert (same["outcome"], same["shown"], same["p_value"]) == (Outcome.PASS, True, 1.0)
    # No case of 12 lost: up to 1 - 0.05^(1/12) = 0.22 of them could be.
    few = decide_drops(pairs([1.0] * 12)).loc[0]
    assert few["bound"] == pytest.approx(-(1 - 0.05 ** (1 / 12)))
    assert not few["shown"]
    assert few["reason"] == "no_variance"


def test_small_slices_are_shown_and_take_nothing_from_the_level() -> None:
    whole = pairs([2 / 3] * 6 + [1.0] * 6)
    small = whole.head(7).assign(slice="language=de")
    frame = decide_drops(pd.concat([whole, small]))
    assert frame["outcome"].tolist() == [Outcome.FAIL, Outcome.NOTE]
    assert frame["reason"].tolist()[1] == "too_few"
    assert frame["p_adjusted"].isna().tolist() == [False, True]
    assert frame["p_adjusted"].tolist()[0] == frame["p_value"].tolist()[0]
    assert frame.loc[1, "estimate"] == pytest.approx(-2 / 7)


def test_slices_that_could_show_nothing_take_nothing_from_the_level() -> None:
    whole = pairs([2 / 3] * 6 + [1.0] * 6)
    # Of the last eight cases two differ: p is 1/4 at the least.
    frame = decide_drops(pd.concat([whole, whole.tail(8).assign(slice="language=de")]))
    assert frame["p_value"].tolist() == [1 / 64, 1 / 4]
    assert frame["p_adjusted"].tolist() == [1 / 64, 1.0]
    assert frame["outcome"].tolist() == [Outcome.FAIL, Outcome.PASS]


def test_the_same_scores_are_one_test() -> None:
    one = pairs([2 / 3] * 6 + [1.0] * 6)
    frame = decide_drops(pd.concat([one, one.assign(scorer="(case)"), one.assign(slice="x=1")]))
    assert frame["p_adjusted"].tolist() == frame["p_value"].tolist() == [1 / 64] * 3


def test_what_is_missing_is_left_out_and_counted() -> None:
    frame = decide_drops(pairs([None] * 3 + [1.0] * 9))
    assert frame[["n", "n_left_out"]].to_numpy().tolist() == [[9, 3]]
    nothing = decide_drops(pairs([None] * 3)).loc[0]
    assert (nothing["outcome"], nothing["reason"], nothing["n"]) == (Outcome.NOTE, "no_overlap", 0)


def test_clusters_are_the_unit() -> None:
    now = [0.5] * 8 + [1.0] * 8
    alone = decide_drops(pairs(now)).loc[0]
    together = decide_drops(pairs(now, cluster=[f"k{n // 4}" for n in range(16)])).loc[0]
    assert alone["p_value"] == pytest.approx(1 / 256)
    assert together["p_value"] == pytest.approx(1 / 4)
    assert together["n_clusters"] == 4
    assert together["warnings"] == ["few_clusters"]
    assert together["compared"] == "case means of 3 repeats, in 4 clusters"
    flags = decide_drops(
        pairs([0.0] * 8 + [1.0] * 8, repeats=1, cluster=[f"k{n // 4}" for n in range(16)])
    ).loc[0]
    assert flags["method"] == "sign flip, exact; t over clusters"


@given(st.integers(0, 2**32 - 1))
def test_several_are_adjusted_by_holm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        pairs(list(rng.integers(0, 4, 12) / 3), list(rng.integers(0, 4, 12) / 3), scorer=name)
        for name in ("a", "b", "c")
    ]
    frame = DROPS.check(decide_drops(pd.concat(parts)))
    alone = [
        sign_flip((part["candidate"] - part["baseline"]).to_numpy("float64")).p_less
        for part in parts
    ]
    assert frame["p_value"].tolist() == pytest.approx(alone)
    differ = [int((part["candidate"] != part["baseline"]).sum()) for part in parts]
    near = reachable([0.5**count for count in differ], level=SCORES)
    holm = adjusted([p if is_near else None for p, is_near in zip(alone, near, strict=True)])
    assert frame["p_adjusted"].tolist() == pytest.approx(holm["p_adjusted"].fillna(1).tolist())
    shuffled = decide_drops(pd.concat(parts).sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(
        frame, shuffled.sort_values("scorer", ignore_index=True), check_dtype=False
    )


def test_a_drop_said_to_be_detectable_is_detected() -> None:
    rng = np.random.default_rng(5)
    n, variance = 60, 0.07
    drop = detectable_drop_of_means(variance, n, alpha=0.05, margin=0.02, power=0.8)
    assert drop is not None
    found = [
        sign_flip(d, draws=1_000).p_less <= 0.05 and d.mean() <= -0.02
        for d in rng.normal(-drop, variance**0.5, (400, n))
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_a_detectable_drop_of_flags_is_detected() -> None:
    rng = np.random.default_rng(5)
    drop = detectable_drop_of_flags(6, 60, alpha=0.05, margin=0.02, power=0.8)
    assert drop is not None
    counts = rng.multinomial(60, [0.05, 0.05 + drop, 0.9 - drop], size=3_000)
    found = [mcnemar(int(a), int(b), alternative="less") <= 0.05 for a, b, _ in counts]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


def test_nothing_is_detectable_in_too_few() -> None:
    limits: dict[str, Any] = {"alpha": 0.05, "margin": 0.02, "power": 0.8}
    assert detectable_drop_of_means(0.07, 1, **limits) is None
    assert detectable_drop_of_flags(0, 0, **limits) is None
    # 4 lost of 4 have p = 1/16.
    assert detectable_loss_of_cases(4, **limits) is None
    assert detectable_loss_of_cases(5, **limits) == pytest.approx(0.8 ** (1 / 5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": -0.1}, r"`margin` must be in \[0, 1\)\. Got -0\.1"),
        ({"alpha": 0.0}, r"`alpha` must lie between 0 and 1\. Got 0\.0"),
    ],
)
def test_bad_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decide_drops(pairs([1.0] * 9), **changes)


def test_bad_scores_are_named() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1\. Got 4"):
        decide_drops(pairs([4.0] * 9))
    with pytest.raises(ValueError, match="must have a number of `repeats`"):
        decide_drops(pairs([1.0] * 9, repeats=0))
    with pytest.raises(ValueError, match=r"need a `slice` in each row\. Got NA"):
        decide_drops(pairs([1.0] * 9, slice=None))
    assert MARGIN == 0.02
