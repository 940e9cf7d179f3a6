"""A study of what sways judges: public ones, and a suite's own, as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from evalnb.baseline import read_baseline
from evalnb.errors import InputError
from evalnb.golden import find_suite, read_golden
from evalnb.names import LOCAL_MODEL, LOCAL_NOTICE
from evalnb.places import shown_from_here
from evalnb.probes import (
    PROBE_EFFECTS,
    PROBE_VERDICTS,
    load_probes,
    probe_cassettes,
    probe_effects,
    probe_judges,
    probed_judges,
    probed_outputs,
    public_countings,
    public_effects,
    public_win_rates,
)
from evalnb.results import results_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet
    from evalnb.probes import Probe

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
    public : whether public judges are shown
    """

    effects: pd.DataFrame
    verdicts: pd.DataFrame
    notes: tuple[str, ...]
    advice: Mapping[str, str]
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
    judges: Sequence[str] = (),
    probes: Sequence[str] = (),
    mode: Mode = "replay",
) -> BiasStudy:
    """Probe the judges of a suite, and put public judges beside them.

    Parameters
    ----------
    suite : a suite's folder such as "golden/support"; empty for public judges alone
    public : whether public judges are shown
    judges, probes : of the suite, by name; by default all that its settings name
    mode : whether verdicts are replayed, recorded where they are missing, or asked for anew

    Raises
    ------
    InputError
        If there is no such suite, judge or probe, or the suite has no baseline, whose answers
        probes change.
    """
    effects, notes = [], []
    verdicts, advice = PROBE_VERDICTS.empty(), {}
    if suite:
        golden = read_golden(find_suite(suite))
        chosen = load_probes(golden, list(probes) or None)
        advice = {probe.name: probe.advice for probe in chosen if probe.advice}
        verdicts = _verdicts(golden, judges, chosen, mode)
        effects.append(probe_effects(verdicts, chosen))
        notes += _notes(golden, verdicts)
    if public:
        effects.append(public_effects())
        notes.append(_ABOUT_PUBLIC)
    found = pd.concat(effects, ignore_index=True) if effects else PROBE_EFFECTS.empty()
    return BiasStudy(PROBE_EFFECTS.check(found), verdicts, tuple(notes), advice, public)


_ABOUT_PUBLIC = (
    "Public judges: GPT-4 and Falcon on LLMBar (MIT), GPT-4, GPT-3.5 and Claude 3 Haiku on MT-Bench "
    "and DevBench (Shi et al., MIT), GPT-4, Llama 3 and Mistral on TriviaQA (MIT). What they said was "
    "published by others; nobody was asked again."
)


def _verdicts(
    golden: GoldenSet, judges: Sequence[str], probes: Sequence[Probe], mode: Mode
) -> pd.DataFrame:
    baseline = read_baseline(golden)
    if baseline is None:
        raise InputError(f"{golden.settings.name} has no baseline, whose answers probes change")
    with probe_cassettes(golden, mode, datetime.now(UTC), _journals(golden)) as recorded:
        return probe_judges(
            golden,
            probed_outputs(golden, baseline.outputs),
            probed_judges(golden, list(judges) or None),
            probes,
            cassettes=recorded,
        )


def _journals(golden: GoldenSet) -> Path:
    return results_root(golden) / "_probes" / golden.settings.name


def _notes(golden: GoldenSet, verdicts: pd.DataFrame) -> list[str]:
    asked = verdicts.drop_duplicates(["request_key", "judge_repeat"])
    missing = asked["na_reason"].dropna()
    name = golden.settings.name if golden.folder is None else shown_from_here(golden.folder)
    said = [
        (
            f"The judges of {name}: {len(asked) - len(missing):,} verdicts on "
            f"{verdicts['case_id'].nunique():,} answers of the baseline, {len(missing):,} missing."
        )
    ]
    if (missing == "miss").any():
        said.append(
            f"{int((missing == 'miss').sum()):,} verdicts are not recorded: "
            f"evalnb probe {name} --mode record asks for them."
        )
    if LOCAL_MODEL in set(asked["judge_model"].dropna()):
        said.append(LOCAL_NOTICE)
    return said
