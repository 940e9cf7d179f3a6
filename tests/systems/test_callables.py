from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import pytest

from evalnb.cases import Case
from evalnb.systems import CallableSystem, Output, System
from evalnb.systems.callables import import_function


def case(**fields: Any) -> Case:
    return Case.model_validate({"id": "a", "input": "Hi"} | fields)


def plain(case: Case, client: Any) -> str:
    return "x"


async def coroutine(case: Case, client: Any) -> Output:
    return Output(f"to {case.input}")


class Bot:
    def __call__(self, case: Case, client: Any) -> str:
        return f"{case.input} {client}"


class AsyncBot:
    async def __call__(self, case: Case, client: Any) -> str:
        return f"{case.input} {client}"


@pytest.mark.parametrize(
    ("function", "name", "is_async"),
    [
        (plain, "plain", False),
        (coroutine, "coroutine", True),
        (partial(plain, client=None), "plain", False),
        (partial(coroutine, client=None), "coroutine", True),
        (Bot(), "Bot", False),
        (AsyncBot(), "AsyncBot", True),
        (AsyncBot().__call__, "AsyncBot.__call__", True),
    ],
)
def test_whatever_can_be_called_is_a_system(function: Any, name: str, is_async: bool) -> None:
    found = CallableSystem(function)
    assert (found.name, found.is_async) == (name, is_async)
    assert isinstance(found, System)
    assert len(found.fingerprint) == 12
    assert CallableSystem(function, "mine").name == "mine"


def test_a_coroutine_function_answers() -> None:
    client = anthropic.AsyncAnthropic(api_key="x")
    output = asyncio.run(CallableSystem(coroutine).answer(case(), client))
    assert output == Output("to Hi")


def test_the_fingerprint_of_a_function_follows_its_name_and_module() -> None:
    prints = {CallableSystem(function).fingerprint for function in (plain, coroutine, Bot())}
    assert len(prints) == 3
    assert CallableSystem(plain).fingerprint == CallableSystem(plain, "mine").fingerprint


def test_a_function_without_a_file_has_a_fingerprint() -> None:
    # As in a notebook, where the module of a cell's functions is no file.
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec("def answer(case, client):\n    return 'x'\n", scope)
    exec("def other(case, client):\n    return 'y'\n", scope)
    prints = [CallableSystem(scope[name]).fingerprint for name in ("answer", "other")]
    assert len({*prints}) == 2


def write(folder: Path, **files: str) -> Path:
    """Write Python files; two underscores stand for a folder."""
    for name, source in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def fingerprint_of(path: str, folder: Path) -> str:
    """Return the fingerprint of a function in a folder beside the one of a suite."""
    return CallableSystem(import_function(path, folder / "shop")).fingerprint


ANSWER = "def answer(case, client): ...\n"


def test_the_fingerprint_follows_every_module_of_a_package(tmp_path: Path) -> None:
    write(tmp_path, bot_a__bot=ANSWER, bot_a__deep__helpers="x = 1\n", beside="y = 1\n")
    before = fingerprint_of("bot_a.bot:answer", tmp_path)
    write(tmp_path, beside="y = 2\n")
    (tmp_path / "bot_a" / "notes.txt").write_text("no code")
    assert fingerprint_of("bot_a.bot:answer", tmp_path) == before
    write(tmp_path, bot_a__deep__helpers="x = 2\n")
    changed = fingerprint_of("bot_a.bot:answer", tmp_path)
    write(tmp_path, bot_a__deep__more="")
    assert len({before, changed, fingerprint_of("bot_a.bot:answer", tmp_path)}) == 3


def test_the_fingerprint_does_not_follow_the_place_of_a_package(tmp_path: Path) -> None:
    write(tmp_path / "one", bot_b__bot=ANSWER)
    before = fingerprint_of("bot_b.bot:answer", tmp_path / "one")
    del sys.modules["bot_b"], sys.modules["bot_b.bot"]
    sys.path.remove(str(tmp_path / "one"))
    write(tmp_path / "two", bot_b__bot=ANSWER)
    assert fingerprint_of("bot_b.bot:answer", tmp_path / "two") == before


def test_what_is_installed_counts_by_its_module_and_version(tmp_path: Path) -> None:
    site = write(tmp_path / "site-packages", bot_c__bot=ANSWER, bot_c__other="x = 1\n")
    info = site / "shop_bot-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-bot\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("bot_c\n")
    before = fingerprint_of("bot_c.bot:answer", site)
    write(site, bot_c__other="x = 2\n")
    assert fingerprint_of("bot_c.bot:answer", site) == before
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-bot\nVersion: 1.1\n")
    newer = fingerprint_of("bot_c.bot:answer", site)
    write(site, bot_c__bot="def answer(case, client): pass\n")
    assert len({before, newer, fingerprint_of("bot_c.bot:answer", site)}) == 3


def test_the_fingerprint_follows_the_files_of_the_suite() -> None:
    prints = {CallableSystem(plain, files=files).fingerprint for files in ("", "a", "b")}
    assert len(prints) == 3
