"""Shifts between two sets of answers in length, refusals, language and formatting."""

from evalnb.shifts.languages import is_known_language, language_of
from evalnb.shifts.shifts import SHIFTS, shifts

__all__ = ["SHIFTS", "is_known_language", "language_of", "shifts"]
