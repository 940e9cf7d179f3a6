"""A study of what sways judges: public ones, and a suite's own, as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.cassettes import MODES
from evalnb.golden import find_suite, read_golden
from evalnb.names import LOCAL_MODEL, LOCAL_NOTICE
from evalnb.options import check_choice, check_flag, check_text, listed
from evalnb.places import shown_from_here
from evalnb.preferences import describe_preferences, self_preference_probe
from evalnb.probes import (
    PROBE_EFFECTS,
    PROBE_VERDICTS,
    probe_effects,
    probe_suite,
    public_countings,
    public_effects,
    public_win_rates,
    suite_limits,
)
from evalnb.results import results_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet
    from evalnb.probe_evidence import LimitState
    from evalnb.probes import Probing

__all__ = ["BiasStudy", "open_bias_study"]


@dataclass(frozen=True)
class BiasStudy:
    """What sways judges.

    Attributes
    ----------
    effects : a frame of probe effects, of public judges and of the suite's own
    verdicts : a frame of probe verdicts, of the suite's own judges
    notes : what there is to know before reading on
    advice : probe to what to change where its effect matters, of probes of the suite's own too
    limits : how the suite's axes stand against the limits that it sets
    public : whether public judges are shown
    """

    effects: pd.DataFrame
    verdicts: pd.DataFrame
    notes: tuple[str, ...]
    advice: Mapping[str, str]
    limits: tuple[LimitState, ...] = ()
    public: bool = True

    @property
    def details(self) -> pd.DataFrame:
        """The effects of the suite's own judges that no probe is decided by."""
        own = self.effects["judge_fingerprint"].notna() & ~self.effects["headline"]
        return self.effects[own].reset_index(drop=True)

    @cached_property
    def win_rates(self) -> pd.DataFrame:
        """Win rates of public pairs, as `evalnb.probes.public_win_rates` gives them."""
        found = public_win_rates()
        return found if self.public else found.head(0)

    @cached_property
    def countings(self) -> pd.DataFrame:
        """Published figures by either counting, as `evalnb.probes.public_countings` gives them."""
        found = public_countings()
        return found if self.public else found.head(0)


def open_bias_study(
    suite: str = "",
    *,
    public: bool = True,
    judges: str | Sequence[str] = (),
    probes: str | Sequence[str] = (),
    mode: Mode = "replay",
) -> BiasStudy:
    """Probe the judges of a suite, and put public judges beside them.

    Parameters
    ----------
    suite : a suite's folder such as "golden/support"; empty for public judges alone
    public : whether public judges are shown
    judges, probes : of the suite, by name, as a list or with commas between; by default all that its
        settings name
    mode : whether verdicts are replayed, recorded where they are missing, or asked for anew

    Raises
    ------
    TypeError
        If an option is of another type.
    ValueError
        If there is no such mode.
    InputError
        If there is no such suite, judge or probe, or the suite has no baseline, whose answers
        probes change.
    """
    check_text(suite, "suite", "golden/support")
    check_flag(public, "public")
    check_choice(mode, "mode", MODES)
    study = (
        _of_suite(suite, listed(judges, "judges"), listed(probes, "probes"), mode)
        if suite
        else BiasStudy(PROBE_EFFECTS.empty(), PROBE_VERDICTS.empty(), (), {})
    )
    if not public:
        return replace(study, public=False)
    both = [frame for frame in (study.effects, public_effects()) if len(frame)]
    effects = PROBE_EFFECTS.check(pd.concat(both, ignore_index=True))
    return replace(study, effects=effects, notes=(*study.notes, _ABOUT_PUBLIC))


_ABOUT_PUBLIC = (
    "Public judges: GPT-4 and Falcon on LLMBar (MIT), GPT-4, GPT-3.5 and Claude 3 Haiku on MT-Bench "
    "and DevBench (Shi et al., MIT), GPT-4, Llama 3 and Mistral on TriviaQA (MIT). What they said was "
    "published by others; nobody was asked again."
)


def _of_suite(suite: str, judges: Sequence[str], probes: Sequence[str], mode: Mode) -> BiasStudy:
    golden = read_golden(find_suite(suite))
    root = results_root(golden)
    preferences, left_out = self_preference_probe(golden, root)
    probing = probe_suite(
        golden,
        now=datetime.now(UTC),
        root=root,
        judges=judges,
        probes=probes,
        more=[preferences] if preferences else (),
        mode=mode,
    )
    effects = probe_effects(probing.verdicts, probing.probes)
    return BiasStudy(
        effects,
        probing.verdicts,
        (*_notes(golden, probing), *describe_preferences(left_out)),
        {probe.name: probe.advice for probe in probing.probes if probe.advice},
        tuple(suite_limits(golden, effects)),
    )


def _notes(golden: GoldenSet, probing: Probing) -> list[str]:
    n_asked, n_missing = len(probing.asked), sum(probing.missing.values())
    name = golden.settings.name if golden.folder is None else shown_from_here(golden.folder)
    said = [
        (
            f"The judges of {name}: {n_asked - n_missing:,} verdicts on "
            f"{probing.verdicts['case_id'].nunique():,} answers of the baseline, "
            f"{n_missing:,} missing{_reasons(probing.missing)}."
        )
    ]
    if n_missed := probing.missing.get("miss"):
        said.append(
            f"{n_missed:,} verdicts are not recorded: evalnb probe {name} --mode record asks for "
            "them."
        )
    if LOCAL_MODEL in set(probing.asked["judge_model"].dropna()):
        said.append(LOCAL_NOTICE)
    return said


def _reasons(missing: Mapping[str, int]) -> str:
    told = ", ".join(f"{why.replace('_', ' ')} {n}" for why, n in missing.items())
    return f" ({told})" if told else ""
