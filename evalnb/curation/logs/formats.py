"""Which of the known forms of logged model calls a log has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from evalnb.curation.logs import langfuse, messages_api, opentelemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evalnb.curation.logs.calls import Call, Opinion
    from evalnb.curation.logs.damage import Damage
    from evalnb.curation.logs.scanning import Record

__all__ = ["Reader", "find_reader"]


class Reader(Protocol):
    """Makes calls and feedback of records; a record may hold several, or a part of one."""

    def read(self, record: Record) -> Iterator[Call | Opinion | Damage]:
        """Yield what a record holds."""

    def rest(self) -> Iterator[Call | Opinion | Damage]:
        """Yield what only shows when all records are read."""


_FORMS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[], Reader]], ...] = (
    (opentelemetry.is_telemetry, opentelemetry.Telemetry),
    (langfuse.is_langfuse, langfuse.Langfuse),
    (messages_api.is_exchange, messages_api.Exchanges),
)


def find_reader(records: Iterable[Mapping[str, Any]]) -> Reader | None:
    """Return what reads these records; None where they are in none of the known forms."""
    first = list(records)
    for is_form, reader in _FORMS:
        if any(map(is_form, first)):
            return reader()
    return None
