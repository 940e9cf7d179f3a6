"""Records of a database, by SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalnb.curation.logs.scanning import Record
from evalnb.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["query_records", "shown_url"]

_BATCH = 5_000


def query_records(url: str, query: str) -> Iterator[Record]:
    """Yield the rows that a query finds, a part at a time.

    Parameters
    ----------
    url : as SQLAlchemy reads it, such as "postgresql+psycopg://reader@host/support"; errors show it
        without its password
    query : SQL that only reads

    Raises
    ------
    InputError
        If the library is not installed, or the database refuses.
    """
    try:
        import sqlalchemy
    except ImportError as error:
        raise InputError('databases need SQLAlchemy: pip install "evalnb[curation]"') from error
    try:
        engine = sqlalchemy.create_engine(url)
    except (ImportError, sqlalchemy.exc.SQLAlchemyError) as error:
        raise InputError(f"{shown_url(url)} cannot be used: {error}") from error
    try:
        with engine.connect() as connection:
            streaming = connection.execution_options(stream_results=True, yield_per=_BATCH)
            for row in streaming.execute(sqlalchemy.text(query)).mappings():
                yield Record(dict(row), shown_url(url))
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error)
        raise InputError(f"{shown_url(url)} cannot be read: {reason}") from error
    finally:
        engine.dispose()


def shown_url(url: str) -> str:
    """Return a database's URL without its password.

    Examples
    --------
    >>> shown_url("postgresql://reader:secret@host/support")
    'postgresql://reader:***@host/support'
    """
    scheme, _, rest = url.partition("://")
    who, at, where = rest.rpartition("@")
    user, colon, _ = who.partition(":")
    shown: Any = f"{user}:***" if colon else user
    return f"{scheme}://{shown}{at}{where}"
