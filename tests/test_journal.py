from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalnb.cassettes import Exchange, Slot
from evalnb.errors import InputError
from evalnb.journal import Journal, JournalBusyError, journal_identity

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = {"suite": "shop", "repeats": 1}
REQUEST = {"body": {"model": "m"}}


def slot(key: str = "a" * 24, occurrence: int = 1) -> Slot:
    return Slot(key, 1, occurrence)


def write(path: Path, *texts: str) -> None:
    journal = Journal(path, IDENTITY)
    for number, text in enumerate(texts):
        journal.put(f"case-{number}", slot(), REQUEST, Exchange("a" * 24, {"text": text}, 12))
    journal.close()


def test_a_response_is_there_when_the_run_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, "Hello.", "Grüße \N{LINE SEPARATOR} \ud83d")
    journal = Journal(path, IDENTITY)
    kept = journal.take("case-0", slot())
    assert kept is not None
    assert (kept["response"], kept["latency_ms"]) == ({"text": "Hello."}, 12)
    assert journal.take("case-0", slot(occurrence=2)) is None
    assert journal.take("case-2", slot()) is None
    assert journal.n_resumed == 2
    assert next(line["response"]["text"] for line in journal.exchanges()) == "Hello."
    journal.close()


@pytest.mark.parametrize("reason", ["server", "deadline", "budget", "incomplete", "system_error"])
def test_what_a_later_attempt_may_mend_is_not_finished(tmp_path: Path, reason: str) -> None:
    journal = Journal(tmp_path / "journal.jsonl", IDENTITY)
    journal.put_output({"case_id": "a", "repeat": 1, "na_reason": reason})
    journal.put_output({"case_id": "b", "repeat": 1, "text": "Hello.", "na_reason": None})
    journal.close()
    journal = Journal(tmp_path / "journal.jsonl", IDENTITY)
    assert journal.output("a", 1) is None
    assert journal.output("b", 1) == {"case_id": "b", "repeat": 1, "text": "Hello."}
    journal.close()


@given(cut=st.integers(1, 400))
def test_wherever_it_was_torn_whole_lines_stay_and_writing_goes_on(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    write(path, "one", "two", "three")
    content = path.read_bytes()
    path.write_bytes(content[: max(len(content) - cut, 0)])
    whole = path.read_bytes().count(b"\n")
    journal = Journal(path, IDENTITY)
    assert journal.n_resumed == max(whole - 1, 0)  # the first line says what the run is of
    journal.put("new", slot(), REQUEST, Exchange("a" * 24, {"text": "new"}, 1))
    journal.close()
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert lines[0]["identity"] == IDENTITY
    assert lines[-1]["case_id"] == "new"


def test_a_damaged_line_is_asked_again_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, "one", "two")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\x00\xff{\n" + lines[2])
    journal = Journal(path, IDENTITY)
    assert journal.take("case-0", slot()) is None
    assert journal.take("case-1", slot()) is not None
    assert (journal.n_resumed, journal.n_unreadable) == (1, 1)
    journal.close()


def test_a_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, "one")
    with pytest.raises(InputError, match="is of another run"):
        Journal(path, {**IDENTITY, "repeats": 3})


def test_a_file_that_is_no_journal_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text("notes\nof mine\n")
    with pytest.raises(InputError, match="is no journal"):
        Journal(path, IDENTITY)
    assert path.read_text() == "notes\nof mine\n"


def test_two_processes_never_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    program = (
        "import sys; from pathlib import Path; from evalnb.journal import Journal\n"
        f"journal = Journal(Path(sys.argv[1]), {IDENTITY!r}); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(JournalBusyError, match="another process is writing"):
            Journal(path, IDENTITY)
        other.kill()
    Journal(path, IDENTITY).close()  # a process that is dead holds nothing


@pytest.mark.parametrize("content", ["", "no json\n", "[1]\n", '{"format": 1}\n'])
def test_what_cannot_be_read_is_of_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(content)
    assert journal_identity(path) is None


def test_a_journal_says_what_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path)
    identity: dict[str, Any] | None = journal_identity(path)
    assert identity == IDENTITY
