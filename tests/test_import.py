from __future__ import annotations

import subprocess
import sys

import pytest

import evalnb

HEAVY = (
    "anthropic",
    "ipywidgets",
    "matplotlib",
    "papermill",
    "scipy",
    "sklearn",
    "xllamacpp",
)


def output_of(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    ["evalnb", "evalnb.cases", "evalnb.golden", "evalnb.frames", "evalnb.keys", "evalnb.cassettes"],
)
def test_light_modules_load_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    assert output_of(script) == "[]"


def test_the_command_line_answers_for_help_without_a_table() -> None:
    heavy = (*HEAVY, "numpy", "pandas", "pydantic")
    script = f"import sys, evalnb.cli; print([name for name in {heavy} if name in sys.modules])"
    assert output_of(script) == "[]"


def test_importing_loads_nothing_of_its_own() -> None:
    script = (
        "import sys, evalnb; print([name for name in sys.modules if name.startswith('evalnb.')])"
    )
    assert output_of(script) == "[]"


def test_importing_everything_opens_no_socket_and_starts_no_thread() -> None:
    script = """
import sys
seen = []
sys.addaudithook(
    lambda event, _: seen.append(event)
    if event.startswith("socket.") or event in ("_thread.start_new_thread", "subprocess.Popen")
    else None
)
import importlib, pkgutil, threading
import evalnb
for name in evalnb.__all__:
    getattr(evalnb, name)
names = [info.name for info in pkgutil.walk_packages(evalnb.__path__, "evalnb.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert "evalnb.transport" in names
print(sorted(set(seen)), [thread.name for thread in threading.enumerate()])
"""
    assert output_of(script) == "[] ['MainThread']"


def test_every_public_name_is_there() -> None:
    names = vars(evalnb)["__all__"]
    assert sorted(names) == names
    assert set(names) <= set(dir(evalnb))
    for name in names:
        assert getattr(evalnb, name).__name__ == name
