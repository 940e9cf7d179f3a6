"""The position-bias study: pairs judged in both orders, and the same comparison three times."""

from __future__ import annotations

import pandas as pd

from evalnb.datasets.files import packed_text

__all__ = ["POSITION_RUNS", "REPEAT_RUNS", "load_judge_repeats", "load_position_study"]

POSITION_RUNS = {
    ("mtbench", "gpt-4-0613"): "position_mtbench_gpt-4-0613.csv",
    ("devbench", "gpt-3.5-turbo-0125"): "position_devbench_gpt-3.5-turbo-0125.csv",
    ("devbench", "claude-3-haiku-20240307"): "position_devbench_claude-3-haiku-20240307.csv",
}
"""Benchmark and judge of the comparisons in both orders."""

_JUDGES = (
    "gpt-4-0613",
    "gpt-3.5-turbo-0125",
    "claude-3-opus-20240229",
    "claude-3-haiku-20240307",
)
REPEAT_RUNS = {
    (benchmark, judge): f"repeat_{benchmark}_{judge}.csv"
    for benchmark in ("mtbench", "devbench")
    for judge in _JUDGES
}
"""Benchmark and judge of the comparisons that were repeated."""


def load_position_study() -> pd.DataFrame:
    """Return which of two answers three judges found better, both orders of each pair.

    Returns
    -------
    benchmark, judge, question_id, task, model_1, model_2 : 4,640 rows
        `first_order` has model_1's answer first, `second_order` model_2's. Verdicts are by
        position: A the answer shown first, B the second, C a tie, which MT-Bench alone allows; NA
        where none could be read. `words_1`, `words_2` are the lengths. In DevBench model_1 is a
        person.

    References
    ----------
    Shi et al. (2024), Judging the Judges, arXiv:2406.07791.

    Examples
    --------
    >>> study = load_position_study()
    >>> study.groupby("judge").size().to_dict()["gpt-4-0613"]
    2400
    """
    parts = [
        pd.read_csv(packed_text(name), dtype="string").assign(benchmark=benchmark, judge=judge)
        for (benchmark, judge), name in POSITION_RUNS.items()
    ]
    frame = pd.concat(parts, ignore_index=True)
    names = {"verdict_12": "first_order", "verdict_21": "second_order"}
    columns = (
        *("benchmark", "judge", "question_id", "task", "model_1", "model_2"),
        *("first_order", "second_order", "words_1", "words_2"),
    )
    return (
        frame.rename(columns=names)
        .astype({"benchmark": "string", "judge": "string"})
        .assign(**{name: pd.to_numeric(frame[name]).astype("Int64") for name in columns[-2:]})
        .loc[:, list(columns)]
    )


def load_judge_repeats() -> pd.DataFrame:
    """Return what four judges said of the same comparison, three times each.

    Returns
    -------
    benchmark, judge, item, repeat : 4,032 rows
        `item` is a comparison in one order; `verdict` is by position, A, B or C, NA where none
        could be read: the noise floor under the position study.

    References
    ----------
    Shi et al. (2024), Judging the Judges, arXiv:2406.07791.

    Examples
    --------
    >>> len(load_judge_repeats())
    4032
    """
    parts = [
        pd.read_csv(packed_text(name), dtype="string").assign(benchmark=benchmark, judge=judge)
        for (benchmark, judge), name in REPEAT_RUNS.items()
    ]
    wide = pd.concat(parts, ignore_index=True).rename(columns={"cmp_index": "item"})
    keys = ["benchmark", "judge", "item"]
    long = wide.assign(place=range(len(wide))).melt(
        id_vars=[*keys, "place"], var_name="repeat", value_name="verdict"
    )
    return (
        long.assign(repeat=long["repeat"].str.removeprefix("rep").astype("Int64"))
        .sort_values(["place", "repeat"], ignore_index=True)
        .drop(columns="place")
        .astype(dict.fromkeys([*keys, "verdict"], "string"))
    )
