"""Probing the judges of a suite, on the answers of its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalnb.baseline import read_baseline
from evalnb.errors import InputError
from evalnb.journal import UNFINISHED
from evalnb.probes.asking import probe_judges
from evalnb.probes.keeping import probe_cassettes
from evalnb.probes.loading import load_probes, probed_judges, probed_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from evalnb.cassettes import Mode
    from evalnb.golden import GoldenSet
    from evalnb.probes.base import Probe
    from evalnb.transport import Upstream

__all__ = ["Probing", "probe_suite"]


@dataclass(frozen=True)
class Probing:
    """What the judges of a suite said of variants.

    Attributes
    ----------
    probes : those that asked
    verdicts : a frame of probe verdicts
    n_recorded : how many of them were recorded just now
    """

    probes: tuple[Probe, ...]
    verdicts: pd.DataFrame
    n_recorded: int = 0

    @property
    def asked(self) -> pd.DataFrame:
        """The verdicts, each of them once, whatever probes and scorers it serves."""
        return self.verdicts.drop_duplicates(["judge", "request_key", "judge_repeat"])

    @property
    def missing(self) -> dict[str, int]:
        """How many verdicts are missing, by reason."""
        return {str(why): int(n) for why, n in self.asked["na_reason"].value_counts().items()}

    @property
    def n_unfinished(self) -> int:
        """How many are missing that the same command may still get."""
        return sum(n for why, n in self.missing.items() if why in UNFINISHED)

    @property
    def silent(self) -> tuple[str, ...]:
        """Judges without a single verdict."""
        counts = self.asked.groupby("judge", sort=False)["na_reason"].agg(["size", "count"])
        return tuple(counts.index[counts["size"] == counts["count"]])


def probe_suite(
    golden: GoldenSet,
    *,
    now: datetime,
    root: Path,
    judges: Sequence[str] = (),
    probes: Sequence[str] = (),
    more: Sequence[Probe] = (),
    mode: Mode = "replay",
    upstream: Upstream | None = None,
    repeats: int | None = None,
    concurrency: int = 8,
    max_minutes: float | None = None,
    budget_usd: float | None = None,
) -> Probing:
    """Ask the judges of a suite about variants of its baseline's answers.

    Parameters
    ----------
    golden : the suite
    now : time in UTC
    root : the results root, where a live probing keeps each response before it is used
        One that stopped within a day is taken up by the same call.
    judges, probes : names as `probed_judges` and `load_probes` take them; by default all
    more : further probes that go by name
    mode : whether verdicts are replayed, recorded where they are missing, or asked for anew
    upstream, repeats, concurrency, max_minutes, budget_usd : as for `probe_judges`

    Raises
    ------
    InputError
        If there is no such judge or probe, the suite has no baseline, or nothing can be asked.
    """
    baseline = read_baseline(golden)
    if baseline is None:
        raise InputError(f"{golden.settings.name} has no baseline, whose answers probes change")
    chosen = load_probes(golden, list(probes) or None, more=more)
    asked = probed_judges(golden, list(judges) or None)
    outputs = probed_outputs(golden, baseline.outputs)
    folder = root / "_probes" / golden.settings.name
    with probe_cassettes(golden, mode, now, folder, judges=asked, probes=chosen) as keeping:
        verdicts = probe_judges(
            golden,
            outputs,
            asked,
            chosen,
            cassettes=keeping.cassettes,
            upstream=upstream,
            repeats=repeats,
            concurrency=concurrency,
            max_minutes=max_minutes,
            budget_usd=budget_usd,
        )
        found = Probing(chosen, verdicts, keeping.cassettes.n_recorded)
        if not found.n_unfinished:
            keeping.finish()
    return found
