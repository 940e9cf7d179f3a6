"""`evalnb score-logs` and `evalnb golden draft` as a person runs them, in this process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evalnb.cli import app
from evalnb.curation import draft_candidates, find_struggling, read_candidates, read_logs
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.errors import EvalnbError, InputError, MissError
from evalnb.frames import SCORES, to_records
from tests.suites import make_suite

CASE = {"id": "a", "input": "Where is my parcel?", "expected_exact": "x"}


def run(*arguments: str | Path) -> None:
    app([str(argument) for argument in arguments], standalone_mode=False)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "golden" / "shop"
    settings = '[judging]\njudges = ["axes"]\n[production]\nmust_not_include = ["certificate"]\n'
    make_suite(folder, [CASE], settings)
    return folder


@pytest.fixture(scope="module")
def airline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the conversations of tau-bench as a team would have them, its reward as feedback."""
    path = tmp_path_factory.mktemp("logs") / "airline.jsonl"
    logs = load_taubench_airline().drop(columns="task")
    path.write_text("".join(f"{json.dumps(row)}\n" for row in to_records(logs)))
    return path


def test_logs_are_scored_and_failures_are_candidates(
    suite: Path, airline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("score-logs", suite, airline, "--n", "5", "--results", tmp_path)
    folder = only(tmp_path / "_production" / "shop")
    scores = SCORES.build(rows_of(folder / "scores.jsonl"))
    assert scores.groupby("scorer", sort=False).size().to_dict() == {
        "must_not_include": 50,
        "refusal": 50,
        "language": 50,
    }
    found = read_candidates(folder)
    assert len(found.candidates) == 5
    assert set(found.logs["conversation_id"]) == set(found.candidates["conversation_id"])
    failing = scores.loc[~scores["passed"].fillna(value=True), "case_id"]
    assert set(found.candidates["conversation_id"]) <= set(failing)
    text = "".join(path.read_text() for path in folder.iterdir())
    assert "@example.com" not in text
    assert "<EMAIL_1>" in text
    said = capsys.readouterr().out
    assert said.startswith("50 conversations scored\n  must\\_not\\_include".replace("\\", ""))
    assert "5 candidates, 0 near-duplicates folded" in said
    assert (folder / "summary.md").read_text().startswith("# Production\n\n- 50 conversations")


def test_verdicts_that_are_not_recorded_are_a_miss_and_all_else_is_written(
    suite: Path, airline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MissError, match="add --mode record"):
        run("score-logs", suite, airline, "--rate", "0.2", "--tier", "full", "--results", tmp_path)
    rows = rows_of(only(tmp_path / "_production" / "shop") / "scores.jsonl")
    misses = [row for row in rows if row.get("na_reason") == "miss"]
    assert {row["scorer"] for row in misses} == {"politeness", "factual", "relevance"}
    assert f"not scored, miss: {len(misses)}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "arguments", "problem"),
    [
        (b"", [], "holds no record"),
        (b"{]\n{\n", [], "no record of .* can be read"),
        (b'{"a": 1}\n', [], "a"),
        (b'{"who": "user", "said": "Hi", "chat": "c"}\n', ["--map", "text=body"], "body"),
        (b'{"who": "user", "said": "Hi", "chat": "c"}\n', ["--map", "text"], "COLUMN=FIELD"),
        (gzip.compress(b'{"session": "s"}\n' * 999, mtime=0)[:-20], [], "read"),
        (b"{}", ["--rate", "0"], "--rate must be above 0"),
        (b"{}", [""], "there are no logs at"),
    ],
)
def test_logs_that_cannot_be_used_leave_nothing_behind(
    content: bytes, arguments: list[str], problem: str, suite: Path, tmp_path: Path
) -> None:
    path = tmp_path / ("day.jsonl.gz" if content.startswith(b"\x1f") else "day.jsonl")
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        run("score-logs", suite, path, *arguments, "--results", tmp_path / "results")
    left = [path.name for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert set(left) <= {"damaged_logs.jsonl"}


def test_drafts_are_fifteen_of_each_kind_redacted_and_the_same_again(
    suite: Path, airline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        run("golden", "draft", suite, "--from", airline, "--results", tmp_path / name)
    one, two = (only(tmp_path / name / "_drafts" / "shop") for name in ("one", "two"))
    for file in ("candidates.jsonl", "logs.jsonl"):
        assert (one / file).read_bytes() == (two / file).read_bytes()
    found = read_candidates(one)
    assert found.candidates["stratum"].value_counts().to_dict() == {"retries": 15, "take-over": 15}
    assert set(found.logs["conversation_id"]) == set(found.candidates["conversation_id"])
    taken_over = found.candidates.loc[found.candidates["stratum"] == "take-over", "conversation_id"]
    escalated = found.logs.loc[found.logs["escalated"].fillna(value=False), "conversation_id"]
    assert set(taken_over) <= set(escalated)
    struggling = find_struggling(read_logs(airline), use_feedback=True)
    assert set(found.candidates["conversation_id"]) <= set(struggling["conversation_id"])
    assert not found.logs["text"].str.contains("@example.com", regex=False).any()
    other = draft_candidates(read_logs(airline), seed=1).candidates
    assert set(other["conversation_id"]) != set(found.candidates["conversation_id"])
    said = capsys.readouterr().out
    assert "15 of 18 conversations with a person taking over" in said
    assert f'open notebooks/curate.ipynb with logs = "{one}"' in said


def test_nothing_personal_is_said_or_written_of_ids_categories_and_damaged_records(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = ["ada@example.org", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"]
    secrets.append("sk-ant-api03-abcdefghijklmnopqrstuvwx")
    said = [("user", f"Is this {' '.join(secrets)}?"), ("assistant", f"I cannot say {secrets[0]}.")]
    rows: list[dict[str, Any]] = [
        {"session": name, "role": role, "content": text, "escalated": True,
         "category": secrets[0], "model": secrets[3], "trace_id": secrets[2]}
        for name in secrets
        for role, text in said
    ]  # fmt: skip
    rows.append({"session": "s", "role": secrets[0], "content": secrets[1]})
    path = tmp_path / "day.jsonl"
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_text(f'{text}{{"session": "t", "content": "{" ".join(secrets)}"')
    results = tmp_path / "results"
    run("golden", "draft", suite, "--from", path, "--results", results)
    run("score-logs", suite, path, "--results", results)
    told = capsys.readouterr()
    files = [file for file in results.rglob("*") if file.is_file()]
    assert {file.name for file in files} == {
        "candidates.jsonl", "logs.jsonl", "damaged_logs.jsonl", "scores.jsonl", "summary.md"
    }  # fmt: skip
    for written in [told.out, told.err, *(file.read_text() for file in files)]:
        assert [secret for secret in secrets if secret in written] == []
    folder = only(results / "_drafts" / "shop")
    found = read_candidates(folder)
    assert set(found.candidates["conversation_id"]) == set(found.logs["conversation_id"])
    scored = rows_of(only(results / "_production" / "shop") / "scores.jsonl")
    assert len({row["case_id"] for row in scored}) == len(secrets)


def test_too_few_drafts_are_said_and_none_is_an_error(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"session": "over", "role": "user", "content": "Which visa do I need?", "escalated": True},
        {"session": "over", "role": "assistant", "content": "Let me ask."},
        # It repeats the golden case.
        {"session": "same", "role": "user", "content": "Where is my parcel?", "escalated": True},
        *({"session": "again", "role": "user", "content": "Do you sell ducks?"} for _ in range(2)),
        {"session": "fine", "role": "user", "content": "How late is it?"},
    ]
    path = tmp_path / "day.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run("golden", "draft", suite, "--from", path, "--results", tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        "1 of 1 conversation with a person taking over: 14 fewer than the 15 wanted, read more of the logs",
        "1 of 1 conversation with retries: 14 fewer than the 15 wanted, read more of the logs",
        "1 near-duplicate left out",
    ]
    path.write_text(json.dumps(rows[-1]))
    with pytest.raises(EvalnbError, match="neither retries nor take-overs"):
        run("golden", "draft", suite, "--from", path, "--results", tmp_path / "none")
    assert not list((tmp_path / "none" / "_drafts" / "shop").iterdir())


def test_check_tells_cases_in_both_splits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = {"id": "held", "input": "How late do you open on Mondays?", "split": "holdout"}
    near = {"id": "near", "input": "how late do you open on Mondays", "split": "dev"}
    cases = [{**case, "must_contain": ["x"]} for case in (held, near)]
    make_suite(tmp_path / "shop", cases)
    run("check", tmp_path / "shop")
    assert "warning: held, a holdout case, is nearly near (" in capsys.readouterr().out
    same = {"id": "same", "input": "how late do  you open on mondays?", "must_contain": ["y"]}
    make_suite(tmp_path / "shop", [*cases, same])
    with pytest.raises(InputError, match=r"are the same.*: held is same\. Take one"):
        run("check", tmp_path / "shop")
