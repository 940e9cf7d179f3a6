"""Cassettes: recorded responses, one file a request, and the misses of a replay.

A file holds the canonical request and its responses by repeat and occurrence: the second time
that the same case asks the same thing within one repeat is occurrence 2. The runner binds the
case and repeat that are running in a context variable; tasks and `asyncio.to_thread` inherit it.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, get_args
from weakref import WeakValueDictionary

from pydantic_core import from_json

from evalnb.errors import InputError, MissError, Problem
from evalnb.frames import MISSES, NaReason
from evalnb.jsontext import JsonProblem, parse_json, write_atomically
from evalnb.keys import (
    CanonicalRequest,
    Renumbering,
    differing_paths,
    leaves,
    request_key,
    stable_block,
)
from evalnb.places import place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from evalnb.journal import Journal

__all__ = [
    "BINDING_HEADER",
    "Binding",
    "Cassettes",
    "Exchange",
    "Miss",
    "Mode",
    "Slot",
    "bind",
    "bound",
    "rebind",
]

Mode = Literal["replay", "record", "live"]
MODES: tuple[str, ...] = get_args(Mode)

_FORMAT = 1
_REMEMBERED_FILES = 256
# Of the responses whose id is drawn anew for each call, what it starts with.
_ID_STEMS = {"message": "msg", "completion": "compl"}
_binding: ContextVar[Binding | None] = ContextVar("evalnb_binding", default=None)


BINDING_HEADER = "x-evalnb-binding"
"""Header that never leaves this process: the transport takes it out."""
_tokens = count(1)
_by_token: WeakValueDictionary[str, Binding] = WeakValueDictionary()


@dataclass(frozen=True)
class Slot:
    """Where one response belongs.

    Attributes
    ----------
    key : of the canonical request
    repeat : of the case, counted from 1
    occurrence : how many-th time this case and repeat makes the request, counted from 1
    """

    key: str
    repeat: int
    occurrence: int


@dataclass(frozen=True)
class Exchange:
    """One response that a case and repeat was given, as the runner accounts for it."""

    key: str
    response: Mapping[str, Any]
    latency_ms: float | None


@dataclass
class Binding:
    """The case and repeat on whose behalf requests are made, and what it was given."""

    case_id: str
    repeat: int
    exchanges: list[Exchange] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    incomplete: set[str] = field(default_factory=set)
    """Keys of the requests whose last response broke off."""
    failed: tuple[NaReason, str] | None = None
    """Why the latest request got no answer; None where it got one."""
    stopped: NaReason | None = None
    """Why a request of it was not sent any more: the run was at its end."""
    token: str = field(default_factory=lambda: str(next(_tokens)))
    """What a client says in `BINDING_HEADER` to be counted here, whatever thread it is used in."""
    _taken: dict[str, set[int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        _by_token[self.token] = self

    def slot(self, key: str) -> Slot:
        """Take the slot of the next request with this key: the first that is free."""
        with self._lock:
            taken = self._taken.setdefault(key, set())
            occurrence = next(n for n in range(1, len(taken) + 2) if n not in taken)
            taken.add(occurrence)
            return Slot(key, self.repeat, occurrence)

    def release(self, slot: Slot) -> None:
        """Give back the slot of a request that got no answer: its retry is no new occurrence."""
        with self._lock:
            self._taken[slot.key].discard(slot.occurrence)


@dataclass(frozen=True)
class Miss:
    """One request that no cassette holds.

    `case_id` is None when the request came from a thread that did not inherit the binding.
    """

    case_id: str | None
    slot: Slot
    kind: Literal["request", "repeat", "occurrence"]
    request: CanonicalRequest


@contextmanager
def bind(case_id: str, repeat: int) -> Iterator[Binding]:
    """Make requests within this block on behalf of a case and repeat."""
    binding = Binding(case_id, repeat)
    token = _binding.set(binding)
    try:
        yield binding
    finally:
        _binding.reset(token)


@contextmanager
def rebind(token: str | None) -> Iterator[None]:
    """Make requests within this block on behalf of whom a token stands for, if of anybody."""
    binding = _by_token.get(token or "")
    if binding is None:
        yield
        return
    before = _binding.set(binding)
    try:
        yield
    finally:
        _binding.reset(before)


def bound() -> Binding | None:
    """Return the binding that holds here, None outside of any."""
    return _binding.get()


class Cassettes:
    """The recorded responses of a suite.

    Parameters
    ----------
    folder : one file a key, here or at a URL; need not exist yet
    mode : `replay` answers from the files alone; `record` asks the model for what is missing and
        writes it; `live` asks whatever the files hold, and writes none
    refresh : in `record`, ask again for everything, once each
    journal : in `live`, where responses are kept, and taken from when the run is taken up again
    """

    def __init__(
        self,
        folder: str | Path,
        mode: Mode = "replay",
        *,
        refresh: bool = False,
        journal: Journal | None = None,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}. Got {mode!r}.")
        if refresh and mode != "record":
            raise ValueError(f"refresh needs the mode `record`. Got {mode!r}.")
        self.folder = place(folder)
        self.mode = mode
        self.refresh = refresh
        self.misses: list[Miss] = []
        self.used: set[str] = set()
        self.faults: list[InputError] = []
        self._unbound = Binding("", 1)
        self._journal = journal
        self._fresh: set[Slot] = set()
        self._claimed: set[Slot] = set()
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._lock = threading.RLock()

    def slot(self, key: str) -> Slot:
        """Return where the response to the next request with this key belongs."""
        return (bound() or self._unbound).slot(key)

    def release(self, slot: Slot) -> None:
        """Give back the slot of a request that got no answer."""
        (bound() or self._unbound).release(slot)

    def claim(self, slot: Slot) -> bool:
        """Tell whether a request may go on; not while another one records the same slot."""
        if self.mode != "record":
            return True
        with self._lock:
            if slot in self._claimed:
                return False
            self._claimed.add(slot)
            return True

    def unclaim(self, slot: Slot) -> None:
        """Let other requests for a slot go on."""
        with self._lock:
            self._claimed.discard(slot)

    def take(self, slot: Slot, request: CanonicalRequest) -> Exchange | None:
        """Return the recorded response of a slot, None where the model is to be asked.

        Raises
        ------
        MissError
            In replay, when there is no recording; the miss is kept in `misses` as well.
        InputError
            If the cassette is damaged or was recorded from another model than the one asked for.
        """
        if self.mode == "live":
            return self._resumed(slot)
        with self._lock:
            self.used.add(slot.key)
            if self.refresh and slot not in self._fresh:
                return None
            try:
                file = self._file(slot.key)
                if file is not None:
                    file.check(self._path(slot.key), request)
                entry = file.entries.get((slot.repeat, slot.occurrence)) if file else None
                if entry is not None:
                    _check_model(self._path(slot.key), request, entry.response)
                    return entry
            except InputError as error:
                self.report(error)
                raise
            if self.mode == "record":
                return None
            binding = bound()
            miss = Miss(binding.case_id if binding else None, slot, _kind(file, slot), request)
            self.misses.append(miss)
            if binding:
                binding.misses.append(miss)
        raise MissError(self._explain(miss))

    def put(
        self,
        slot: Slot,
        request: CanonicalRequest,
        response: Mapping[str, Any],
        latency_ms: float | None,
    ) -> Exchange:
        """Store a response as a whole before anybody sees it, and return the one to hand on.

        What is handed on has its ids and signatures, which a live conversation needs; the file
        has not.
        """
        latency_ms = None if latency_ms is None else round(latency_ms)
        exchange = Exchange(slot.key, response, latency_ms)
        with self._lock:
            try:
                if self.mode == "live":
                    self._keep(slot, request, exchange)
                else:
                    self._write(slot, request, exchange)
                    self._fresh.add(slot)
            except InputError as error:
                self.report(error)
                raise
        return exchange

    def keys(self) -> list[str]:
        """Return the keys of all files, sorted."""
        return sorted(path.stem for path in self.folder.glob("*.json") if _is_key(path.stem))

    def foreign(self) -> list[str]:
        """Return the names of the JSON files that are no cassettes, sorted."""
        return sorted(path.name for path in self.folder.glob("*.json") if not _is_key(path.stem))

    @property
    def n_recorded(self) -> int:
        """How many responses were recorded since this object was made."""
        return len(self._fresh)

    def unused(self) -> list[str]:
        """Return the keys of the files that nothing asked for since this object was made."""
        return [key for key in self.keys() if key not in self.used]

    def remove(self, keys: list[str]) -> None:
        """Delete files by key."""
        with self._lock:
            for key in keys:
                self._path(key).unlink()
                self._files.pop(key, None)

    def read(self, key: str) -> tuple[CanonicalRequest, dict[tuple[int, int], Exchange]]:
        """Return the request of a key, and its responses by repeat and occurrence.

        Raises
        ------
        InputError
            If there is no such file or it is damaged.
        """
        file = self._file(key)
        path = self._path(key)
        if file is None:
            raise InputError(f"there is no cassette {path}")
        if request_key(file.request) != key:
            raise _damaged(path, "holds another request than its name says.")
        return file.request, dict(file.entries)

    def misses_frame(self) -> pd.DataFrame:
        """Return the misses frame, each miss with the nearest recorded request."""
        return MISSES.build(
            {
                "case_id": miss.case_id,
                "repeat": miss.slot.repeat,
                "occurrence": miss.slot.occurrence,
                "kind": miss.kind,
                "key": miss.slot.key,
                "nearest_key": nearest,
                "differences": differences,
                "explanation": _explanation(miss, differences),
            }
            for miss in _distinct(self.misses)
            for nearest, differences in [self._nearest.differences(miss)]
        )

    @cached_property
    def _nearest(self) -> _Nearest:
        requests = {}
        for key in self.keys():
            try:
                requests[key], _ = self.read(key)
            except InputError as error:  # it may be the very one that is missing
                self.report(error)
        return _Nearest(requests)

    def _resumed(self, slot: Slot) -> Exchange | None:
        """Return what an earlier part of this run was given."""
        binding = bound()
        if self._journal is None or binding is None:
            return None
        kept = self._journal.take(binding.case_id, slot)
        return None if kept is None else Exchange(slot.key, kept["response"], kept["latency_ms"])

    def _keep(self, slot: Slot, request: CanonicalRequest, exchange: Exchange) -> None:
        binding = bound()
        if self._journal is not None and binding is not None:
            self._journal.put(binding.case_id, slot, request, exchange)

    def _write(self, slot: Slot, request: CanonicalRequest, exchange: Exchange) -> None:
        path = self._path(slot.key)
        _check_model(path, request, exchange.response)
        present = self._file_to_extend(slot.key, request)
        stored = without_volatile_ids(slot, exchange.response)
        entry = Exchange(slot.key, stored, exchange.latency_ms)
        place = (slot.repeat, slot.occurrence)
        file = _File(request, {**(present.entries if present else {}), place: entry})
        try:
            write_atomically(path, file.to_json(slot.key))
        except OSError as error:
            problem = Problem(str(path), 0, "", f"cannot be written: {error}.", "Make room for it.")
            raise InputError("a response could not be recorded", [problem]) from error
        self._remember(slot.key, file)

    def _remember(self, key: str, file: _File) -> None:
        """Keep the files that were used last: repeats of a case ask for the same one."""
        self._files[key] = file
        self._files.move_to_end(key)
        if len(self._files) > _REMEMBERED_FILES:
            self._files.popitem(last=False)

    def report(self, fault: InputError) -> None:
        """Keep a fault, once."""
        if str(fault) not in {str(known) for known in self.faults}:
            self.faults.append(fault)

    def _file_to_extend(self, key: str, request: CanonicalRequest) -> _File | None:
        try:
            file = self._file(key)
            if file is not None:
                file.check(self._path(key), request)
            return file
        except InputError:
            if self.refresh:  # it is recorded anew
                return None
            raise

    def _explain(self, miss: Miss) -> str:
        what = {
            "request": "was never recorded",
            "repeat": f"was not recorded for repeat {miss.slot.repeat}",
            "occurrence": f"was not recorded for occurrence {miss.slot.occurrence}",
        }[miss.kind]
        who = f"case {miss.case_id}: " if miss.case_id else ""
        return f"{who}request {miss.slot.key} {what}"

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _file(self, key: str) -> _File | None:
        with self._lock:
            if key not in self._files:
                try:
                    self._remember(key, _File.from_json(self._path(key), key))
                except (FileNotFoundError, NotADirectoryError):
                    return None
            return self._files[key]


@dataclass
class _File:
    request: CanonicalRequest
    entries: dict[tuple[int, int], Exchange]

    @classmethod
    def from_json(cls, path: Path, key: str) -> _File:
        try:
            content = from_json(path.read_bytes(), allow_inf_nan=False)
            version, request = content["format"], content["request"]
            entries = [_entry(key, entry) for entry in content["entries"]]
        except (FileNotFoundError, NotADirectoryError):
            raise
        except ValueError as error:
            raise _damaged(path, _what_is_wrong(path)) from error
        except (OSError, LookupError, TypeError) as error:
            raise _damaged(path, f"cannot be read: {error!r}.") from error
        if version != _FORMAT:
            raise _damaged(path, f"has format {version!r}; this version reads {_FORMAT}.")
        if len(dict(entries)) < len(entries):
            raise _damaged(path, "holds two responses for the same repeat and occurrence.")
        return cls(request, dict(entries))

    def check(self, path: Path, request: CanonicalRequest) -> None:
        """Refuse a file that holds another request than the one that its key stands for."""
        if self.request != request:
            raise _damaged(path, "holds another request than its name says.")

    def to_json(self, key: str) -> bytes:
        content = {
            "format": _FORMAT,
            "key": key,
            "request": self.request,
            "entries": [
                {
                    "repeat": repeat,
                    "occurrence": occurrence,
                    "latency_ms": self.entries[repeat, occurrence].latency_ms,
                    "response": self.entries[repeat, occurrence].response,
                }
                for repeat, occurrence in sorted(self.entries)
            ],
        }
        return (json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _entry(key: str, entry: Mapping[str, Any]) -> tuple[tuple[int, int], Exchange]:
    place, latency_ms = (entry["repeat"], entry["occurrence"]), entry["latency_ms"]
    response = entry["response"]
    if not (
        all(type(number) is int for number in place)
        and isinstance(response, dict)
        and (latency_ms is None or isinstance(latency_ms, (int, float)))
    ):
        raise TypeError("an entry has numbers `repeat`, `occurrence` and an object `response`")
    return place, Exchange(key, response, latency_ms)


class _Nearest:
    """Finds the recorded request that is most like another one."""

    def __init__(self, requests: Mapping[str, CanonicalRequest]) -> None:
        self._requests = requests
        self._leaves = {key: set(leaves(request).items()) for key, request in requests.items()}
        self._holders: dict[tuple[str, str], list[str]] = {}
        for key, items in self._leaves.items():
            for item in items:
                self._holders.setdefault(item, []).append(key)

    def differences(self, miss: Miss) -> tuple[str | None, list[str]]:
        """Return the key of the nearest request and the paths that differ from it."""
        key = self._key(miss)
        if key is None:
            return None, []
        return key, differing_paths(self._requests[key], miss.request)

    def _key(self, miss: Miss) -> str | None:
        if miss.kind != "request":
            return miss.slot.key
        wanted = set(leaves(miss.request).items())
        # What few requests have, the user's words, tells best which one was meant.
        shared = [self._holders[item] for item in wanted if item in self._holders]
        candidates = min(shared, key=len, default=list(self._requests))
        return min(candidates, key=lambda key: (len(wanted ^ self._leaves[key]), key), default=None)


def without_volatile_ids(slot: Slot, response: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response without what the API made up for this one call.

    Ids are replaced by ones that follow from the slot: unlike in all other responses, alike
    every time. Signatures and the container's expiry are dropped: replay works without.
    """
    stem = f"{slot.key[:12]}_{slot.repeat}_{slot.occurrence}"
    kept = {name: value for name, value in response.items() if name != "log_id"}
    if isinstance(kept.get("id"), str) and kept.get("type") in _ID_STEMS:
        kept["id"] = f"{_ID_STEMS[kept['type']]}_{stem}"
    if isinstance(kept.get("container"), dict):
        kept["container"] = {
            **kept["container"],
            "id": f"container_{stem}",
            "expires_at": None,
        }
    if isinstance(kept.get("content"), list):
        names = Renumbering(f"toolu_{stem}_")
        kept["content"] = [stable_block(block, names, blank=True) for block in kept["content"]]
    return kept


