"""Two systems, runs or prompts beside each other, and more than two."""

from evalnb.comparing.comparison import Comparison, compare, open_comparison
from evalnb.comparing.judged import judged_pairs
from evalnb.comparing.several import Several, open_several
from evalnb.comparing.sides import Side, open_side, open_sides, suite_of

__all__ = [
    "Comparison",
    "Several",
    "Side",
    "compare",
    "judged_pairs",
    "open_comparison",
    "open_several",
    "open_side",
    "open_sides",
    "suite_of",
]
