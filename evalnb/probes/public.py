"""What is known of public judges: place, length, their own kind, and how often they waver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.datasets import (
    load_judge_repeats,
    load_llmbar,
    load_llmbar_published,
    load_position_study,
    load_triviaqa,
)
from evalnb.frames import to_records
from evalnb.probes.decisions import decided_row
from evalnb.probes.effects import adjusted_rows
from evalnb.probes.frames import PROBE_EFFECTS
from evalnb.probes.measures import ALL, Measure, units_of
from evalnb.stats.length_control import length_controlled_win_rate
from evalnb.stats.position_countings import accuracy_in_both_orders, consistency_countings
from evalnb.stats.repetition import repetition_by_item
from evalnb.stats.win_rates import win_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OWN_FAMILIES", "public_countings", "public_effects", "public_win_rates"]

OWN_FAMILIES = {"GPT-4": "gpt-4", "Llama3-70B": "llama2", "Mistral-7B": "mistral"}
"""Judges of TriviaQA's answers, and how the names of their own family's models begin."""

_BENCHMARKS = {"mtbench": "MT-Bench", "devbench": "DevBench"}
_PLAIN_PROMPT = "Vanilla_NoRules"
_CONSISTENT_VERDICTS = {
    "gpt-4-0613": 0.8154,
    "gpt-3.5-turbo-0125": 0.7580,
    "claude-3-haiku-20240307": 0.2275,
}
"""What the position study's own logs print."""
_PLACE = {"A": 1.0, "B": -1.0, "C": 0.0}

Found = tuple[str, Measure]


def public_effects() -> pd.DataFrame:
    """Say what sways judges of public data, by the same rules as for a suite's own.

    Returns
    -------
    a frame of probe effects; `scorer` is the data, and judges have no fingerprint
        *MT-Bench, DevBench* (Shi et al.): `repetition`, and `position` over both orders; questions
        are the items, and the floor is how often three repeats of one order differ, on the pairs
        that were repeated. *LLMBar*: `position` without a floor of its conflicts, since nothing was
        repeated; `length_preference`, whose floor is people's preference for the longer answer of
        the same pairs. *TriviaQA*: `self_preference`, by question the share of wrong answers of the
        judge's own family that it passes, minus that of other families.

    References
    ----------
    Shi et al. (2024), arXiv:2406.07791; Zeng et al. (2024), arXiv:2310.07641; Thakur et al. (2024),
    arXiv:2406.12624.
    """
    groups: dict[tuple[str, str], list[Found]] = {}
    for judge, data, found in (*_position_study(), *_llmbar(), *_triviaqa()):
        groups.setdefault((judge, data), []).append(found)
    return PROBE_EFFECTS.build(
        row
        for (judge, data), found in groups.items()
        for row in adjusted_rows(
            [
                {"judge": judge, "scorer": data, "probe": probe, "n_failed": 0}
                | decided_row(measure)
                for probe, measure in found
            ]
        )
    )


