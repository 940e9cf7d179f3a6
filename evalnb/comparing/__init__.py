"""Two systems, runs or prompts beside each other."""

from evalnb.comparing.comparison import Comparison, compare, open_comparison
from evalnb.comparing.sides import Side, open_side, suite_of

__all__ = ["Comparison", "Side", "compare", "open_comparison", "open_side", "suite_of"]
