"""Shards of a suite come to the same decision as the whole."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalnb.errors import InputError
from evalnb.evaluation import decided_run, run_and_score
from evalnb.frames import MISSES, OUTPUTS, SCORES, VERDICTS
from evalnb.golden import GoldenSet, read_golden
from evalnb.merging import joined, merge_shards
from evalnb.runs import Run, Scored
from evalnb.shard_files import read_shard, write_shard
from evalnb.sharding import run_shard
from evalnb.shards import Shard, parse_shard
from evalnb.systems import load_system
from tests.suites import REPOSITORY, copy_of_support, make_suite

AS_OF = date(2026, 12, 1)
FRAMES = ("outputs", "scores", "results", "slices", "decision", "misses", "verdicts")
SUPPORT = read_golden(REPOSITORY / "golden" / "support")


def assert_same_run(one: Run, other: Run) -> None:
    assert (one.outcome, one.exit_code) == (other.outcome, other.exit_code)
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def replayed(system: str, tier: str) -> Scored:
    return run_and_score(
        SUPPORT,
        load_system(SUPPORT, system),
        run_id="whole",
        tier="full" if tier == "full" else "rule_only",
        progress="none",
    )


@pytest.fixture(scope="module", params=[("v1", "full"), ("v2", "rule_only")], ids=str)
def whole(request: pytest.FixtureRequest) -> tuple[Scored, Run]:
    scored = replayed(*request.param)
    return scored, decided_run(SUPPORT, scored, as_of=AS_OF)


def part_of(scored: Scored, shard: Shard) -> Scored:
    """Take the rows of a shard, as its own run would have had them."""

    def rows(frame: pd.DataFrame) -> pd.DataFrame:
        mine = frame["case_id"].map(shard.takes).astype("boolean")
        return frame[mine].reset_index(drop=True)

    return Scored(
        {**scored.about, "run_id": f"shard-{shard.number}"},
        rows(scored.outputs),
        rows(scored.scores),
        rows(scored.verdicts),
        rows(scored.misses),
        scored.unused_cassettes,
        [case_id for case_id in scored.without_requests if shard.takes(case_id)],
    )


@settings(max_examples=4)
@given(data=st.data(), of=st.integers(1, 12))
def test_however_a_run_is_split_the_decision_is_that_of_the_whole(
    whole: tuple[Scored, Run], data: st.DataObject, of: int
) -> None:
    scored, run = whole
    shards = [Shard(number + 1, of) for number in range(of)]
    with TemporaryDirectory() as folder:
        folders = [Path(folder) / str(shard.number) for shard in shards]
        for shard, where in zip(shards, folders, strict=True):
            write_shard(where, SUPPORT, shard, part_of(scored, shard))
        merged = merge_shards(SUPPORT, data.draw(st.permutations(folders)), run_id="whole")
    assert_same_run(run, decided_run(SUPPORT, merged, as_of=AS_OF))


def test_the_runs_that_the_property_is_held_on_have_something_to_decide(
    whole: tuple[Scored, Run],
) -> None:
    _, run = whole
    is_v2 = run.manifest["system"] == "v2"
    assert run.outcome == ("fail" if is_v2 else "pass")
    assert len(run.verdicts) == 0 if is_v2 else len(run.verdicts) > 0


@settings(max_examples=40)
@given(
    ids=st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=40), of=st.integers(1, 20)
)
def test_each_case_is_in_one_shard_whatever_stands_beside_it(ids: list[str], of: int) -> None:
    shards = [Shard(number + 1, of) for number in range(of)]
    for case_id in ids:
        assert sum(shard.takes(case_id) for shard in shards) == 1


def test_where_a_case_goes_never_changes() -> None:
    # 1 + the first 16 digits of `printf refund-1 | sha256sum` modulo 5: 04f3320a08d7710b,
    # cbc1e24d8aa3daf3, d353a2671b67afff, b6ab925fd31924e5.
    names = ["refund-1", "order-late", "größe", "返品"]
    found = [next(n for n in range(1, 6) if Shard(n, 5).takes(name)) for name in names]
    assert found == [5, 2, 5, 1]


@pytest.mark.parametrize("text", ["", "2", "0/5", "6/5", "1/0", "a/b", "1/1001", "-1/5", "1/5/9"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"such as 2/5\. Got"):
        parse_shard(text)


def shop(folder: Path, n: int = 12) -> GoldenSet:
    """Make a suite whose every answer is a miss: nothing is recorded."""
    return make_suite(
        folder,
        [{"id": f"case-{k}", "input": f"Question {k}?", "must_contain": ["x"]} for k in range(n)],
    )


def run_shards(golden: GoldenSet, of: int, folder: Path) -> list[Path]:
    folders = [folder / f"{number}-of-{of}" for number in range(1, of + 1)]
    for number, where in enumerate(folders, start=1):
        run_shard(
            golden, Shard(number, of), load_system(golden, None), folder=where, progress="none"
        )
    return folders


def test_shards_that_miss_come_to_a_miss_as_the_whole_does(tmp_path: Path) -> None:
    golden = shop(tmp_path / "golden" / "shop")
    system = load_system(golden, None)
    run = decided_run(
        golden,
        run_and_score(golden, system, run_id="r", concurrency=1, progress="none"),
        as_of=AS_OF,
    )
    folders = run_shards(golden, 4, tmp_path / "shards")
    merged = decided_run(golden, merge_shards(golden, folders, run_id="r"), as_of=AS_OF)
    assert run.exit_code == 3
    assert len(run.misses) == 12
    assert_same_run(run, merged)
    assert merged.manifest["shards"] == [folder.name for folder in folders]
    assert merged.manifest["record_command"] == run.manifest["record_command"]


def test_a_shard_without_a_case_is_merged_too(tmp_path: Path) -> None:
    golden = shop(tmp_path / "golden" / "shop", n=2)
    folders = run_shards(golden, 7, tmp_path / "shards")
    assert sum(read_shard(folder).scored.outputs.empty for folder in folders) >= 5
    merged = merge_shards(golden, folders, run_id="r")
    assert list(merged.outputs["case_id"]) == ["case-0", "case-1"]


def test_a_cassette_is_unused_where_no_shard_used_it(tmp_path: Path) -> None:
    suite = copy_of_support(tmp_path)
    for other in (suite / "systems").iterdir():
        if other.stem != "v1":
            other.unlink()
    golden = read_golden(suite)
    system = load_system(golden, None)
    unused = run_and_score(golden, system, run_id="r", tier="full", progress="none")
    parts = [
        run_and_score(
            Shard(number, 3).cases_of(golden), system, run_id="r", tier="full", progress="none"
        )
        for number in (1, 2, 3)
    ]
    assert unused.unused_cassettes  # those of the systems that are gone
    assert joined(golden, parts, run_id="r").unused_cassettes == list(unused.unused_cassettes)
    assert all(len(part.unused_cassettes) > len(unused.unused_cassettes) for part in parts)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[GoldenSet, list[Path]]:
    folder = tmp_path_factory.mktemp("three")
    golden = shop(folder / "golden" / "shop")
    return golden, run_shards(golden, 3, folder / "shards")


def rewritten(
    golden: GoldenSet, folder: Path, where: Path, shard: str = "", **about: object
) -> Path:
    """Write a shard again, as another or with something else said of its run."""
    found = read_shard(folder)
    scored = replace(found.scored, about={**found.scored.about, **about})
    write_shard(where, golden, parse_shard(shard) if shard else found.shard, scored)
    return where


def test_missing_shards_are_named(three: tuple[GoldenSet, list[Path]]) -> None:
    golden, (_, second, _) = three
    with pytest.raises(InputError, match=r"shop: lacks 2 of 3 shards: 1/3, 3/3\."):
        merge_shards(golden, [second], run_id="r")


def test_a_shard_that_is_there_twice_is_named(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, folders = three
    again = rewritten(golden, folders[1], tmp_path / "again")
    with pytest.raises(InputError, match=r"again: is shard 2/3, and so is .*2-of-3"):
        merge_shards(golden, [*folders, again], run_id="r")


def test_shards_of_another_split_are_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, folders = three
    (other, _) = run_shards(golden, 2, tmp_path)
    with pytest.raises(InputError, match=r"1-of-2: is shard 1/2, .*1-of-3 is 1/3"):
        merge_shards(golden, [*folders, other], run_id="r")


def test_a_shard_with_cases_of_another_is_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, (first, _, third) = three
    posing = rewritten(golden, first, tmp_path / "posing", "2/3")
    with pytest.raises(InputError) as caught:
        merge_shards(golden, [first, posing, third], run_id="r")
    assert "posing: has rows of other shards: case-" in str(caught.value)
    assert "posing: has no answer of case-" in str(caught.value)


def test_shards_of_other_cases_are_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    _, folders = three
    grown = shop(tmp_path / "golden" / "shop", n=13)
    with pytest.raises(InputError, match=r"1-of-3: has golden version \w+, the suite is now at"):
        merge_shards(grown, folders, run_id="r")


def test_shards_under_other_settings_are_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, folders = three
    cases = [json.loads(line) for line in cases_of(golden).splitlines()]
    other = make_suite(tmp_path / "golden" / "shop", cases, 'matching = "substrings"\n')
    with pytest.raises(InputError, match="1-of-3: has settings fingerprint"):
        merge_shards(other, folders, run_id="r")


@pytest.mark.parametrize(
    ("name", "value"),
    [("system_fingerprint", "0123"), ("mode", "live"), ("tier", "full"), ("repeats", 2)],
)
def test_a_shard_of_another_kind_of_run_is_refused(
    name: str, value: Any, three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, (first, second, third) = three
    other = rewritten(golden, third, tmp_path / "other", **{name: value})
    said = f"other: has {name.replace('_', ' ')} {value}, .*1-of-3 has"
    with pytest.raises(InputError, match=said):
        merge_shards(golden, [first, second, other], run_id="r")


def test_a_shard_that_was_not_finished_is_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, (first, second, third) = three
    unfinished = rewritten(golden, second, tmp_path / "unfinished")
    (unfinished / "shard.json").unlink()
    nothing = tmp_path / "nothing"
    with pytest.raises(InputError) as caught:
        merge_shards(golden, [first, unfinished, third, nothing], run_id="r")
    assert "unfinished: is no finished shard: it has no shard.json" in str(caught.value)
    assert "nothing: is no finished shard: it has no shard.json" in str(caught.value)


FILES = ("shard.json", "outputs.jsonl", "scores.jsonl", "misses.jsonl")


@settings(max_examples=60, deadline=None)
@given(data=st.data(), name=st.sampled_from(FILES))
def test_whatever_happened_to_a_file_of_a_shard_it_is_refused(
    three: tuple[GoldenSet, list[Path]], data: st.DataObject, name: str
) -> None:
    _, folders = three
    before = (folders[0] / name).read_bytes()
    at = data.draw(st.integers(0, len(before) - 1))
    change = data.draw(st.sampled_from(["cut", "byte", "twice"]))
    after = {
        "cut": before[:at],
        "byte": before[:at] + data.draw(st.binary(min_size=1, max_size=1)) + before[at + 1 :],
        "twice": before[:at] + before[at:] * 2,
    }[change]
    with TemporaryDirectory() as folder:
        damaged = Path(folder, "damaged")
        shutil.copytree(folders[0], damaged)
        (damaged / name).write_bytes(after)
        if name == "shard.json" and same_json(before, after):
            read_shard(damaged)
        elif after != before:
            with pytest.raises(InputError, match=r"damaged: (is damaged|cannot be read): "):
                read_shard(damaged)


def same_json(one: bytes, other: bytes) -> bool:
    """Tell whether a change was of white space only."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