def public_countings() -> pd.DataFrame:
    """Return published figures of both orders, counted as their authors do and as we do.

    Returns
    -------
    data, judge, prompt, metric, published, as_published, ours, n, n_left_out : 319 rows
        LLMBar's 316 figures of 79 runs, whose authors count an unread verdict as wrong and two
        unread ones as equal; the position study's shares of consistent verdicts. `ours` leaves out
        what was unread: `n` pairs are left, `n_left_out` are not.
    """
    published = load_llmbar_published().set_index(["subset", "judge", "strategy"])
    rows = []
    for key, run in load_llmbar().groupby(["subset", "judge", "strategy"], sort=False):
        subset, judge, prompt = map(str, key)
        printed = published.loc[[(subset, judge, prompt)]].iloc[0]
        found = accuracy_in_both_orders(run["verdict_ab"], run["verdict_ba"], run["label"])
        by_metric = {row["metric"]: row for row in to_records(found)}
        rows += [
            {
                "data": f"LLMBar {subset}",
                "judge": judge,
                "prompt": prompt,
                "metric": metric,
                "published": printed[metric],
                "as_published": by_metric[f"{metric}_unread_wrong"]["estimate"],
                **_counted(by_metric[metric]),
            }
            for metric in ("accuracy_ab", "accuracy_ba", "accuracy_both", "position_agreement")
        ]
    for key, run in load_position_study().groupby(["benchmark", "judge"], sort=False):
        benchmark, judge = map(str, key)
        found = consistency_countings(run["first_order"], run["second_order"])
        by_metric = {row["metric"]: row for row in to_records(found)}
        rows.append(
            {
                "data": _BENCHMARKS[benchmark],
                "judge": judge,
                "metric": "consistency",
                "published": _CONSISTENT_VERDICTS[judge],
                "as_published": by_metric["consistency_of_verdicts"]["estimate"],
                **_counted(by_metric["consistency"]),
            }
        )
    figures = dict.fromkeys(["published", "as_published", "ours"], "Float64")
    counts = dict.fromkeys(["n", "n_left_out"], "Int64")
    names = dict.fromkeys(["data", "judge", "prompt", "metric"], "string")
    return pd.DataFrame(rows, columns=[*names, *figures, *counts]).astype(
        {**names, **figures, **counts}
    )


def public_win_rates(n_opponents: int = 6) -> pd.DataFrame:
    """Return how often Vicuna-13B's answers on MT-Bench beat others, raw and corrected.

    Parameters
    ----------
    n_opponents : how many of 30 models, those whose answers differ most in length from Vicuna's

    Returns
    -------
    opponent, words, n, first_order, both_orders, length_controlled, and the last two's ci_low, ci_high
        By gpt-4-0613. `words` is by how many words Vicuna's answers are longer on average;
        `first_order` counts the order that shows Vicuna first; `both_orders` takes a win that depends
        on the order for a tie; `length_controlled` is that win rate at equal length, NA where
        length cannot be told from preference.
    """
    study = load_position_study()
    study = study[study["benchmark"] == "mtbench"]
    longer = (study["words_1"] - study["words_2"]).groupby(study["model_2"]).mean()
    chosen = longer.abs().sort_values(ascending=False, kind="stable").index[:n_opponents]
    rows = [
        {"opponent": name, "words": longer[name], **_win_rates(study[study["model_2"] == name])}
        for name in chosen
    ]
    return pd.DataFrame(rows).convert_dtypes()


def _win_rates(run: pd.DataFrame) -> dict[str, Any]:
    first, second = run["first_order"].map(_PLACE), -run["second_order"].map(_PLACE)
    both = (first.where(first == second, 0) + 1).div(2).mask(first.isna() | second.isna())
    controlled = length_controlled_win_rate(both, run["words_1"] - run["words_2"])
    (corrected,) = win_rate(both).query("metric == 'win_rate'").to_dict("records")
    (level,) = controlled.query("metric == 'length_controlled_win_rate'").to_dict("records")
    return {
        "n": corrected["n"],
        "first_order": (first.mean() + 1) / 2,
        "both_orders": corrected["estimate"],
        "both_orders_low": corrected["ci_low"],
        "both_orders_high": corrected["ci_high"],
        "length_controlled": level["estimate"],
        "length_controlled_low": level["ci_low"],
        "length_controlled_high": level["ci_high"],
    }


def _counted(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"ours": row["estimate"], "n": row["n"], "n_left_out": row["n_left_out"]}


def _position_study() -> Iterator[tuple[str, str, Found]]:
    repeats = load_judge_repeats()
    for (benchmark, judge), run in load_position_study().groupby(
        ["benchmark", "judge"], sort=False
    ):
        data = _BENCHMARKS[str(benchmark)]
        mine = (repeats["benchmark"] == benchmark) & (repeats["judge"] == judge)
        flips = _flips(repeats[mine])
        yield str(judge), data, ("repetition", _repetition(flips))
        floor = _floors(run, flips)
        first, second = (run[name].map(_PLACE) for name in ("first_order", "second_order"))
        for measure in _both_orders(run["question_id"], first, second, floor):
            yield str(judge), data, ("position", measure)


