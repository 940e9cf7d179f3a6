"""Error rates of the gate: how often a run in which nothing changed may be blocked, and by what.

All rules together have one rate, 5%. It is shared out, since each rule has a chance to be wrong.
"""

from __future__ import annotations

__all__ = [
    "ALPHA",
    "CASES",
    "CONFIRMATION",
    "CREEP",
    "EARLY_SCORES",
    "EXPLORING_FDR",
    "FINAL_SCORES",
    "FIRST_STAGE",
    "FLOORS",
    "LIMITS",
    "MARGIN",
    "PAIRWISE",
    "PHRASES",
    "POWER",
    "RATIOS",
    "SCORES",
    "SMALLEST_SLICE",
]

ALPHA = 0.05
"""Of the whole gate: the sum of `SCORES`, `PHRASES` and `LIMITS`."""

SCORES = 0.03
"""For drops of scores, by Holm over scorers and slices."""

PHRASES = 0.01
"""For phrases that came or went, by Benjamini–Hochberg within. Where nothing changed, the false
discovery rate is the chance of any false alarm."""

LIMITS = 0.01
"""For what is held against a limit: the sum of `FLOORS` and `RATIOS`."""

FLOORS = 0.005
"""For means under their agreed floors, by Holm over the floors."""

RATIOS = 0.005
"""For tokens and time against the baseline, by Holm over them."""

CASES = 0.01
"""The part of `SCORES` for single cases, where there are repeats enough to tell one from chance."""

PAIRWISE = 0.01
"""The part of `SCORES` for a judge's preference for the baseline's answers, in suites that ask one."""

CREEP = 0.005
"""The part of `SCORES` for drops since the first accepted baseline, where there is an older one."""

EARLY_SCORES = 0.01
"""The part of `SCORES` for stopping a live run early: its e-value must reach 1/0.01 = 100."""

FINAL_SCORES = 0.02
"""The part of `SCORES` that remains for the test of the whole run where it might stop early."""

FIRST_STAGE = 0.10
"""For drops that are looked at again: these cases are repeated on both sides."""

CONFIRMATION = 0.30
"""For the fresh repeats alone. They are independent of the first, so that a false alarm has to pass
both: 0.10 times 0.30 is `SCORES`."""

EXPLORING_FDR = 0.10
"""False discovery rate of a search for where a drop sits; such a search blocks nothing."""

MARGIN = 0.02
"""The least drop that blocks, where a suite states no other."""

POWER = 0.8
"""A drop is called detectable if so large a share of runs would find it."""

SMALLEST_SLICE = 8
"""Slices of fewer cases are shown and not tested: with 7 of them even a drop of all has a p-value
of 1/128, and they take from the level of the others."""
