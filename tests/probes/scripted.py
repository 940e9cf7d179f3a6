"""Judges that are scripted, each with one planted defect, and what they say of variants.

None of them is a model: they show what the probes find where the truth is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalnb.cases import Case
from evalnb.probes.base import UNCHANGED, Item, Variant
from evalnb.probes.frames import PROBE_VERDICTS
from evalnb.probes.loading import PROBES
from evalnb.probes.texts import LANGUAGES, attacks, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANSWERS = {
    "en": "The parcel takes {n} days. You can follow it online.",
    "de": "Das Paket braucht {n} Tage. Sie können es online verfolgen.",
    "es": "El paquete tarda {n} días. Puede seguirlo en línea.",
    "ja": "荷物は{n}日かかります。オンラインで追跡できます。",
}
QUESTIONS = {
    "en": "How long does parcel {n} take?",
    "de": "Wie lange braucht das Paket {n}?",
    "es": "¿Cuánto tarda el paquete {n}?",
    "ja": "荷物{n}は何日かかりますか。",
}
NOISE = 0.02
"""How often a scripted judge gives a level beside the one that it means."""


@cache
def items(n: int = 24) -> tuple[Item, ...]:
    """Make cases with good answers, the languages in turn."""
    found = []
    for number in range(n):
        language = LANGUAGES[number % len(LANGUAGES)]
        question = QUESTIONS[language].format(n=number)
        case = Case(id=f"case-{number}", input=question, language=language, rubric=["Says it."])
        found.append(Item(case, {"text": ANSWERS[language].format(n=number)}))
    return tuple(found)


@dataclass(frozen=True)
class Seen:
    """What a scripted judge looks at."""

    variant: Variant
    length: int
    is_bad: bool
    attacked: bool
    opinion: int

    @classmethod
    def of(cls, variant: Variant) -> Seen:
        language = variant.case.language or "en"
        said = texts(language)
        asked = variant.case.input or ""
        return cls(
            variant,
            len(variant.text),
            is_bad=not variant.text or said.bad in variant.text or variant.text == asked,
            attacked=any(by[language] in variant.text for by in attacks().values()),
            opinion=(said.agrees.partition("{")[0] in asked)
            - (said.disagrees.partition("{")[0] in asked),
        )


def clean(seen: Seen, rng: np.random.Generator) -> float:
    """Good answers get 3 or 4, bad ones 1."""
    return 1 if seen.is_bad else 3 + int(seen.variant.item[-1]) % 2


def loves_length(seen: Seen, rng: np.random.Generator) -> float:
    """Half a level more for each doubling of a good answer's length, cut off at the top."""
    more = 0.0 if seen.variant.dose is None else seen.variant.dose / 2
    return clean(seen, rng) + (0 if seen.is_bad else round(more))


def obeys(seen: Seen, rng: np.random.Generator) -> float:
    """Gives every second attacked answer what it asks for."""
    return 5 if seen.attacked and rng.random() < 0.5 else clean(seen, rng)


def likes_lists(seen: Seen, rng: np.random.Generator) -> float:
    """Gives most lists one level more."""
    is_list = seen.variant.text.startswith("- ")
    return clean(seen, rng) + (is_list and rng.random() < 0.8)


def follows(seen: Seen, rng: np.random.Generator) -> float:
    """Follows the person's opinion by one level, more often than not."""
    return clean(seen, rng) + seen.opinion * (rng.random() < 0.6)


def generous(seen: Seen, rng: np.random.Generator) -> float:
    """Gives answers that deserve nothing a 2, two times in five."""
    return 2 if seen.is_bad and not seen.attacked and rng.random() < 0.4 else clean(seen, rng)


def at_random(seen: Seen, rng: np.random.Generator) -> float:
    """Gives any level to anything."""
    return int(rng.integers(1, 6))


def constant(seen: Seen, rng: np.random.Generator) -> float:
    """Gives 4 to everything."""
    return 4


def fair(a_is_first: bool, rng: np.random.Generator) -> str:
    """Sees that both say the same."""
    return "tie"


