"""Putting shards together again, before the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.errors import InputError, Problem
from evalnb.frames import MISSES, OUTPUTS, PAIRS, SCORES, VERDICTS
from evalnb.runs import Scored
from evalnb.shard_files import made_of, read_shard
from evalnb.shards import Shard, shard_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evalnb.frames import FrameSchema
    from evalnb.golden import GoldenSet
    from evalnb.shard_files import WrittenShard

__all__ = ["joined", "merge_shards"]

_OF_THE_RUN = ("system", "system_fingerprint", "mode", "tier", "repeats", "judge_repeats")
"""What all parts of a run have in common, beside the suite."""

_SUMMED = ("n_responses_resumed", "n_journal_lines_unreadable", "budget_usd")
_SHOWN = 5


def merge_shards(golden: GoldenSet, folders: Sequence[Path], *, run_id: str) -> Scored:
    """Read all shards of a run and put them together.

    Parameters
    ----------
    golden : the suite as it is now
    folders : of the shards, in any order
    run_id : name of the whole run

    Returns
    -------
    what was answered and scored, as if one machine had run the suite
        A request that is made in a thread without the context of its case counts with the shard
        that it was made in.

    Raises
    ------
    InputError
        With all that is wrong: a shard that is damaged, missing, there twice, of other cases, of
        another suite than it is now, or of another system, mode or tier than the first.
    """
    shards: list[WrittenShard] = []
    problems: list[Problem] = []
    for folder in folders:
        try:
            shards.append(read_shard(folder))
        except InputError as error:
            problems += error.problems
    if shards and not problems:
        problems += _other_suites(golden, shards)
        problems += _unlike_the_first(shards)
        problems += _numbering(golden, shards)
        problems = problems or [*_other_cases(golden, shards)]
    if problems or not shards:
        raise InputError("the shards cannot be merged", problems)
    shards.sort(key=lambda shard: shard.shard)
    return joined(golden, [shard.scored for shard in shards], run_id=run_id)


def joined(golden: GoldenSet, parts: Sequence[Scored], *, run_id: str) -> Scored:
    """Put parts of a run together; no case is in two of them.

    Parameters
    ----------
    golden : the suite
    parts : at least one, of the same system, mode, tier and repeats
    run_id : name of the whole run

    Returns
    -------
    with all rows in the order of the cases; a cassette is unused where no part asked for it
    """
    first = parts[0].about
    totals = {name: _total(part.about.get(name) for part in parts) for name in _SUMMED}
    unused = set(parts[0].unused_cassettes).intersection(*(part.unused_cassettes for part in parts))
    asked_nothing = {case_id for part in parts for case_id in part.without_requests}
    pairs = [part.pairs for part in parts if part.pairs is not None]
    return Scored(
        {
            **first,
            **totals,
            "run_id": run_id,
            "started_at": min(part.about["started_at"] for part in parts),
            "shards": [part.about["run_id"] for part in parts],
        },
        outputs=_in_order(golden, OUTPUTS, [part.outputs for part in parts], run_id),
        scores=_in_order(golden, SCORES, [part.scores for part in parts], run_id),
        verdicts=_in_order(golden, VERDICTS, [part.verdicts for part in parts], run_id),
        misses=_in_order(golden, MISSES, [_counted_anew(parts)]),
        unused_cassettes=sorted(unused),
        without_requests=[case.id for case in golden if case.id in asked_nothing],
        pairs=_in_order(golden, PAIRS, pairs) if pairs else None,
    )


def _in_order(
    golden: GoldenSet, schema: FrameSchema, frames: Sequence[pd.DataFrame], run_id: str = ""
) -> pd.DataFrame:
    whole = [frame for frame in frames if len(frame)]
    if not whole:
        return schema.empty()
    rows = pd.concat(whole, ignore_index=True)
    position = {case.id: number for number, case in enumerate(golden)}
    order = rows["case_id"].map(position).astype("Int64").fillna(len(position))
    rows = rows.iloc[order.argsort(kind="stable")]
    if run_id:
        rows = rows.assign(run_id=pd.Series(run_id, index=rows.index, dtype="string"))
    return schema.check(rows)


def _counted_anew(parts: Sequence[Scored]) -> pd.DataFrame:
    """Return all misses; those of no case are numbered over all parts."""
    frames = [part.misses for part in parts if len(part.misses)]
    if not frames:
        return MISSES.empty()
    rows = pd.concat(frames, ignore_index=True)
    of_none = rows["case_id"].isna()
    numbers = rows[of_none].groupby(["key", "repeat"], sort=False).cumcount() + 1
    return rows.assign(occurrence=rows["occurrence"].mask(of_none, numbers.astype("Int64")))


def _total(values: Iterator[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if present else None


def _other_suites(golden: GoldenSet, shards: Sequence[WrittenShard]) -> Iterator[Problem]:
    now = made_of(golden)
    for shard in shards:
        yield from _differences(shard, shard.made_of, now, "the suite is now at")


def _unlike_the_first(shards: Sequence[WrittenShard]) -> Iterator[Problem]:
    first = shards[0]
    common = {name: first.scored.about.get(name) for name in _OF_THE_RUN}
    for shard in shards[1:]:
        yield from _differences(shard, shard.scored.about, common, f"{first.folder} has")
        if shard.shard.of != first.shard.of:
            message = f"is shard {shard.shard}, {first.folder} is {first.shard}."
            yield _problem(shard, message, "Merge shards of one split.")


def _differences(
    shard: WrittenShard, found: Mapping[str, Any], expected: Mapping[str, Any], whose: str
) -> Iterator[Problem]:
    for name, value in expected.items():
        if found.get(name) != value:
            message = f"has {name.replace('_', ' ')} {found.get(name)}, {whose} {value}."
            yield _problem(shard, message, "Run this shard again.")


def _numbering(golden: GoldenSet, shards: Sequence[WrittenShard]) -> Iterator[Problem]:
    seen: dict[Shard, WrittenShard] = {}
    for shard in shards:
        other = seen.setdefault(shard.shard, shard)
        if other is not shard:
            message = f"is shard {shard.shard}, and so is {other.folder}."
            yield _problem(shard, message, "Leave one of them out.")
    of = shards[0].shard.of
    every = [Shard(number + 1, of) for number in range(of)]
    missing = [str(one) for one in every if one not in seen]
    if missing:
        yield Problem(
            golden.settings.name,
            0,
            "",
            f"lacks {len(missing)} of {of} shards: {', '.join(missing)}.",
            "Run them, and name their folders too.",
        )


def _other_cases(golden: GoldenSet, shards: Sequence[WrittenShard]) -> Iterator[Problem]:
    """Find shards whose rows are of other cases than theirs, so that some overlap or lack."""
    of = shards[0].shard.of
    ids: dict[int, list[str]] = {}
    for case in golden:
        ids.setdefault(shard_number(case.id, of), []).append(case.id)
    for shard in shards:
        repeats = range(1, shard.scored.about["repeats"] + 1)
        mine = ids.get(shard.shard.number, [])
        expected = {(case_id, repeat) for case_id in mine for repeat in repeats}
        answered = _pairs(shard.scored.outputs)
        scored = _pairs(shard.scored.scores) | _pairs(shard.scored.verdicts)
        extra, lacking = (answered | scored) - expected, expected - answered
        if extra:
            yield _problem(shard, f"has rows of other shards: {_listed(extra)}.", "Run it again.")
        if lacking:
            yield _problem(shard, f"has no answer of {_listed(lacking)}.", "Run it again.")


def _pairs(frame: pd.DataFrame) -> set[tuple[str, int]]:
    return set(zip(frame["case_id"].tolist(), frame["repeat"].tolist(), strict=True))


def _listed(pairs: set[tuple[str, int]]) -> str:
    names = list(dict.fromkeys(case_id for case_id, _ in sorted(pairs)))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _problem(shard: WrittenShard, message: str, remedy: str) -> Problem:
    return Problem(str(shard.folder), 0, "", message, remedy)
