"""Each probe finds the defect that is planted in a scripted judge, and stays quiet on the others.

24 cases in four languages, what is unchanged judged twice, judges with 2% noise; 20 seeds a judge
and 40 of the clean ones. Power is stated at 90%, the error rate at 5% over all probes of a judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evalnb.probes.decisions import LEVEL, decided_row
from evalnb.probes.effects import probe_effects
from evalnb.probes.loading import PROBES
from evalnb.stats.multiplicity import adjusted
from tests.probes import scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

POWER = 0.9
N_SEEDS, N_CLEAN = 20, 40

DEFECTS: list[tuple[Callable[..., Any], set[str]]] = [
    (scripted.loves_length, {"verbosity"}),
    (scripted.obeys, {"injection"}),
    (scripted.likes_lists, {"formatting"}),
    (scripted.follows, {"sycophancy"}),
    (scripted.generous, {"floor"}),
    (scripted.at_random, {"repetition", "floor"}),
    (scripted.constant, {"floor"}),
]
PAIR_DEFECTS: list[tuple[Callable[..., Any], set[str]]] = [
    (scripted.prefers_first, {"position"}),
    (scripted.prefers_longer, {"length_preference"}),
    (scripted.tosses, set()),
]


def found(verdicts: pd.DataFrame) -> set[str]:
    """Name the probes whose headline is real, as `probe_effects` decides it."""
    names, p_values = [], []
    for name, rows in verdicts.groupby("probe", sort=False):
        headline = next(iter(PROBES[str(name)].measures(rows.reset_index(drop=True))))
        assert headline.headline
        names.append(str(name))
        p_values.append(decided_row(headline)["p"])
    rejected = adjusted(p_values, level=LEVEL)["rejected"].fillna(value=False)
    return {name for name, is_real in zip(names, rejected, strict=True) if is_real}


def shares(runs: list[set[str]]) -> dict[str, float]:
    """Return how often each probe spoke up."""
    return {name: sum(name in run for run in runs) / len(runs) for name in set().union(*runs)}


def check_found(spoke: dict[str, float], planted: set[str]) -> None:
    for name in planted:
        assert spoke[name] >= POWER, spoke
    others = {name: share for name, share in spoke.items() if name not in planted}
    allowed = LEVEL + 2 * scripted.standard_error(LEVEL, N_SEEDS)
    assert all(share <= allowed for share in others.values()), others


@pytest.mark.parametrize(
    ("judge", "planted"), DEFECTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_planted_defect_is_found_and_no_other(
    judge: Callable[..., Any], planted: set[str]
) -> None:
    spoke = shares([found(scripted.levels(judge, seed)) for seed in range(N_SEEDS)])
    check_found(spoke, planted)


@pytest.mark.parametrize(
    ("judge", "planted"), PAIR_DEFECTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_planted_defect_of_a_judge_of_pairs_is_found_and_no_other(
    judge: Callable[..., Any], planted: set[str]
) -> None:
    spoke = shares([found(scripted.preferences(judge, seed)) for seed in range(N_SEEDS)])
    check_found(spoke, planted)


@pytest.mark.parametrize(
    ("say", "judge"),
    [(scripted.levels, scripted.clean), (scripted.preferences, scripted.fair)],
    ids=["answers", "pairs"],
)
def test_a_clean_judge_is_accused_in_one_of_twenty_runs_at_most(
    say: Callable[..., Any], judge: Callable[..., Any]
) -> None:
    runs = [found(say(judge, seed)) for seed in range(N_CLEAN)]
    accused = sum(bool(run) for run in runs) / N_CLEAN
    assert accused <= LEVEL + 2 * scripted.standard_error(LEVEL, N_CLEAN), shares(runs)


def test_a_judge_that_says_one_thing_of_everything_is_warned_of() -> None:
    effects = probe_effects(scripted.levels(scripted.constant, 0))
    assert all("one_category" in warnings for warnings in effects["warnings"])
    by_probe = effects[effects["headline"]].set_index("probe")
    assert by_probe["matters"].to_dict() == {
        "repetition": False,
        "verbosity": False,
        "formatting": False,
        "sycophancy": False,
        "injection": False,
        "floor": True,
    }
    assert by_probe.loc["floor", "estimate"] == 1


def test_attacks_are_found_family_by_family() -> None:
    def obeys_commands(seen: scripted.Seen, rng: Any) -> float:
        return (
            5 if seen.attacked and seen.variant.family == "command" else scripted.clean(seen, rng)
        )

    effects = probe_effects(scripted.levels(obeys_commands, 0, noise=0))
    rates = effects[effects["metric"] == "success_rate"].set_index("variant")["estimate"]
    assert rates["command"] == 1
    assert rates["all"] == 1 / 8
    assert rates.drop(["command", "all"]).eq(0).all()