def prefers_first(a_is_first: bool, rng: np.random.Generator) -> str:
    """Takes the first answer, half of the time."""
    return "first" if rng.random() < 0.5 else "tie"


def prefers_longer(a_is_first: bool, rng: np.random.Generator) -> str:
    """Takes the padded answer, half of the time."""
    return ("second" if a_is_first else "first") if rng.random() < 0.5 else "tie"


def tosses(a_is_first: bool, rng: np.random.Generator) -> str:
    """Takes either, whatever they say."""
    return str(rng.choice(["first", "second", "tie"]))


@cache
def variants(kind: str) -> tuple[tuple[str, Variant, Seen], ...]:
    """Return what the package's probes of a kind show."""
    return tuple(
        (probe.name, variant, Seen.of(variant))
        for probe in PROBES.values()
        if probe.of == kind
        for variant in probe.variants(items())
    )


def levels(
    judge: Callable[[Seen, np.random.Generator], float], seed: int, *, noise: float = NOISE
) -> pd.DataFrame:
    """Return what a scripted judge of answers says of all variants: probe verdicts."""
    rng = np.random.default_rng(seed)
    given: dict[tuple[Any, ...], float] = {}

    def level(variant: Variant, seen: Seen, repeat: int) -> float:
        # What two probes show is one question, and has one answer.
        key = (variant.item, variant.text, variant.case.input, repeat)
        if key not in given:
            meant = judge(seen, rng)
            if judge is not constant and rng.random() < noise:
                meant += rng.choice([-1, 1])
            given[key] = float(min(max(meant, 1), 5))
        return given[key]

    asked, frame = _asked("answers", "rubric")
    values = pd.Series([level(*one) for one in asked], dtype="Float64")
    return frame.assign(value=values, low=1.0, high=5.0, passed=values >= 3)


def preferences(
    judge: Callable[[bool, np.random.Generator], str], seed: int, *, noise: float = NOISE
) -> pd.DataFrame:
    """Return what a scripted judge of pairs says of all variants: probe verdicts."""
    rng = np.random.default_rng(seed)
    given: dict[tuple[str, str, int], str] = {}

    def better(variant: Variant, repeat: int) -> str:
        key = (variant.item, variant.name, repeat)
        if key not in given:
            slips = rng.random() < noise
            meant = judge(variant.name == "ab", rng)
            given[key] = str(rng.choice(["first", "second"])) if slips else meant
        return given[key]

    asked, frame = _asked("pairs", "pairwise")
    said = [better(variant, repeat) for variant, _, repeat in asked]
    return frame.assign(better=pd.Series(said, dtype="string"))


@cache
def _asked(kind: str, scorer: str) -> tuple[tuple[tuple[Variant, Seen, int], ...], pd.DataFrame]:
    """Return what is asked, and a frame of probe verdicts that lacks what is said."""
    asked = [
        (probe, variant, seen, repeat)
        for probe, variant, seen in variants(kind)
        for repeat in _repeats(variant)
    ]
    frame = PROBE_VERDICTS.build(
        {**_shared(probe, variant, repeat), "scorer": scorer} for probe, variant, _, repeat in asked
    )
    return tuple((variant, seen, repeat) for _, variant, seen, repeat in asked), frame


def _repeats(variant: Variant) -> Sequence[int]:
    return (1, 2) if variant.role == UNCHANGED else (1,)


def _shared(probe: str, variant: Variant, repeat: int) -> dict[str, Any]:
    return {
        "judge": "scripted",
        "judge_fingerprint": "scripted",
        "probe": probe,
        "case_id": variant.item,
        "variant": variant.name,
        "family": variant.family,
        "role": variant.role,
        "judge_repeat": repeat,
        "dose": variant.dose,
        "n_characters": len(variant.text),
    }


def standard_error(rate: float, n: int) -> float:
    """Return the standard error of a rate that is simulated `n` times."""
    return math.sqrt(rate * (1 - rate) / n)
