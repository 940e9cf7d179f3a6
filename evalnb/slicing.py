"""The slices of a golden set: the cases with one value of a field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalnb.findings import SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.golden import GoldenSet

__all__ = ["Slices"]


class Slices:
    """The slices of a golden set, each with its cases."""

    def __init__(self, golden: GoldenSet) -> None:
        self._names: list[str] = []
        self._n_cases = len(golden)
        self._ids = [case.id for case in golden]
        self._clusters = {
            case.id: case.conversation_id for case in golden if case.conversation_id is not None
        }
        cases, numbers = [np.empty(0, int)], [np.empty(0, int)]
        for field in golden.settings.slices:
            positions, entries = _entries(golden, field)
            codes, known = pd.factorize(entries)
            cases.append(positions)
            numbers.append(codes + len(self._names))
            self._names += [f"{field}={entry}" for entry in known]
        self._cases, self._numbers = np.concatenate(cases), np.concatenate(numbers)

    def places(self) -> pd.DataFrame:
        """Return case_id, slice: a row a case and slice that it is in."""
        ids, names = np.array(self._ids, "object"), np.array(self._names, "object")
        return pd.DataFrame({"case_id": ids[self._cases], "slice": names[self._numbers]})

    def clusters(self) -> dict[str, str]:
        """Return the conversation of each case that shares one, by case id."""
        return self._clusters

    def means(self, means: pd.DataFrame) -> Iterator[tuple[str, int, float, float]]:
        """Return name, number of cases, mean before and mean now of each slice.

        Parameters
        ----------
        means : columns position (of the case), mean_before, mean
        """
        yield SUITE, len(means), means["mean_before"].mean(), means["mean"].mean()
        values = np.full((2, self._n_cases), np.nan)
        values[:, means["position"]] = means[["mean_before", "mean"]].to_numpy("float64").T
        known = ~np.isnan(values[0, self._cases])
        cases, numbers = self._cases[known], self._numbers[known]
        size = np.bincount(numbers, minlength=len(self._names))
        was, is_now = (
            np.bincount(numbers, side[cases], minlength=len(self._names)) for side in values
        )
        for name, n, before, now in zip(self._names, size, was, is_now, strict=True):
            if n:
                yield name, int(n), float(before / n), float(now / n)


def _entries(golden: GoldenSet, field: str) -> tuple[np.ndarray, np.ndarray]:
    """Return position of the case and value for all that cases say of a field, each once."""
    positions: list[int] = []
    entries: list[str] = []
    for position, case in enumerate(golden.cases):
        value = getattr(case, field)
        if isinstance(value, list):
            once = dict.fromkeys(value)
            positions += [position] * len(once)
            entries += once
        elif value is not None:
            positions.append(position)
            entries.append(value)
    return np.array(positions, int), np.array(entries, "object")