def _kind(file: _File | None, slot: Slot) -> Literal["request", "repeat", "occurrence"]:
    if file is None:
        return "request"
    repeats = {repeat for repeat, _ in file.entries}
    return "occurrence" if slot.repeat in repeats else "repeat"


def _check_model(path: Path, request: CanonicalRequest, response: Mapping[str, Any]) -> None:
    """Refuse an answer of another model; a dated id answers for its alias."""
    asked = (request.get("body") or {}).get("model")
    answered = response.get("model")
    if not isinstance(asked, str) or not isinstance(answered, str):
        return
    stem = asked.removesuffix("-latest").removesuffix("-0")
    if answered != asked and not re.fullmatch(re.escape(stem) + r"-\d{8}", answered):
        raise _damaged(
            path,
            f"was answered by {answered!r}, but {asked!r} was asked.",
            "Ask for the model that answers; delete the file if it is there.",
        )


def _what_is_wrong(path: Path) -> str:
    """Say where the text of a file ends to be JSON."""
    try:
        parse_json(path.read_text(encoding="utf-8"))
    except JsonProblem as problem:
        return problem.message
    except UnicodeDecodeError as error:
        return f"cannot be read: {error!r}."
    return "is no JSON."


def _damaged(
    path: Path, what: str, remedy: str = "Delete the file and record it again."
) -> InputError:
    return InputError("a cassette cannot be used", [Problem(str(path), 0, "", what, remedy)])


def _is_key(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{24}", name) is not None


def _distinct(misses: list[Miss]) -> list[Miss]:
    """Drop the repetitions of an application that asks again after a miss."""
    by_key = {(miss.case_id, miss.slot): miss for miss in misses}
    return list(by_key.values())


def _explanation(miss: Miss, differences: list[str]) -> str:
    match miss.kind:
        case "repeat":
            return f"repeat {miss.slot.repeat} was never recorded"
        case "occurrence":
            return f"occurrence {miss.slot.occurrence} of the request was never recorded"
        case _ if not differences:
            return "nothing like it was ever recorded"
        case _ if len(differences) > 4:
            return f"{', '.join(differences[:4])} and {len(differences) - 4} more"
        case _:
            return ", ".join(differences)
