"""Verdicts in both orders as their authors count them: what becomes of those that were unread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.stats.effects import EFFECTS, check_lengths, rate_row
from evalnb.stats.paired_intervals import tango_interval
from evalnb.stats.position import POSITIONS
from evalnb.stats.values import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["accuracy_in_both_orders", "consistency_countings", "position_table"]

_OTHER = {"A": "B", "B": "A", "C": "C"}


def consistency_countings(
    first_order: Sequence[Any] | pd.Series, second_order: Sequence[Any] | pd.Series
) -> pd.DataFrame:
    """Return the consistency of a judge over both orders, by each way to count unread verdicts.

    Parameters
    ----------
    first_order, second_order : A, B, C by position as in `evalnb.stats.position`, NA where unread

    Returns
    -------
    an effects frame with Wilson intervals; NA `too_few` where nothing can be counted
        `consistency`: our own, of the pairs whose verdicts were both read. `consistency_of_all`: of
        all pairs, a pair with an unread verdict is not consistent (MT-Bench).
        `consistency_unread_equal`: of all pairs, two unread verdicts are consistent, one is not
        (LLMBar). `consistency_of_verdicts`: of all verdicts that were read, two a pair, and one
        whose mirror was unread is consistent (Shi et al.); its interval, on so many verdicts as if
        each was a pair, is too narrow: warning `not_independent`.

    Raises
    ------
    ValueError
        If lengths differ or a verdict is none of A, B, C and NA.

    References
    ----------
    Zheng et al. (2023), arXiv:2306.05685; Zeng et al. (2024), arXiv:2310.07641; Shi et al. (2024),
    arXiv:2406.07791.

    Examples
    --------
    >>> found = consistency_countings(["A", "A", None, None], ["B", "A", "A", None])
    >>> found["estimate"].tolist()
    [0.5, 0.25, 0.5, 0.6]
    """
    check_lengths(first_order=first_order, second_order=second_order)
    pairs = list(zip(_read(first_order), _read(second_order), strict=True))
    known = [(one, two) for one, two in pairs if one is not None and two is not None]
    agree = sum(two == _OTHER[one] for one, two in known)
    n, n_known = len(pairs), len(known)
    neither = sum(one is None and two is None for one, two in pairs)
    single = n - n_known - neither
    verdicts = rate_row(
        "consistency_of_verdicts", 2 * agree + single, 2 * n_known + single, 2 * neither + single
    )
    return EFFECTS.build(
        [
            rate_row("consistency", agree, n_known, n - n_known),
            rate_row("consistency_of_all", agree, n),
            rate_row("consistency_unread_equal", agree + neither, n),
            verdicts | {"warnings": ["not_independent"]},
        ]
    )


def accuracy_in_both_orders(
    verdict_ab: Sequence[Any] | pd.Series,
    verdict_ba: Sequence[Any] | pd.Series,
    correct: Sequence[Any] | pd.Series,
) -> pd.DataFrame:
    """Return how often a judge is right in each order and in both, by two ways of counting.

    Parameters
    ----------
    verdict_ab, verdict_ba : the answer that won in either order, named; NA where unread
        The same answer has the same name in both.
    correct : the answer that should win, NA where that is not known

    Returns
    -------
    an effects frame with Wilson intervals
        `accuracy_ab`, `accuracy_ba`: right in one order. `accuracy`: the mean of the two.
        `accuracy_both`: right in both. `position_agreement`: the same answer won in both. An unread
        verdict is NA and left out of what needs it. The same names ending in `_unread_wrong` count
        over all pairs, an unread verdict being wrong and equal to another unread one, as the
        authors of LLMBar do. Pairs without a `correct` answer are left out throughout.

    Raises
    ------
    ValueError
        If lengths differ.

    References
    ----------
    Zeng et al. (2024), Evaluating Large Language Models at Evaluating Instruction Following,
    arXiv:2310.07641.

    Examples
    --------
    >>> found = accuracy_in_both_orders([1, 1, None], [1, 2, None], [1, 1, 2]).set_index("metric")
    >>> found["estimate"].round(3)[["accuracy_both", "accuracy_both_unread_wrong"]].tolist()
    [0.5, 0.333]
    >>> found["estimate"].round(3)["position_agreement_unread_wrong"].item()
    0.667
    """
    check_lengths(verdict_ab=verdict_ab, verdict_ba=verdict_ba, correct=correct)
    columns = {"ab": verdict_ab, "ba": verdict_ba, "correct": correct}
    frame = pd.DataFrame({name: pd.Series(list(c), dtype="object") for name, c in columns.items()})
    labelled = frame[frame["correct"].notna()]
    missing = labelled[["ab", "ba"]].isna().to_numpy()
    right = np.column_stack([_equal(labelled[side], labelled["correct"]) for side in ("ab", "ba")])
    equal = _equal(labelled["ab"], labelled["ba"])
    either, none = missing.any(axis=1), missing.all(axis=1)
    hits = {
        "accuracy_ab": (right[:, 0], missing[:, 0]),
        "accuracy_ba": (right[:, 1], missing[:, 1]),
        "accuracy": (right.mean(axis=1), either),
        "accuracy_both": (right.all(axis=1), either),
        "position_agreement": (equal, either),
    }
    without = len(frame) - len(labelled)
    ours = [
        rate_row(name, float(hit[~gone].sum()), int((~gone).sum()), int(gone.sum()) + without)
        for name, (hit, gone) in hits.items()
    ]
    hits["position_agreement"] = (equal | none, either)
    theirs = [
        rate_row(f"{name}_unread_wrong", float(hit.sum()), len(labelled), without)
        for name, (hit, _) in hits.items()
    ]
    return EFFECTS.build([*ours, *theirs])


def position_table(
    consistent: int, biased_first: int, biased_second: int, error: int = 0
) -> pd.DataFrame:
    """Return the rates of a published table of position bias.

    Parameters
    ----------
    consistent, biased_first, biased_second, error : numbers of pairs
        `error` counts those without two verdicts.

    Returns
    -------
    rows `consistency`, `biased_first`, `biased_second`, `error`, `net_first_preference`
        An effects frame. Rates are of all pairs with errors, as such tables count them, and have
        Wilson intervals; the net preference leaves errors out, with Tango's interval.

    Raises
    ------
    ValueError
        If a count is no whole number.

    References
    ----------
    Zheng et al. (2023), arXiv:2306.05685, table of position bias.

    Examples
    --------
    >>> position_table(52, 24, 4)["estimate"].tolist()
    [0.65, 0.3, 0.05, 0.0, 0.25]
    """
    named = {
        "consistency": consistent,
        "biased_first": biased_first,
        "biased_second": biased_second,
        "error": error,
    }
    counts = {name: check_count(count, name) for name, count in named.items()}
    planned = sum(counts.values())
    n = planned - counts["error"]
    net = {
        "metric": "net_first_preference",
        **vars(tango_interval(counts["biased_first"], counts["biased_second"], n)),
        "n": n,
        "n_left_out": counts["error"],
        "method": "tango",
        "reason": None if n else "too_few",
    }
    return EFFECTS.build([*(rate_row(name, count, planned) for name, count in counts.items()), net])


def _read(verdicts: Sequence[Any] | pd.Series) -> list[Any]:
    found = [None if pd.isna(verdict) else verdict for verdict in verdicts]
    wrong = [verdict for verdict in found if verdict is not None and verdict not in POSITIONS]
    if wrong:
        raise ValueError(f"a verdict must be A, B, C, or NA where unread. Got {wrong[0]!r}.")
    return found


def _equal(one: pd.Series, other: pd.Series) -> np.ndarray:
    """Return where two columns name the same answer, an unread verdict being like no other."""
    return np.array(
        [not pd.isna(x) and not pd.isna(y) and x == y for x, y in zip(one, other, strict=True)],
        dtype=bool,
    )
