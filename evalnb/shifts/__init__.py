"""Shifts between two sets of answers in length, refusals, language and formatting."""

from evalnb.shifts.languages import language_of
from evalnb.shifts.shifts import SHIFTS, shifts

__all__ = ["SHIFTS", "language_of", "shifts"]
