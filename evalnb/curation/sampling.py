"""Which outputs people rate: a sample whose chances are known, so that figures can be weighted.

Chance follows from the seed and from what an output is, not from the order of rows: another
machine draws the same, and with a larger `n` a random sample only grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evalnb.curation.lots import lot
from evalnb.errors import InputError, nearest_name
from evalnb.frames import FrameSchema, to_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["SAMPLES", "By", "Sample", "sample_for_rating"]

By: TypeAlias = Literal["random", "judge_score"]

SAMPLES = FrameSchema(
    "samples",
    {
        "case_id": "string",
        "repeat": "Int64",
        "output_hash": "string",
        "stratum": "string",
        "probability": "Float64",
        "order": "Int64",
    },
    key=("case_id", "output_hash"),
)
"""A row an output that was drawn.

`stratum` is the judge's level, `all` in a random sample; `probability` is the chance that an
output of the stratum had of being drawn, number drawn by number there; `order` counts from 1.
"""

_TAKEN = ("case_id", "repeat", "output_hash", "stratum", "probability")
_ALL = "all"
_LEAST = 5


@dataclass(frozen=True)
class Sample:
    """Outputs that were drawn for rating.

    Attributes
    ----------
    drawn : a samples frame, in the order of drawing
    run_id : of the outputs; None where they say none
    seed, by, scorer : how it was drawn
    strata : stratum to how many there were to draw from
    n_outputs : how many outputs were given
    n_missing : how many of them are NA
    n_equal : how many are equal to another output of their case
    n_unscored : how many the judge said nothing of; they are left out where its score decides
    """

    drawn: pd.DataFrame
    run_id: str | None
    seed: int
    by: By
    scorer: str | None
    strata: Mapping[str, int]
    n_outputs: int
    n_missing: int
    n_equal: int
    n_unscored: int = 0

    @property
    def n(self) -> int:
        """How many were drawn."""
        return len(self.drawn)


def sample_for_rating(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    n: int,
    by: By = "random",
    scorer: str | None = None,
    seed: int = 0,
) -> Sample:
    """Draw outputs for people to rate.

    Parameters
    ----------
    outputs : an outputs frame
        Equal outputs of a case are one; those that are NA are left out and counted.
    scores : a scores frame; its rules and judges matter only to `by`
    n : how many are drawn; all, where there are not so many
    by : {"random", "judge_score"}
        Whether all have the same chance, or every level that the judge gave gets a share: of
        each level at least 5 as far as there are so many and `n` allows it, the rest in
        proportion, by largest remainders.
    scorer : whose score, such as `rubric` or an axis; may be left out where one judge scored
    seed : another one is another draw

    Returns
    -------
    a `Sample`

    Raises
    ------
    InputError
        If nothing can be drawn, the judge is not known, or `n` is less than the levels that occur.

    Examples
    --------
    >>> from evalnb.frames import OUTPUTS, SCORES
    >>> outputs = OUTPUTS.build(
    ...     {"case_id": f"case-{k}", "repeat": 1, "output_hash": f"{k}"} for k in range(40)
    ... )
    >>> sample = sample_for_rating(outputs, SCORES.empty(), n=10)
    >>> len(sample.drawn), float(sample.drawn["probability"][0])
    (10, 0.25)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1. Got {n}.")
    if by not in ("random", "judge_score"):
        raise ValueError(f"by must be 'random' or 'judge_score'. Got {by!r}.")
    rows = to_records(outputs)
    there = [row for row in rows if "na_reason" not in row and "output_hash" in row]
    distinct = _distinct(there)
    if by == "judge_score":
        scorer = _judge(scores, scorer)
        levels = _levels(scores, scorer)
        strata = [levels.get((row["case_id"], row["repeat"])) for row in distinct]
    else:
        scorer = None
        strata = [_ALL] * len(distinct)
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row, stratum in zip(distinct, strata, strict=True):
        if stratum is not None:
            groups.setdefault(stratum, []).append(row)
    sizes = {name: len(groups[name]) for name in sorted(groups, key=_as_number)}
    if not sizes:
        raise InputError("there is nothing to draw from: no output is there" + _with_score(scorer))
    drawn = [
        {**row, "stratum": name, "probability": count / sizes[name]}
        for name, count in _allotted(n, sizes).items()
        for row in sorted(groups[name], key=lambda row: _lot(seed, "drawn", row))[:count]
    ]
    drawn.sort(key=lambda row: _lot(seed, "order", row))
    return Sample(
        drawn=SAMPLES.build(
            {name: row[name] for name in _TAKEN} | {"order": order}
            for order, row in enumerate(drawn, 1)
        ),
        run_id=next((row["run_id"] for row in rows if "run_id" in row), None),
        seed=seed,
        by=by,
        scorer=scorer,
        strata=sizes,
        n_outputs=len(rows),
        n_missing=len(rows) - len(there),
        n_equal=len(there) - len(distinct),
        n_unscored=strata.count(None),
    )


def _distinct(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep one of the equal outputs of a case, that of the lowest repeat."""
    kept: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["case_id"], row["repeat"])):
        kept.setdefault((row["case_id"], row["output_hash"]), row)
    return list(kept.values())


def _judge(scores: pd.DataFrame, scorer: str | None) -> str:
    """Return whose scores count."""
    judges = sorted(set(scores.loc[scores["tier"].eq("judge").fillna(value=False), "scorer"]))
    if scorer is None and len(judges) == 1:
        return str(judges[0])
    if scorer in judges:
        return str(scorer)
    if not judges:
        raise InputError(
            "no judge scored these outputs, so that no level is known: take a run of the tier "
            "`full`, or draw at random"
        )
    if scorer is None:
        raise InputError(f"several judges scored: say with `scorer` which of {', '.join(judges)}")
    near = nearest_name(scorer, judges)
    hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(judges)}."
    raise InputError(f"no judge gave a score {scorer!r}. {hint}")


def _levels(scores: pd.DataFrame, scorer: str) -> dict[tuple[str, int], str]:
    """Return the level that each output was given, where it was given one."""
    rows = to_records(scores[scores["scorer"].eq(scorer).fillna(value=False)])
    return {
        (row["case_id"], row["repeat"]): f"{row.get('raw_value', row['value']):g}"
        for row in rows
        if "value" in row and "na_reason" not in row
    }


def _allotted(n: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Share out `n` over strata: a few to each, then in proportion by largest remainders."""
    n = min(n, sum(sizes.values()))
    if n < len(sizes):
        raise InputError(
            f"{len(sizes)} levels occur and only {n} outputs are to be drawn: draw at least one "
            "of each"
        )
    least = min(_LEAST, n // len(sizes))
    shares = {name: min(least, size) for name, size in sizes.items()}
    if rest := n - sum(shares.values()):
        room = {name: sizes[name] - share for name, share in shares.items() if share < sizes[name]}
        whole = sum(room.values())
        exact = {name: rest * left / whole for name, left in room.items()}
        for name in exact:
            shares[name] += int(exact[name])
        over = n - sum(shares.values())
        by_remainder = sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name))
        for name in by_remainder[:over]:
            shares[name] += 1
    return shares


def _lot(seed: int, what: str, row: Mapping[str, Any]) -> float:
    return lot(seed, what, row["case_id"], row["output_hash"])


def _as_number(stratum: str) -> tuple[float, str]:
    return (0.0, stratum) if stratum == _ALL else (float(stratum), stratum)


def _with_score(scorer: str | None) -> str:
    return "" if scorer is None else f" with a score of {scorer!r}"