def _flips(repeats: pd.DataFrame) -> pd.DataFrame:
    """Return how often repeats differ, by question and the models in the order shown."""
    flips = repetition_by_item(repeats)
    parts = flips["item"].str.rsplit(";", n=2, expand=True)
    return flips.assign(question=parts[0], first=parts[1], second=parts[2])


def _repetition(flips: pd.DataFrame) -> Measure:
    units = units_of(flips["question"], flips["self_flip"])
    return Measure(ALL, "self_flip_rate", "rate", units, headline=True, low=0.0, high=1.0)


def _floors(run: pd.DataFrame, flips: pd.DataFrame) -> pd.Series:
    """Return the mean self-flip rate of a pair's two orders, NA where it was not repeated."""
    known = flips.set_index(["question", "first", "second"])["self_flip"]
    orders = [("model_1", "model_2"), ("model_2", "model_1")]
    sides = [
        known.reindex(pd.MultiIndex.from_frame(run[["question_id", *names]])).to_numpy()
        for names in orders
    ]
    return pd.Series(sides[0] + sides[1], dtype="Float64") / 2


def _llmbar() -> Iterator[tuple[str, str, Found]]:
    verdicts = load_llmbar()
    for judge, run in verdicts[verdicts["strategy"] == _PLAIN_PROMPT].groupby("judge", sort=False):
        items = run["subset"] + " " + run["item"].astype("string")
        ab, ba = _sign(run["verdict_ab"]), -_sign(run["verdict_ba"])
        for measure in _both_orders(items, ab, ba):
            yield str(judge), "LLMBar", ("position", measure)
        longer = _sign((run["chars_1"] > run["chars_2"]).map({True: 1, False: 2}))
        longer = longer.mask(run["chars_1"] == run["chars_2"])
        units = units_of(items, (ab - ba) / 2 * longer, _sign(run["label"]) * longer)
        preference = Measure(ALL, "longer_preference", "rate", units, True, -1.0, 1.0)
        yield str(judge), "LLMBar", ("length_preference", preference)


def _triviaqa() -> Iterator[tuple[str, str, Found]]:
    ratings = load_triviaqa()
    passed = ratings.set_index(["item", "rater"])["value"].unstack("rater")  # noqa: PD010
    about = ratings.drop_duplicates("item").set_index("item")[["cluster", "system"]]
    rated = about.join(passed)
    wrong = rated[rated["people"] == 0]
    for judge, family in OWN_FAMILIES.items():
        is_own = wrong["system"].str.lower().str.startswith(family)
        own, other = (
            rows.groupby("cluster", sort=False)[judge].mean()
            for rows in (wrong[is_own], wrong[~is_own])
        )
        questions = own.index.union(other.index, sort=False)
        apart = own.reindex(questions) - other.reindex(questions)
        units = units_of(questions, apart)
        measure = Measure(ALL, "wrong_own_passed", "rate", units, True, -1.0, 1.0)
        yield judge, "TriviaQA", ("self_preference", measure)


def _both_orders(
    items: pd.Series, first: pd.Series, second: pd.Series, floor: Any = pd.NA
) -> Iterator[Measure]:
    """Yield net preference and conflicts; sides are 1 where the first place wins, -1 the second."""
    sides = [pd.Series(side.to_numpy("float64", na_value=float("nan"))) for side in (first, second)]
    unread = sides[0].isna() | sides[1].isna()
    both = (sides[0] + sides[1]).clip(-1, 1)
    conflicts = (sides[0] != -sides[1]).astype("Float64").mask(unread)
    yield Measure(
        ALL, "net_first_preference", "rate", units_of(items, both), True, low=-1.0, high=1.0
    )
    units = units_of(items, conflicts).assign(floor=pd.Series(floor, range(len(items)), "Float64"))
    yield Measure(ALL, "conflict_rate", "rate", units, low=0.0, high=1.0)


def _sign(answer: pd.Series) -> pd.Series:
    """Return 1 for answer 1, -1 for answer 2, NA for none."""
    return answer.map({1: 1.0, 2: -1.0}).astype("Float64")
