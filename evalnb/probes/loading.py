"""Finding the probes that are asked for by name, and those of a suite's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.errors import InputError, nearest_name
from evalnb.imports import import_object, is_import_path
from evalnb.judges import load_judge, load_pairwise_judge
from evalnb.probes.base import Probe
from evalnb.probes.floor import FloorChecks
from evalnb.probes.formatting import Formatting
from evalnb.probes.injection import Injection
from evalnb.probes.position import LengthPreference, Position
from evalnb.probes.repetition import Repetition
from evalnb.probes.self_preference import SelfPreference
from evalnb.probes.sycophancy import Sycophancy
from evalnb.probes.verbosity import Verbosity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evalnb.golden import GoldenSet
    from evalnb.judges import Judge

__all__ = ["PROBES", "load_probes", "probed_judges", "probed_outputs"]

PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        Repetition(),
        Verbosity(),
        Formatting(),
        Sycophancy(),
        Injection(),
        FloorChecks(),
        Position(),
        LengthPreference(),
    )
}
"""The probes of the package by name."""


def load_probes(
    golden: GoldenSet, names: Sequence[str] | None = None, *, more: Sequence[Probe] = ()
) -> tuple[Probe, ...]:
    """Return probes by name.

    Parameters
    ----------
    golden : a suite's golden set
    names : probes of the package, of the suite's own by their name, or import paths of a `Probe`
        such as `my_probes:tone`; by default all of the package and the suite's own
    more : further ones that go by name

    Raises
    ------
    InputError
        If there is no such probe, or it is none.
    """
    known = {**PROBES, **{probe.name: probe for probe in more}}
    for path in golden.settings.probes.own:
        probe = _imported(golden, path)
        if probe.name in known:
            raise InputError(
                f"`probes.own` in suite.toml: {path!r} is called {probe.name!r}, as another probe "
                "is: give it a name of its own"
            )
        known[probe.name] = probe
    if names is None:
        return tuple(known.values())
    return tuple(
        _imported(golden, name) if is_import_path(name) else _known(known, name)
        for name in dict.fromkeys(names)
    )


def probed_judges(golden: GoldenSet, names: Sequence[str] | None = None) -> tuple[Judge, ...]:
    """Return the judges that are probed.

    Parameters
    ----------
    golden : a suite's golden set
    names : judges of answers as for `evalnb.load_judge`, or the suite's judge of pairs; by default
        those that its settings name under `[probes]`, else under `[judging]`, and that of pairs

    Raises
    ------
    InputError
        If one cannot be used.
    """
    settings = golden.settings
    if names is None:
        of_answers = settings.probes.judges or settings.judging.judges
        names = [*of_answers, settings.probes.pairwise]
    return tuple(
        load_pairwise_judge(golden, name)
        if name == settings.probes.pairwise
        else load_judge(golden, name)
        for name in dict.fromkeys(names)
    )


def probed_outputs(golden: GoldenSet, outputs: pd.DataFrame) -> pd.DataFrame:
    """Return the outputs of the cases that the suite wants to be probed; all where it names none.

    Raises
    ------
    InputError
        If it names a case that is not there.
    """
    named = golden.settings.probes.cases
    for case_id in named:
        if case_id not in golden:
            near = nearest_name(case_id, [case.id for case in golden])
            hint = f" Did you mean {near!r}?" if near else ""
            raise InputError(f"`probes.cases` in suite.toml: there is no case {case_id!r}.{hint}")
    if not named:
        return outputs
    return outputs[outputs["case_id"].isin(named)].reset_index(drop=True)


def _known(known: dict[str, Probe], name: str) -> Probe:
    if name == SelfPreference.name and name not in known:
        raise InputError(
            f"the probe {name!r} needs pairs that people labelled, of an answer by the judge's own "
            "family and one by another: label them in label.ipynb with `other_run`"
        )
    if name not in known:
        near = nearest_name(name, list(known))
        hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(known)}."
        raise InputError(f"there is no probe {name!r}. {hint}")
    return known[name]


def _imported(golden: GoldenSet, path: str) -> Probe:
    found = import_object(path, golden.folder)
    if isinstance(found, type) and issubclass(found, Probe):
        raise InputError(f"{path!r} must be a Probe. Got a class: name an object of it.")
    if not isinstance(found, Probe):
        raise InputError(f"{path!r} must be a Probe. Got {type(found).__name__}.")
    return found
