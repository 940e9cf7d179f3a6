"""What sways judges, in words: what an effect is, whether it is more than noise, what to change."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from evalnb.probes.self_preference import SelfPreference
from evalnb.reports.numbers import decimal, difference, rate
from evalnb.reports.text import listing, one_line
from evalnb.reports.views import records, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evalnb.probe_evidence import LimitState

__all__ = [
    "VERDICTS",
    "advice_of",
    "bias_caption",
    "counting_caption",
    "effect_groups",
    "effect_value",
    "effect_verdict",
    "limit_caption",
    "study_notes",
    "win_rate_caption",
]

_WIDTH = 100
_MEANINGS = {
    ("position", "net_first_preference"): "prefers the answer shown first (right) or second (left)",
    ("position", "conflict_rate"): "prefers another answer when the two change places",
    (
        "length_preference",
        "longer_preference",
    ): "prefers the longer (right) or the shorter (left) answer",
    ("verbosity", "shift"): "scores higher (right) or lower (left) for empty padding",
    ("formatting", "shift"): "scores higher (right) or lower (left) for a list or bold type",
    ("sycophancy", "shift"): "scores higher where the person calls the answer right than wrong",
    (
        "self_preference",
        "wrong_own_passed",
    ): "passes wrong answers of its own family more often than of others",
    (
        "self_preference",
        "self_preference",
    ): "follows people to its own family's answer more often than to another's",
    ("injection", "success_rate"): "passes a bad answer that tells it to",
    ("floor", "above_lowest"): "scores no answer, or one beside the point, above the lowest level",
    ("repetition", "self_flip_rate"): "says something else when asked the same again",
}
"""What is shown of each probe, in this order; those of a suite's own follow."""
_SIGNED = {"net_first_preference", "longer_preference", "wrong_own_passed", "self_preference"}
VERDICTS = {
    "matters": "more than noise, and it matters",
    "small": "more than noise, too small to matter",
    "noise": "not shown to be more than noise",
    "unknown": "its noise is not known",
}
"""What can be said of an effect, the gravest first."""


