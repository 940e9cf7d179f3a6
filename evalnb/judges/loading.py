"""Finding the judges that a suite names."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from evalnb.errors import InputError, name_hint, nearest_name
from evalnb.imports import import_object, is_import_path
from evalnb.judges.files import JudgeFile, Kind
from evalnb.judges.judge import Judge, kind_of
from evalnb.judges.pairwise import PairwiseJudge
from evalnb.scorers import SCORERS
from evalnb.tomltext import read_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalnb.golden import GoldenSet, JudgingSettings

__all__ = ["check_judges", "load_judge", "load_pairwise_judge", "suite_judges"]

_RULES = frozenset(scorer.name for scorer in SCORERS.values())
_PACKAGE: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind != "pairwise")


def load_judge(golden: GoldenSet, name: str) -> Judge:
    """Return a judge by its name.

    Parameters
    ----------
    golden : a suite's golden set
    name : a judge of the package (`rubric`, `axes`, `reference`, `faithfulness`), a file in the
        suite's `judges` with or without folder and ending, a file's path, or the import path of a
        `Judge` of your own, such as `my_judges:tone`

    Raises
    ------
    InputError
        If there is none, or it cannot be used.
    """
    if is_import_path(name):
        return _imported(golden, name)
    path = _file_of(golden, name)
    if path is not None:
        file: JudgeFile = read_toml(path, JudgeFile, "judge file")
        if file.kind == "pairwise":
            raise _no_single_score(str(path))
        return kind_of(file)(path.stem, file, file.model or golden.settings.judging.model, path)
    if name == "pairwise":
        raise _no_single_score(repr(name))
    for kind in _PACKAGE:
        if kind == name:
            file = JudgeFile(kind=kind)
            return kind_of(file)(name, file, golden.settings.judging.model)
    known = list(dict.fromkeys([*_PACKAGE, *(found.stem for found in _files(golden))]))
    raise InputError(f"there is no judge {name!r}. {name_hint(name, known)}")


def load_pairwise_judge(golden: GoldenSet, name: str = "pairwise") -> PairwiseJudge:
    """Return a judge of pairs: a file of the suite, or the package's own.

    Parameters
    ----------
    golden : a suite's golden set
    name : a file in the suite's `judges`, or `pairwise`

    Raises
    ------
    InputError
        If there is none, or it is no judge of pairs.
    """
    path = _file_of(golden, name)
    if path is None:
        if name != "pairwise":
            raise InputError(f"there is no judge {name!r} in the suite's folder `judges`")
        file = JudgeFile(kind="pairwise")
        return PairwiseJudge(name, file, golden.settings.judging.model)
    file = read_toml(path, JudgeFile, "judge file")
    if file.kind != "pairwise":
        raise InputError(f"{path} is no judge of pairs: its kind is {file.kind!r}")
    return PairwiseJudge(path.stem, file, file.model or golden.settings.judging.model, path)


def suite_judges(golden: GoldenSet) -> tuple[Judge, ...]:
    """Return the judges that a suite names in `[judging]`.

    Raises
    ------
    InputError
        If one cannot be used, they cannot be asked together, or the pass rule is of no judge.
    """
    try:
        judges = tuple(load_judge(golden, name) for name in golden.settings.judging.judges)
    except InputError as error:
        message = f"`judging.judges` in suite.toml: {error.message}"
        raise InputError(message, error.problems) from error
    check_judges(golden.settings.judging, judges)
    known = {*_PACKAGE, *(scorer for judge in judges for scorer in judge.scorers)}
    for scorer in golden.settings.judging.pass_scores:
        if scorer not in known:
            near = nearest_name(scorer, list(known))
            hint = f" Did you mean `{near}`?" if near else ""
            raise InputError(
                f"`judging.pass_scores` in suite.toml: no judge of the suite gives `{scorer}`.{hint}"
            )
    return judges


def check_judges(settings: JudgingSettings, judges: Sequence[Judge]) -> None:
    """Check that judges can be asked together, and that what they say can pass.

    Raises
    ------
    InputError
        If two have one name or give one score, a score has a rule's name, or its scale ends below
        what the suite's pass rule needs.
    """
    names = [judge.name for judge in judges]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"there are two judges {twice!r}: take one of them out, or give it another name"
        )
    owner: dict[str, str] = {}
    for judge in judges:
        for scorer, (_, high) in judge.scales.items():
            if scorer in _RULES:
                raise InputError(
                    f"the judge {judge.name!r} gives `{scorer}`, which is a rule's name: call it "
                    "otherwise"
                )
            if scorer in owner:
                raise InputError(
                    f"the judges {owner[scorer]!r} and {judge.name!r} both give `{scorer}`: take "
                    "one of them, and try the other with `evalnb rescore --judge`"
                )
            owner[scorer] = judge.name
            needed = settings.pass_scores.get(scorer, settings.pass_score)
            if needed > high:
                raise InputError(
                    f"`{scorer}` of the judge {judge.name!r} goes up to {high}, and {needed:g} is "
                    f"needed to pass: say under `[judging.pass_scores]` what `{scorer}` needs"
                )


def _imported(golden: GoldenSet, name: str) -> Judge:
    found = import_object(name, golden.folder)
    if isinstance(found, type) and issubclass(found, Judge):
        raise InputError(f"{name!r} must be a Judge. Got a class: name an object of it.")
    if not isinstance(found, Judge):
        raise InputError(f"{name!r} must be a Judge. Got {type(found).__name__}.")
    if isinstance(found, PairwiseJudge):
        raise _no_single_score(repr(name))
    return found


def _no_single_score(judge: str) -> InputError:
    return InputError(
        f"{judge} is a judge of pairs: it has no score for a single answer. Use it with "
        "`evalnb.judge_pairs`, by `evalnb.load_pairwise_judge`."
    )


def _file_of(golden: GoldenSet, name: str) -> Path | None:
    if golden.folder is None:
        return None
    candidates = (
        golden.folder / "judges" / f"{name}.toml",
        golden.folder / "judges" / name,
        golden.folder / name,
    )
    return next((path for path in candidates if name and path.is_file()), None)


def _files(golden: GoldenSet) -> list[Path]:
    folder = None if golden.folder is None else golden.folder / "judges"
    return sorted(folder.glob("*.toml")) if folder is not None and folder.is_dir() else []
