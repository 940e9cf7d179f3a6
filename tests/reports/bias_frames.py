"""Small frames of probe effects for the tests of what is shown."""

from __future__ import annotations

from typing import Any

import pandas as pd

from evalnb.probes import PROBE_EFFECTS

HOSTILE = "$\\frac{a}{$ <img src=x onerror=alert(1)> 日本語 \x1b[31m\n" + "long " * 50


def effect(**changes: Any) -> dict[str, Any]:
    """Return a row of probe effects: a judge that likes lists by half a level, and matters."""
    return {
        "judge": "axes",
        "judge_fingerprint": "0123456789ab",
        "probe": "formatting",
        "scorer": "tone",
        "variant": "all",
        "metric": "shift",
        "unit": "level",
        "span": 4.0,
        "headline": True,
        "estimate": 0.5,
        "ci_low": 0.3,
        "ci_high": 0.7,
        "n": 40,
        "n_left_out": 0,
        "n_failed": 0,
        "floor": 0.02,
        "net": 0.48,
        "net_low": 0.28,
        "net_high": 0.68,
        "n_net": 40,
        "p": 0.001,
        "p_holm": 0.006,
        "real": True,
        "matters": True,
        "method": "t over items",
        **changes,
    }


NOISE = {"probe": "sycophancy", "real": False, "matters": False, "estimate": 0.1}
SMALL = {"probe": "verbosity", "matters": False, "estimate": 0.1}
CONFLICTS = {
    "judge": "pairwise",
    "scorer": "pairwise",
    "probe": "position",
    "metric": "conflict_rate",
    "unit": "rate",
    "span": None,
    "headline": False,
    "estimate": 0.4,
    "ci_low": 0.3,
    "ci_high": 0.5,
    "floor": 0.1,
}
UNKNOWN = {
    **dict.fromkeys(("floor", "net", "net_low", "net_high", "p", "p_holm", "real", "matters")),
    "probe": "injection",
    "metric": "success_rate",
    "unit": "rate",
    "span": None,
    "estimate": 0.25,
}
ABSENT = {**UNKNOWN, **dict.fromkeys(("estimate", "ci_low", "ci_high")), "reason": "too_few"}


def effects(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a frame of probe effects."""
    return PROBE_EFFECTS.build(effect(**row) for row in rows)