def effect_groups(effects: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield what a judge may do, in words, with the effects that say how far judges do it.

    Parameters
    ----------
    effects : a frame of probe effects
        Of each probe its headline is taken, and of positions how often orders conflict.

    Yields
    ------
    a sentence's second half, a frame of probe effects
    """
    shown = effects[effects["headline"] | (effects["metric"] == "conflict_rate")]
    known = [*_MEANINGS]
    pairs = list(dict.fromkeys(zip(shown["probe"], shown["metric"], strict=True)))
    others = [pair for pair in pairs if pair not in _MEANINGS]
    for probe, metric in (*(pair for pair in known if pair in pairs), *others):
        rows = shown[(shown["probe"] == probe) & (shown["metric"] == metric)]
        meaning = _MEANINGS.get((probe, metric), f"{words(probe)}: {words(metric)}")
        yield meaning, rows.reset_index(drop=True)


def effect_verdict(row: Mapping[str, Any]) -> str:
    """Return which of `VERDICTS` an effect earns."""
    if pd.isna(row["real"]):
        return "unknown"
    if not row["real"]:
        return "noise"
    return "matters" if row["matters"] else "small"


def effect_value(row: Mapping[str, Any]) -> str:
    """Return how large an effect is, with its unit where that is no share."""
    if pd.isna(row["estimate"]):
        return "not known"
    if row["unit"] == "level":
        return f"{difference(row['estimate'])} level"
    return (difference if row["metric"] in _SIGNED else rate)(row["estimate"])


def bias_caption(effects: pd.DataFrame, advice: Mapping[str, str]) -> str:
    """Say which effects are more than noise, judge by judge, and what to change.

    Parameters
    ----------
    effects : a frame of probe effects
    advice : probe to what to change where its effect matters
    """
    if effects.empty:
        return "What it shows. No judge was probed.\nWhat to do. Name a suite, or public judges."
    by_verdict: dict[str, dict[str, list[str]]] = {}
    for _, rows in effect_groups(effects):
        for row in records(rows):
            who = by_verdict.setdefault(effect_verdict(row), {})
            who.setdefault(_who(row), []).append(_short(row))
    lines = ["What it shows."]
    for verdict, said in VERDICTS.items():
        if verdict in by_verdict:
            lines.append(f"{said[0].upper()}{said[1:]}:")
            lines += [
                f"- {judge}: {listing(list(dict.fromkeys(found)), limit=12)}"
                for judge, found in by_verdict[verdict].items()
            ]
    constant = [
        _who(row)
        for row in records(effects[effects["headline"]])
        if isinstance(row["warnings"], list) and "one_category" in row["warnings"]
    ]
    for judge in dict.fromkeys(constant):
        lines.append(f"{judge} gives every answer one level: nothing it says means anything.")
    lines += ["What to do.", *(advice_of(effects, advice) or ["Nothing: no effect matters."])]
    return "\n".join(_filled(line) for line in lines)


def advice_of(effects: pd.DataFrame, advice: Mapping[str, str]) -> list[str]:
    """Say what to change, for each probe with an effect that matters, and for whom."""
    known = {SelfPreference.name: SelfPreference.advice, **advice}
    mattering = effects[effects["matters"].fillna(value=False)]
    return [
        f"- {listing(list(dict.fromkeys(map(_who, records(rows)))), limit=6)}, "
        f"{words(probe)}: {known[str(probe)]}"
        for probe, rows in mattering.groupby("probe", sort=False)
        if str(probe) in known
    ]


def counting_caption(countings: pd.DataFrame) -> str:
    """Say what counting unread verdicts does to published figures.

    Parameters
    ----------
    countings : as `evalnb.probes.public_countings` gives it
    """
    if countings.empty:
        return "What it shows. No public judge is shown."
    apart = (countings["as_published"] - countings["published"]).abs().max()
    differs = countings[countings["ours"].round(6) != countings["as_published"].round(6)]
    most = (countings["ours"] - countings["as_published"]).abs().max()
    return "\n".join(
        _filled(line)
        for line in (
            (
                f"What it shows. {len(countings)} published figures come out as their authors count "
                f"(the largest difference is {apart:.1e}, from printed digits). {len(differs)} differ "
                f"where unread verdicts are left out instead, by up to {decimal(most, digits=4)}."
            ),
            "What to do. Trust the figures that leave unread verdicts out, and say how many they are.",
        )
    )


def limit_caption(states: Sequence[LimitState]) -> str:
    """Say what follows from the limits of the suite.

    Parameters
    ----------
    states : as `evalnb.suite_limits` gives them
    """
    if not states:
        lines = [
            "What it shows. The suite limits nothing that probes find.",
            (
                "What to do. Set `max_injection_rate` or `max_conflict_rate` under [gate] in "
                "suite.toml: an axis that exceeds it does not count, however well it agrees with "
                "people."
            ),
        ]
        return "\n".join(map(_filled, lines))
    out = list(dict.fromkeys(one_line(one.scorer) for one in states if not one.counts))
    open_ = [one for one in states if one.state == "not shown"]
    lines = [
        f"What it shows. Limits keep {listing(out)} from counting in the gate."
        if out
        else "What it shows. No limit keeps an axis from counting in the gate."
    ]
    if open_:
        lines.append(
            f"{len(open_)} of {len(states)} limits are kept by what was seen, and not shown to be kept."
        )
    lines.append(
        "What to do. Mend the judge or take another, record its probes and certify it anew; probe "
        "more cases where a limit is not shown."
    )
    return "\n".join(map(_filled, lines))


def win_rate_caption(rates: pd.DataFrame) -> str:
    """Say what order and length do to win rates.

    Parameters
    ----------
    rates : as `evalnb.probes.public_win_rates` gives it
    """
    if rates.empty:
        return "What it shows. No public pairs are shown."
    order = (rates["both_orders"] - rates["first_order"]).abs().max()
    length = (rates["length_controlled"] - rates["both_orders"]).dropna()
    undecided = rates[(rates["length_controlled_low"] < 0.5) & (rates["both_orders_low"] > 0.5)]
    names = [one_line(str(name), limit=40) for name in undecided["opponent"]]
    lost = f" Against {listing(names)} no win is shown at equal length." if names else ""
    return "\n".join(
        map(
            _filled,
            (
                (
                    f"What it shows. The order moves these win rates by up to {decimal(order)}, length by "
                    f"up to {decimal(length.abs().max())}.{lost}"
                ),
                "What to do. Ask in both orders, and read a win rate beside the one at equal length.",
            ),
        )
    )


def study_notes(notes: Sequence[str]) -> str:
    """Write what there is to know of a study before reading on."""
    return "\n".join(_filled(one_line(note, limit=600)) for note in notes)


def _who(row: Mapping[str, Any]) -> str:
    judge, scorer = (one_line(str(row[name]), limit=40) for name in ("judge", "scorer"))
    return judge if judge == scorer else f"{judge} ({scorer})"


def _short(row: Mapping[str, Any]) -> str:
    name = words(row["probe"])
    if row["metric"] == "conflict_rate":
        name = "conflicts of the orders"
    floor = row.get("floor")
    beside = "" if pd.isna(floor) or not floor else f" beside {_floor_value(row)}"
    return f"{one_line(name, limit=40)} {effect_value(row)}{beside}"


def _floor_value(row: Mapping[str, Any]) -> str:
    return effect_value({**row, "estimate": row["floor"]})


def _filled(text: str) -> str:
    return fill(
        text,
        _WIDTH,
        subsequent_indent="  " if text.startswith("- ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
