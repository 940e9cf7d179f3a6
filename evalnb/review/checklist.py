"""The checklist of a review: what a team ticks, kept as a dated record and as a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evalnb.errors import InputError, nearest_name
from evalnb.jsontext import write_atomically
from evalnb.reports.markdown import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from evalnb.review.review import Review

__all__ = ["ITEMS", "checklist_record", "reviews_folder", "write_checklist"]

ITEMS = {
    "labels": "This month's items were rated, and the certificate was issued anew",
    "trend": "Every drop of the trend has a cause that we know",
    "falling": "Falling cases have an owner",
    "failing": "Cases that always fail are fixed, waived or taken out",
    "flaky": "Flaky cases are quarantined or were made exact",
    "kappa": "Kappa is at 0.6 or above on every axis that counts",
    "golden": "Old cases were looked at: refreshed, pruned or kept for a reason",
    "coverage": "Kinds of traffic without a case have drafts",
    "feedback": "Conversations behind diverging feedback were read",
    "waivers": "Waivers about to expire have an answer",
    "spending": "Spending is within the budget",
    "judge": "Advice for the judge's prompt was taken up or turned down",
}
"""Name to what is ticked."""


def reviews_folder(review: Review) -> Path:
    """Return where the records of a suite's reviews are: `reviews`, in the suite's folder.

    Raises
    ------
    InputError
        If the golden set was not read from a folder.
    """
    if review.golden.folder is None:
        raise InputError("only a suite keeps records of its reviews: give a suite's folder")
    return review.golden.folder / "reviews"


def checklist_record(
    review: Review, ticked: Collection[str], notes: Mapping[str, str], by: str
) -> dict[str, Any]:
    """Return what a team decided, with what it was decided on.

    Parameters
    ----------
    review : what was looked at
    ticked : names of `ITEMS`
    notes : name of an item to what was said of it
    by : who reviewed

    Raises
    ------
    InputError
        If an item is none, or nobody reviewed.
    """
    for name in (*ticked, *notes):
        if name not in ITEMS:
            near = nearest_name(name, list(ITEMS))
            hint = f" (did you mean {near!r}?)" if near else ""
            raise InputError(f"{name!r} is no item of the checklist{hint}: {', '.join(ITEMS)}")
    if not by.strip():
        raise InputError("a checklist needs who reviewed: give `reviewer`")
    return {
        "format": 1,
        "suite": review.golden.settings.name,
        "as_of": review.as_of.isoformat(),
        "by": by.strip(),
        "golden_version": review.golden.version,
        "last_run": None if review.runs.empty else str(review.runs["run_id"].iloc[-1]),
        "synthetic": review.synthetic or None,
        "items": [
            {"name": name, "item": item, "done": name in ticked, "note": notes.get(name) or None}
            for name, item in ITEMS.items()
        ],
    }


def write_checklist(
    review: Review, ticked: Collection[str], notes: Mapping[str, str], by: str
) -> tuple[Path, Path]:
    """Write the record of a review, in the place of an earlier one of the same day.

    Parameters
    ----------
    review, ticked, notes, by : as `checklist_record` takes them

    Returns
    -------
    `reviews/<day>.json` and `reviews/<day>.md` in the suite's folder, to be committed
    """
    record = checklist_record(review, ticked, notes, by)
    folder = reviews_folder(review)
    paths = (folder / f"{record['as_of']}.json", folder / f"{record['as_of']}.md")
    text = json.dumps(record, indent=1, ensure_ascii=False)
    write_atomically(paths[0], f"{text}\n".encode())
    write_atomically(paths[1], _page(record).encode())
    return paths


def _page(record: Mapping[str, Any]) -> str:
    lines = [
        f"# Monthly review of {escape(record['suite'])}, {record['as_of']}",
        "",
        *([f"**{escape(record['synthetic'])}**", ""] if record["synthetic"] else []),
        (
            f"Reviewed by {escape(record['by'])}. Golden version `{record['golden_version']}`, last run "
            f"`{record['last_run'] or 'none'}`."
        ),
        "",
    ]
    for item in record["items"]:
        note = f": {escape(item['note'])}" if item["note"] else ""
        lines.append(f"- [{'x' if item['done'] else ' '}] {item['item']}{note}")
    return "\n".join([*lines, ""])
