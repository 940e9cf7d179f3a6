"""Small frames of agreement for the tests of what is shown."""

from __future__ import annotations

from typing import Any

import pandas as pd

HOSTILE = "$\\frac{a}{$ <img src=x onerror=alert(1)> 日本語 \x1b[31m\n" + "long " * 50


def decided(**changes: Any) -> dict[str, Any]:
    """Return a row of a decisions frame."""
    return {
        "axis": "tone",
        "judge": "gpt",
        "metric": "kappa_quadratic",
        "estimate": 0.72,
        "ci_low": 0.55,
        "ci_high": 0.83,
        "n": 40,
        "n_left_out": 2,
        "method": "fisher_t",
        "reason": None,
        "warnings": None,
        "decision": "revise",
        "next_grade": "usable",
        "threshold": 0.6,
        "more_labels": 30,
        **changes,
    }


STRONG = {
    "axis": "pace",
    "estimate": 0.9,
    "ci_low": 0.85,
    "ci_high": 0.94,
    "decision": "strong",
    "next_grade": None,
    "threshold": None,
    "more_labels": None,
}
HOPELESS = {**STRONG, "axis": "facts", "estimate": 0.2, "ci_low": 0.1, "ci_high": 0.3}
HOPELESS["decision"] = "revise"

_DTYPES = {
    **dict.fromkeys(["estimate", "ci_low", "ci_high", "threshold"], "Float64"),
    **dict.fromkeys(["n", "n_left_out", "more_labels"], "Int64"),
    **dict.fromkeys(["axis", "judge", "decision", "next_grade", "reason"], "string"),
}


def decisions(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a decisions frame."""
    return pd.DataFrame([decided(**row) for row in rows], columns=list(decided())).astype(_DTYPES)


def biases(*values: float | None, axis: str = "tone") -> pd.DataFrame:
    """Return biases of the levels 1, 2, … with intervals of one tenth to both sides."""
    found = pd.Series(values, dtype="Float64")
    return pd.DataFrame(
        {
            "axis": axis,
            "level": [str(number) for number in range(1, len(values) + 1)],
            "bias": found,
            "ci_low": found - 0.1,
            "ci_high": found + 0.1,
            "n": pd.array([10] * len(values), dtype="Int64"),
            "reason": pd.NA,
        }
    )


def confusion(*rows: list[int], names: list[str] | None = None) -> pd.DataFrame:
    """Return a table of levels."""
    levels = names or [str(number) for number in range(1, len(rows) + 1)]
    index = pd.Index(levels, name="people", dtype="object")
    columns = pd.Index(levels, name="judge", dtype="object")
    return pd.DataFrame(list(rows), index=index, columns=columns)


def ceiling(
    people: float | None,
    judge: float | None,
    apart: tuple[float, float] | None,
    alpha: float | None,
) -> pd.DataFrame:
    """Return a ceiling of one axis."""
    low, high = apart or (None, None)
    rows = [
        ("human_human", people, None if people is None else people - 0.1, people),
        ("judge_human", judge, None if judge is None else judge - 0.1, judge),
        ("difference", None if people is None or judge is None else judge - people, low, high),
        ("krippendorff_alpha", alpha, None, None),
    ]
    frame = pd.DataFrame(rows, columns=["metric", "estimate", "ci_low", "ci_high"])
    numbers = dict.fromkeys(["estimate", "ci_low", "ci_high"], "Float64")
    return frame.assign(axis="tone", reason=None if people else "no_overlap").astype(numbers)


def compared(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a comparison of judges on the axis tone, the best first."""
    plain = {
        "axis": "tone",
        "judge": "large",
        "n": 100,
        "n_left_out": 0,
        "kappa": 0.8,
        "ci_low": 0.7,
        "ci_high": 0.9,
        "best": False,
        "difference": pd.NA,
        "difference_low": pd.NA,
        "difference_high": pd.NA,
        "lower_one_sided": pd.NA,
        "not_worse": True,
        "usd_per_1000": pd.NA,
        "latency_ms": pd.NA,
        "cheapest_not_worse": pd.NA,
        "reason": pd.NA,
    }
    return pd.DataFrame([{**plain, **row} for row in rows], columns=list(plain))
