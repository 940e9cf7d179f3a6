"""What a suite holds, and what it lacks: `evalnb check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import CASE
from evalnb.frames import to_records
from evalnb.scorers import SCORERS
from evalnb.scoring import case_scorers, scorer_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalnb.baseline import Baseline
    from evalnb.cases import Case
    from evalnb.golden import GoldenSet

__all__ = ["overview", "suite_warnings"]

_WANTED_TAGS = ("adversarial", "refusal", "incident")
_MINUTES = 5
_SECONDS_PER_ANSWER = 5
_CONCURRENCY = 8


def overview(golden: GoldenSet) -> pd.DataFrame:
    """Count the cases of a suite.

    Parameters
    ----------
    golden : the cases

    Returns
    -------
    field, value, n : a row a value of `category`, `language`, `tags`, `split` and `scorer`
        Cases without a value count under "(none)"; a case counts once for each of its tags and
        scorers.
    """
    counts: dict[tuple[str, str], int] = {}
    for field in ("category", "language", "tags", "split", "scorer"):
        found: dict[str, int] = {}
        for case in golden:
            values = case_scorers(golden, case) if field == "scorer" else _values(case, field)
            for value in values:
                found[value] = found.get(value, 0) + 1
        counts |= {(field, value): found[value] for value in sorted(found)}
    rows = [(field, value, n) for (field, value), n in counts.items()]
    frame = pd.DataFrame(rows, columns=["field", "value", "n"])
    return frame.astype({"field": "string", "value": "string", "n": "Int64"})


def suite_warnings(golden: GoldenSet, baseline: Baseline | None) -> list[str]:
    """Say what a suite lacks; none of it stops a run.

    Parameters
    ----------
    golden : the cases
    baseline : of the suite, None before the first

    Returns
    -------
    one sentence each
    """
    return [
        *_missing_tags(golden),
        *_too_large(golden),
        *_nothing_to_lose(golden, baseline),
    ]


def _missing_tags(golden: GoldenSet) -> Iterable[str]:
    present = {tag for case in golden for tag in case.tags or ()}
    for tag in _WANTED_TAGS:
        if tag not in present:
            yield f"no case is tagged `{tag}`: add at least one"


def _too_large(golden: GoldenSet) -> Iterable[str]:
    answers = len(golden) * golden.settings.repeats
    minutes = answers * _SECONDS_PER_ANSWER / _CONCURRENCY / 60
    if minutes > _MINUTES:
        yield (
            f"{answers:,} answers take about {minutes:.0f} minutes live (at {_SECONDS_PER_ANSWER} s "
            f"each, {_CONCURRENCY} at once): split the suite, or run it at night"
        )


def _nothing_to_lose(golden: GoldenSet, baseline: Baseline | None) -> Iterable[str]:
    """Find scorers and languages of which nothing passes, so that no drop can be seen."""
    if baseline is None:
        yield "there is no baseline yet: run the suite, then `evalnb baseline accept`"
        return
    passing = {
        (row["case_id"], row["scorer"]) for row in to_records(baseline.counts) if row["n_passed"]
    }
    groups: dict[tuple[str, str], bool] = {}
    for case in golden:
        language = ("language", case.language or "(none)")
        groups[language] = groups.get(language, False) or (case.id, CASE) in passing
        for expectation, name in scorer_names(case).items():
            if expectation in SCORERS:
                scorer = ("scorer", name)
                groups[scorer] = groups.get(scorer, False) or (case.id, name) in passing
    for (field, value), any_passes in groups.items():
        if not any_passes:
            yield f"nothing passes in the baseline for {field} `{value}`: no drop can be seen there"


def _values(case: Case, field: str) -> list[str]:
    value = getattr(case, field)
    if value is None:
        return ["(none)"]
    return list(dict.fromkeys(value)) if isinstance(value, list) else [value]
