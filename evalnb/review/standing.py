"""What is in force for a time: waivers, overrides, certificates, shadow mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.certificates import read_certificates
from evalnb.frames import FrameSchema, to_records
from evalnb.review.changes import runs_of
from evalnb.waivers import read_waivers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    import pandas as pd

    from evalnb.golden import GoldenSet

__all__ = ["STANDING", "standing_at"]

STANDING = FrameSchema(
    "what is in force",
    {
        "kind": "string",
        "what": "string",
        "reason": "string",
        "owner": "string",
        "expires": "string",
        "days_left": "Int64",
        "state": "string",
    },
    key=("kind", "what", "expires"),
)
"""A row a waiver (`known_failing`, `quarantined`, `overridden`), certificate, shadow mode, and override
of a run (which has no end). `state` is `expired`, `about_to_expire` within 30 days, `in_force` or `past`."""

_SOON = 30


def standing_at(golden: GoldenSet, history: pd.DataFrame, as_of: date) -> pd.DataFrame:
    """List what makes the gate let something pass, or a judge count, and until when.

    Parameters
    ----------
    golden : the suite
    history : as `evalnb.history` gives it, for overrides of runs
    as_of : the day

    Returns
    -------
    as `STANDING` says, what ends first on top

    Raises
    ------
    InputError
        If waivers or certificates cannot be read.
    """
    rows = [*_rows(golden, as_of), *_overrides(history)]
    rows.sort(key=lambda row: row["expires"] or "9")
    return STANDING.build(rows)


def _rows(golden: GoldenSet, as_of: date) -> Iterator[dict[str, Any]]:
    for waiver in read_waivers(golden):
        scorer = f", {waiver.scorer}" if waiver.scorer else ""
        yield {
            "kind": waiver.kind,
            "what": f"{waiver.case}{scorer}",
            "reason": waiver.reason,
            "owner": waiver.owner,
            **_end(waiver.expires, as_of),
        }
    for one in read_certificates(golden):
        yield {
            "kind": "certificate",
            "what": f"{one.judge} ({one.fingerprint})",
            "reason": f"issued {one.issued}, {', '.join(sorted(one.axes))}",
            "owner": ", ".join(one.raters),
            **_end(one.expires, as_of),
        }
    if golden.settings.gate.shadow_until is not None:
        yield {
            "kind": "shadow_mode",
            "what": golden.settings.name,
            "reason": "the gate reports and does not block",
            "owner": None,
            **_end(golden.settings.gate.shadow_until, as_of),
        }


def _end(expires: date, as_of: date) -> dict[str, Any]:
    left = (expires - as_of).days
    state = "expired" if left < 0 else "about_to_expire" if left <= _SOON else "in_force"
    return {"expires": expires.isoformat(), "days_left": left, "state": state}


def _overrides(history: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in to_records(runs_of(history)):
        if "override" in row:
            yield {
                "kind": "override",
                "what": f"run {row['run_id']}",
                "reason": row["override"],
                "owner": None,
                "expires": None,
                "days_left": None,
                "state": "past",
            }