def test_a_shard_that_somebody_edited_is_refused(
    three: tuple[GoldenSet, list[Path]], tmp_path: Path
) -> None:
    golden, (first, second, third) = three
    edited = rewritten(golden, first, tmp_path / "edited")
    content = json.loads((edited / "shard.json").read_text())
    del content["about"]["started_at"]
    (edited / "shard.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"edited: is damaged: shard\.json was changed\."):
        merge_shards(golden, [edited, second, third], run_id="r")


def test_what_a_shard_wrote_is_read_back(whole: tuple[Scored, Run], tmp_path: Path) -> None:
    scored, _ = whole
    write_shard(tmp_path, SUPPORT, Shard(1, 1), scored)
    back = read_shard(tmp_path).scored
    for name, schema in (
        ("outputs", OUTPUTS),
        ("scores", SCORES),
        ("verdicts", VERDICTS),
        ("misses", MISSES),
    ):
        pd.testing.assert_frame_equal(getattr(back, name), getattr(scored, name))
        assert list(getattr(back, name)) == list(schema.columns)


def cases_of(golden: GoldenSet) -> str:
    assert golden.folder is not None
    return (golden.folder / "cases.jsonl").read_text()


def test_answers_beside_the_baselines_are_merged_too(tmp_path: Path) -> None:
    golden = read_golden(REPOSITORY / "golden" / "creative")
    system = load_system(golden, "v2")
    whole = run_and_score(golden, system, run_id="whole", tier="full", progress="none")
    folders = []
    for number in (1, 2):
        shard = Shard(number, 2)
        part = replace(golden, cases=tuple(case for case in golden if shard.takes(case.id)))
        scored = run_and_score(part, system, run_id=f"{number}", tier="full", progress="none")
        assert scored.pairs is not None
        assert 0 < len(scored.pairs) < len(golden)
        folders.append(tmp_path / str(number))
        folders[-1].mkdir()
        write_shard(folders[-1], golden, shard, scored)
    merged = merge_shards(golden, folders[::-1], run_id="whole")
    assert merged.pairs is not None
    assert whole.pairs is not None
    pd.testing.assert_frame_equal(merged.pairs, whole.pairs)
    one, other = (decided_run(golden, scored, as_of=AS_OF) for scored in (merged, whole))
    assert "pairwise" in set(one.decision["rule"])
    pd.testing.assert_frame_equal(one.decision, other.decision)
