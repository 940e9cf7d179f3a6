import pandas as pd
from pandas.testing import assert_frame_equal

from evalnb.frames import MISSES
from evalnb.reports.misses import group_misses, miss_lines

CHANGED = "`tools[refund].description` changed"


def misses(*pairs: tuple[str, str | None]) -> pd.DataFrame:
    return MISSES.build(
        {"case_id": case_id, "repeat": 1, "occurrence": n, "key": f"k{n}", "explanation": why}
        for n, (case_id, why) in enumerate(pairs)
    )


def test_misses_of_one_explanation_are_one_row() -> None:
    frame = misses(
        ("case-c", "nothing like it was ever recorded"),
        ("case-b", CHANGED),
        ("case-a", CHANGED),
        ("case-b", CHANGED),
    )
    expected = pd.DataFrame(
        {
            "explanation": pd.Series(
                [CHANGED, "nothing like it was ever recorded"], dtype="string"
            ),
            "n_cases": pd.Series([2, 1], dtype="Int64"),
            "case_ids": pd.Series([["case-b", "case-a"], ["case-c"]], dtype="object"),
        }
    )
    assert_frame_equal(group_misses(frame), expected)


def test_no_miss_is_no_group() -> None:
    frame = group_misses(MISSES.empty())
    assert frame.empty
    assert frame.dtypes.astype("str").to_dict() == {
        "explanation": "string",
        "n_cases": "Int64",
        "case_ids": "object",
    }
    assert miss_lines(MISSES.empty()) == []


def test_a_line_names_the_first_cases_and_counts_the_others() -> None:
    frame = misses(*((f"case-{n}", CHANGED) for n in range(1, 8)), ("case-9", None))
    assert miss_lines(frame) == [
        f"7 cases miss: {CHANGED} (case-1, case-2, case-3, case-4, case-5 and 2 more)",
        "1 case misses: – (case-9)",
    ]
