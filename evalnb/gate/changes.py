"""What is another than in the baseline: golden set, settings, system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalnb.findings import Row, finding
from evalnb.frames import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalnb.baseline import Baseline
    from evalnb.golden import GoldenSet

__all__ = ["change_rows"]


def change_rows(
    golden: GoldenSet, baseline: Baseline, system_fingerprint: str | None
) -> Iterator[Row]:
    """Return a note for each of them that is not as it was; None stands for an unknown system."""
    version = baseline.manifest.get("golden_version")
    if version != golden.version:
        reason = f"the golden set changed since the baseline: {version} to {golden.version}"
        yield finding("golden_changed", Outcome.NOTE, reason=reason)
    settings = baseline.manifest.get("settings_fingerprint")
    if settings not in (None, golden.settings.fingerprint):
        reason = "the suite's settings changed since the baseline: look at the diff of suite.toml"
        yield finding("settings_changed", Outcome.NOTE, reason=reason)
    before = (baseline.manifest.get("system") or {}).get("fingerprint")
    if system_fingerprint is not None and before != system_fingerprint:
        reason = f"the system changed since the baseline: {before} to {system_fingerprint}"
        yield finding("system_changed", Outcome.NOTE, reason=reason)
