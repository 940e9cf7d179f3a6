"""What a comparison comes to, in sentences: plain text, not escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.baseline import CASE
from evalnb.findings import SUITE
from evalnb.frames import to_records
from evalnb.reports.numbers import count, difference, interval, p_value, rate
from evalnb.reports.pairs import preference_sentence, strength_sentences
from evalnb.reports.text import listing, one_line

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    import pandas as pd

    from evalnb.comparing import Comparison, Several
    from evalnb.phrases import PhraseStudy

__all__ = [
    "behind_sentences",
    "behind_words",
    "describe_comparison",
    "describe_several",
    "drop_sentences",
    "phrases_caption",
]

_LEVEL = 0.05
_NAMES = {
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cost_usd": "cost",
    "latency_ms": "latency",
}

Row = dict[str, Any]


def describe_comparison(comparison: Comparison) -> list[str]:
    """Say what is known of two sides and what is not.

    Parameters
    ----------
    comparison : any

    Returns
    -------
    sentences, the answer to "is it better" first
        What counts as known has p at most 0.05 after Holm, of phrases after Benjamini and Hochberg.
    """
    a, b = one_line(comparison.a.name), one_line(comparison.b.name)
    if comparison.is_same:
        same = count(comparison.n_answers, "answer")
        return [f"No difference: {a} and {b} gave the same {same}, and they were scored alike."]
    if not comparison.n_answers:
        return [f"Nothing can be compared: {a} and {b} have no answer to the same case."]
    n_answers = count(comparison.n_answers, "answer")
    return [
        _overall(comparison, a, b),
        *_preference(comparison, a, b),
        *_scorers(comparison),
        *_phrases(comparison),
        *_shifts(comparison),
        *_usage(comparison),
        f"{comparison.n_same:,} of {n_answers} are the same to the letter.",
    ]


def describe_several(several: Several) -> list[str]:
    """Say what is known of two sides or more and what is not.

    Parameters
    ----------
    several : any

    Returns
    -------
    sentences: of more than two sides, how they rank and whether they pass the same cases, then
    each other one beside the first under its names
    """
    first, *others = several.sides
    if len(others) == 1:
        return describe_comparison(several.comparisons[0])
    lines = [*_passes(several), *strength_sentences(several.strengths)]
    for other, comparison in zip(others, several.comparisons, strict=True):
        lines.append(f"{one_line(first.name)} beside {one_line(other.name)}:")
        lines += [f"  {line}" for line in describe_comparison(comparison)]
    return lines


def drop_sentences(
    drops: pd.DataFrame, hidden: Container[str] = (), *, limit: int = 5
) -> list[str]:
    """Say where a drop sits, and which cases are behind it.

    Parameters
    ----------
    drops : a drops frame
    hidden : cases that are not named
    limit : how many slices to name
    """
    lines = []
    for row in to_records(drops.head(limit)):
        named = [case_id for case_id in row["case_ids"] if case_id not in hidden]
        cases = f": {listing(named, limit=5)}" if named else ""
        lines.append(
            one_line(
                f"Exploratory: {row['slice']} fell from {rate(row['mean_a'])} to "
                f"{rate(row['mean_b'])}, {_figures(row)}{cases}.",
                limit=500,
            )
        )
    return lines


def behind_sentences(behind: pd.DataFrame, *, limit: int = 5) -> list[str]:
    """Say what lies behind a drop, in the order of a frame of `changes_behind`.

    Parameters
    ----------
    behind : as `evalnb.behind.BEHIND` says
    limit : how many changes to name
    """
    return [
        one_line(
            f"Behind it, {rank}: {behind_words(row)}; {count(row['n_cases'], 'case')}, "
            f"{row['n_worse']} of them worse: {listing(row['case_ids'], limit=3)}.",
            limit=500,
        )
        for rank, row in enumerate(to_records(behind.head(limit)), 1)
    ]


def behind_words(row: Mapping[str, Any]) -> str:
    """Return what changed, in words; what it quotes is untrusted."""
    if row["kind"] == "tool call":
        return str(row["what"])
    said = [f'"{one_line(text, limit=80)}"' for text in (row.get("before"), row.get("now")) if text]
    name = "the answer to " if row["kind"] == "answer" else "phrase "
    return f"{name}{row['what']}: {' → '.join(said)}"


def phrases_caption(study: PhraseStudy) -> str:
    """Say how many phrases were tried, and what could have been seen."""
    text = (
        f"{count(study.n_tried, 'phrase')} tried over {count(study.n_cases, 'case')}"
        f" × {count(study.n_repeats, 'repeat')}; at most {study.level:.0%} of those found are "
        "expected to be chance."
    )
    if study.n_left_out:
        text += f" {count(study.n_left_out, 'case')} left out, which one side has no answer to."
    if study.smallest_rate is None:
        return f"{text} There are too few cases for any wording to be told apart from chance."
    return (
        f"{text} A new wording is found in 8 of 10 runs from {study.smallest_rate:.0%} of the "
        "answers on; a rarer one could have been missed."
    )


def _overall(comparison: Comparison, a: str, b: str) -> str:
    rows = to_records(comparison.scores)
    whole = next((row for row in rows if row["scorer"] == CASE and row["slice"] == SUITE), None)
    if whole is None or "estimate" not in whole:
        return "Nothing was scored on both sides, so which of them is better is not known."
    figures = f"{rate(whole['mean_a'])} to {rate(whole['mean_b'])}, {_figures(whole)}"
    if whole.get("p_adjusted", 1.0) <= _LEVEL:
        better = b if whole["estimate"] > 0 else a
        return f"{better} passes more cases: from {a} to {b} the pass rate goes from {figures}."
    text = f"No difference in pass rate is shown: {figures}."
    if "ci_low" not in whole:
        return text
    return (
        f"{text} A drop of up to {rate(max(-whole['ci_low'], 0.0))} or a gain of up to "
        f"{rate(max(whole['ci_high'], 0.0))} could have been missed."
    )


def _preference(comparison: Comparison, a: str, b: str) -> Iterator[str]:
    if len(comparison.pairs):
        yield preference_sentence(comparison.pairs, a, b)


def _passes(several: Several) -> Iterator[str]:
    whole, *pairs = to_records(several.passes)
    figures = p_value(whole["p_value"]) if "p_value" in whole else "not known"
    yield (
        f"{count(len(several.sides), 'side')} over {count(whole['n'], 'case')} that all of them "
        f"scored: that they pass the same ones, {figures} (Cochran's Q)."
    )
    for row in _known(pairs):
        worse, better = (row["b"], row["a"]) if row["estimate"] < 0 else (row["a"], row["b"])
        yield one_line(
            f"{better} passes more cases than {worse}: {difference(abs(row['estimate']))}, "
            f"{p_value(row['p_adjusted'])}.",
            limit=500,
        )


def _figures(row: Mapping[str, Any]) -> str:
    parts = [difference(row["estimate"])]
    if "ci_low" in row:
        parts.append(f"({interval(row['ci_low'], row['ci_high'])})")
    text = " ".join(parts)
    if "p_adjusted" in row:
        text += f", {p_value(row['p_adjusted'])}"
    left_out = f", {row['n_left_out']:,} left out" if row.get("n_left_out") else ""
    return f"{text}, {count(row['n'], 'case')}{left_out}"


def _known(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("p_adjusted", 1.0) <= _LEVEL]


def _scorers(comparison: Comparison) -> Iterator[str]:
    for row in _known(to_records(comparison.scores)):
        if row["scorer"] == CASE and row["slice"] == SUITE:
            continue
        what = "The pass rate of cases" if row["scorer"] == CASE else f"The mean of {row['scorer']}"
        where = "" if row["slice"] == SUITE else f" in {row['slice']}"
        how = "rises" if row["estimate"] > 0 else "falls"
        yield one_line(f"{what}{where} {how}: {_figures(row)}.", limit=500)


def _phrases(comparison: Comparison) -> Iterator[str]:
    rows = to_records(comparison.phrases.changes)
    if not rows:
        yield f"No wording changed by more than chance: {phrases_caption(comparison.phrases)}"
        return
    said = [
        f'"{row["phrase"]}" → "{row["replaced_by"]}"'
        if row["change"] == "replaced"
        else f'"{row["phrase"]}" {row["change"]} ({rate(row["rate_a"])} → {rate(row["rate_b"])})'
        for row in rows
    ]
    yield one_line(f"{count(len(rows), 'wording')} changed: {listing(said, limit=5)}.", limit=1_000)
    yield phrases_caption(comparison.phrases)


def _shifts(comparison: Comparison) -> Iterator[str]:
    for row in _known(to_records(comparison.shifts)):
        if row["metric"] == "length_ratio":
            yield f"Answers are {rate(row['estimate'])} times as long{_within(row)}."
        elif row["metric"] != "characters":
            what = row["metric"].replace("=", " ").replace("_", " ")
            yield (
                f"The share of answers with {one_line(what)} goes from {rate(row['mean_a'])} to "
                f"{rate(row['mean_b'])}, {_figures(row)}."
            )


def _usage(comparison: Comparison) -> Iterator[str]:
    for row in to_records(comparison.usage):
        if "estimate" not in row:
            yield f"No case has its {_NAMES[row['metric']]} on both sides."
        elif "recorded" in row.get("warnings", []):
            yield (
                f"The recorded {_NAMES[row['metric']]} is {rate(row['estimate'])} times as high; "
                "recordings of two days say little about the systems."
            )
        elif row.get("p_adjusted", 1.0) <= _LEVEL:
            yield (
                f"{_NAMES[row['metric']].capitalize()}: {rate(row['estimate'])} times as "
                f"{'high' if row['metric'] in ('cost_usd', 'latency_ms') else 'many'}"
                f"{_within(row)}, {count(row['n'], 'case')}."
            )


def _within(row: Mapping[str, Any]) -> str:
    return f" ({interval(row['ci_low'], row['ci_high'])})" if "ci_low" in row else ""
