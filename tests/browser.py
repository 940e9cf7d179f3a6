"""JupyterLab in headless Chromium, for tests of what people see."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["CHROMIUM", "RUN_ALL", "Lab", "jupyterlab", "open_notebook", "open_page", "restart"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

RUN_ALL = "async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')"
"""Runs all cells of the notebook in view; tells whether none of them failed."""

_SECONDS = 120
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

_KERNEL_IS_READY = """async () => {
    await window.jupyterapp.restored;
    const panel = window.jupyterapp.shell.currentWidget;
    await panel.revealed;
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
}"""


_SHUT_DOWN = "async () => await window.jupyterapp.shell.currentWidget?.sessionContext?.shutdown()"


@dataclass(frozen=True)
class Lab:
    """JupyterLab over the folder in which tests have theirs; one is enough for all of them."""

    root: Path
    pages: str

    def url(self, notebook: Path) -> str:
        """Return where a notebook below the root is opened."""
        return self.pages.format(path=quote(notebook.relative_to(self.root).as_posix()))


@contextmanager
def jupyterlab(
    root: Path, state: Path, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Serve a folder on the loopback interface; give the URL up to the token.

    Nothing of the user's own configuration is read or written: all of it is below `state`.
    """
    token, port = secrets.token_hex(16), _free_port()
    folders = {
        name: state / name.lower()
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "IPYTHONDIR",
        )
    }
    # Else a question about news lies over the page.
    page = folders["JUPYTER_CONFIG_DIR"] / "labconfig" / "page_config.json"
    page.parent.mkdir(parents=True)
    announcements = "@jupyterlab/apputils-extension:announcements"
    page.write_text(json.dumps({"disabledExtensions": {announcements: True}}))
    # Else only the cells in view are on the page.
    tracker = (
        folders["JUPYTERLAB_SETTINGS_DIR"]
        / "@jupyterlab"
        / "notebook-extension"
        / "tracker.jupyterlab-settings"
    )
    tracker.parent.mkdir(parents=True)
    tracker.write_text(json.dumps({"windowingMode": "none"}))
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"),
        *("--ServerApp.terminals_enabled=False", "--LabApp.extension_manager=readonly"),
        "--LabApp.expose_app_in_browser=True",
    ]
    server = subprocess.Popen(
        command,
        cwd=root,
        env={
            **os.environ,
            **{name: str(folder) for name, folder in folders.items()},
            **(environment or {}),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server)
        yield f"http://127.0.0.1:{port}/lab/workspaces/test/tree/{{path}}?token={token}&reset"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


@contextmanager
def open_notebook(url: str) -> Iterator[tuple[Any, list[str]]]:
    """Open a notebook with its kernel ready; give the page and what it asks of other hosts."""
    outside: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1000})
        page.set_default_timeout(1000 * _SECONDS)
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(
                    ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
                )
                else outside.append(request.url)
            ),
        )
        page.goto(url)
        page.wait_for_selector(".jp-NotebookPanel .jp-Notebook-cell", state="attached")
        page.evaluate(_KERNEL_IS_READY)
        yield page, outside
        page.evaluate(_SHUT_DOWN)
        browser.close()


@contextmanager
def open_page(path: Path) -> Iterator[tuple[Any, list[str]]]:
    """Open a file as a page; give the page and all that is asked for beside the file."""
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.set_default_timeout(1000 * _SECONDS)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.resolve().as_uri())
        yield page, asked
        browser.close()


def restart(page: Any) -> None:
    """Restart the kernel of the notebook, and wait for it."""
    page.evaluate(
        """async () => {
            const context = window.jupyterapp.shell.currentWidget.sessionContext;
            await context.session.kernel.restart();
            await context.session.kernel.info;
        }"""
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("JupyterLab did not start")
