"""What is kept on disk of batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evalnb.connections import AiohttpTransport
from evalnb.control import RunControl
from evalnb.errors import InputError
from evalnb.judges.batches import BatchTransport
from tests.judges.batches.asking import SECRET, ask, lines, texts
from tests.standin import StandIn

if TYPE_CHECKING:
    from pathlib import Path


def test_no_credentials_are_written(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(2))
    assert SECRET not in path.read_text()


def test_a_torn_last_line_is_cut_off(path: Path) -> None:
    with StandIn() as standin:
        ask(standin, path, texts(3))
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"intent":"aaaa","at":"2026-12-01T00:00:00+00:00","cus')
        asked = ask(standin, path, texts(6)[3:])
        assert standin.stats()["batches"] == 2
    assert len(asked.texts) == 3
    assert path.read_bytes().startswith(whole)
    assert len(lines(path)) == 11  # the format, and of each batch two lines and three responses


def test_another_process_may_not_write_the_same_file(path: Path) -> None:
    first = BatchTransport(AiohttpTransport(), path, control=RunControl())
    with pytest.raises(InputError, match="another process is writing"):
        BatchTransport(AiohttpTransport(), path, control=RunControl())
    asyncio.run(first.aclose())


def test_a_file_of_another_kind_is_refused(path: Path) -> None:
    path.write_text('{"format": 99}\n')
    with pytest.raises(InputError, match="is no file of batches of this version"):
        BatchTransport(AiohttpTransport(), path, control=RunControl())
