"""What follows from the verdicts of a probe: effects and floors, case by case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

Role = Literal["unchanged", "changed", "control"]
UNCHANGED: Role = "unchanged"
CHANGED: Role = "changed"
CONTROL: Role = "control"

@dataclass(frozen=True)
class Measure:
    variant: str

def shifts(*a, **k): yield from ()
contrast = per_doubling = above_lowest = injections = positions = length_preference = shifts
