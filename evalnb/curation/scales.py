"""The scales on which people rate: the axes of a suite's judges, in a form for keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.errors import InputError, name_hint
from evalnb.judges import Axis, package_axes, suite_judges
from evalnb.judges.judge import AxesJudge, RubricJudge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalnb.cases import Case
    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge

__all__ = [
    "PASSED_AXIS",
    "PREFERENCE",
    "RUBRIC_AXIS",
    "Option",
    "Scale",
    "scale_of",
    "suite_levels",
    "suite_scales",
]

RUBRIC_AXIS = Axis(
    name="rubric",
    question="How well does the answer meet the criteria?",
    levels={
        1: "Most criteria are not met, or the answer is empty, cut off, beside the point or harmful.",
        2: "More than one criterion is not met, or the answer helps little.",
        3: "One criterion is not met or cannot be told, or a flaw would be noticed; it still helps.",
        4: "Every criterion is met; there is a flaw that the person who asked would hardly notice.",
        5: "Every criterion is met, and nothing in the answer is wrong or misleads.",
    },
)
"""What the package's rubric judge gives a score for, in the words that it is asked with."""

PASSED_AXIS = Axis(
    name="passed",
    question="Would you let this answer pass, by the criteria?",
    levels={0: "No: a criterion is not met, or it would do harm.", 1: "Yes: it will do as it is."},
)
"""Pass or fail; asked where a suite's judges are not, by its name."""


@dataclass(frozen=True)
class Option:
    """One answer on a scale.

    Attributes
    ----------
    answer : a level, or of a pair `first`, `second` or `tie`
    key : what is pressed for it; empty where there is no key
    text : what it means
    """

    answer: int | str
    key: str
    text: str


@dataclass(frozen=True)
class Scale:
    """What is asked about an item.

    Attributes
    ----------
    name : of the axis
    question : in words
    options : from the worst to the best
    needs_rubric : whether it is only for cases with criteria
    """

    name: str
    question: str
    options: tuple[Option, ...]
    needs_rubric: bool = False

    def applies_to(self, case: Case) -> bool:
        """Tell whether a case has something to rate on this scale."""
        return not self.needs_rubric or bool(
            case.rubric or any(turn.rubric for turn in case.turns or ())
        )


PREFERENCE = Scale(
    "preference",
    "Which answer is better?",
    (
        Option("first", "1", "The first answer is better."),
        Option("tie", "2", "Neither is better than the other."),
        Option("second", "3", "The second answer is better."),
    ),
)
"""What is asked about a pair."""


def scale_of(axis: Axis, *, needs_rubric: bool = False) -> Scale:
    """Return an axis as a scale; its levels are chosen by the keys of their digits, 10 by 0.

    Parameters
    ----------
    axis : with its levels
    needs_rubric : whether it is only for cases with criteria

    Examples
    --------
    >>> [option.key for option in scale_of(package_axes()["politeness"]).options]
    ['1', '2', '3', '4', '5']
    """
    options = tuple(
        Option(level, _key(level, axis), axis.levels[level]) for level in sorted(axis.levels)
    )
    return Scale(axis.name, axis.question, options, needs_rubric)


def suite_scales(golden: GoldenSet, names: Sequence[str] = ()) -> tuple[Scale, ...]:
    """Return the scales on which people rate a suite's outputs.

    Parameters
    ----------
    golden : the suite
    names : axes to take; by default the axes of the suite's judges, or where none of them has
        axes those of the package, and `rubric` where a judge goes by the cases' criteria
        Known are these, the axes of the package and `passed`.

    Raises
    ------
    InputError
        If an axis is not known.
    """
    known = _known(golden)
    if not names:
        has_rubric = any(isinstance(judge, RubricJudge) for judge in _judges(golden))
        own = list(_own(golden)) or list(package_axes())
        names = [*own, *(["rubric"] if has_rubric and "rubric" not in own else [])]
    for name in names:
        if name not in known:
            raise InputError(f"there is no axis {name!r}. {name_hint(name, list(known))}")
    return tuple(known[name] for name in dict.fromkeys(names))


def suite_levels(golden: GoldenSet) -> dict[str, frozenset[float]]:
    """Return what a label of an output may say, by axis of the suite's judges or the package."""
    return {
        name: frozenset(float(option.answer) for option in scale.options)
        for name, scale in _known(golden).items()
    }


def _known(golden: GoldenSet) -> dict[str, Scale]:
    """Return every scale that can be named."""
    package = {name: scale_of(axis) for name, axis in package_axes().items()}
    rubric = scale_of(RUBRIC_AXIS, needs_rubric=True)
    return {**package, "rubric": rubric, "passed": scale_of(PASSED_AXIS), **_own(golden)}


def _own(golden: GoldenSet) -> dict[str, Scale]:
    """Return the scales of the suite's own judges."""
    return {
        axis.name: scale_of(axis)
        for judge in _judges(golden)
        if isinstance(judge, AxesJudge)
        for axis in judge.axes
    }


def _judges(golden: GoldenSet) -> Sequence[Judge]:
    return suite_judges(golden) if golden.folder is not None else ()


def _key(level: int, axis: Axis) -> str:
    if level == 10 and 0 not in axis.levels:
        return "0"
    return str(level) if 0 <= level <= 9 else ""
