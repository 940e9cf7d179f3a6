from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy
from pandas.testing import assert_frame_equal

from evalnb.curation.logs.reading import read_logs
from evalnb.curation.lots import lot
from evalnb.errors import InputError
from evalnb.frames import LOGS
from tests.postgres import postgres

QUERY = "SELECT c.id AS conversation_id, m.sent AS at, m.who AS role, m.body AS text, m.ms AS latency_ms FROM chats c JOIN said m ON m.chat = c.id ORDER BY m.nr DESC"


def fill(url: str) -> None:
    engine = sqlalchemy.create_engine(url)
    tables = sqlalchemy.MetaData()
    chats = sqlalchemy.Table("chats", tables, sqlalchemy.Column("id", sqlalchemy.Integer))
    said = sqlalchemy.Table(
        "said",
        tables,
        sqlalchemy.Column("nr", sqlalchemy.Integer),
        sqlalchemy.Column("chat", sqlalchemy.Integer),
        sqlalchemy.Column("sent", sqlalchemy.DateTime(timezone=True)),
        sqlalchemy.Column("who", sqlalchemy.Text),
        sqlalchemy.Column("body", sqlalchemy.Text),
        sqlalchemy.Column("ms", sqlalchemy.Numeric(8, 2, asdecimal=True)),
    )
    tables.create_all(engine)
    start = datetime(2026, 3, 1, 10, tzinfo=UTC)
    with engine.begin() as connection:
        connection.execute(chats.insert(), [{"id": n} for n in range(40)])
        connection.execute(
            said.insert(),
            [
                {
                    "nr": 2 * n + k,
                    "chat": n,
                    "sent": start + timedelta(seconds=2 * n + k),
                    "who": who,
                    "body": f"{who} ${n} %s",
                    "ms": "1.50" if k else None,
                }
                for n in range(40)
                for k, who in enumerate(("customer", "bot"))
            ],
        )
    engine.dispose()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path_factory.mktemp('db')}/bot.db"
        fill(found)
        yield found
        return
    with postgres() as found:
        fill(found)
        yield found


def test_a_query_is_a_log(url: str) -> None:
    logs = read_logs(url, query=QUERY)
    assert len(logs) == 80
    assert_frame_equal(
        logs[logs["conversation_id"] == "7"].reset_index(drop=True),
        LOGS.build(
            [
                {"conversation_id": "7", "turn": 1, "at": "2026-03-01T10:00:14.000+00:00", "role": "user", "text": "customer $7 %s"},
                {"conversation_id": "7", "turn": 2, "at": "2026-03-01T10:00:15.000+00:00", "role": "assistant", "text": "bot $7 %s", "latency_ms": 1.5},
            ]
        ),
    )  # fmt: skip


def test_a_rate_draws_the_same_as_from_files(url: str) -> None:
    logs = read_logs(url, query=QUERY, rate=0.3, seed=2)
    wanted = {str(n) for n in range(40) if lot(2, "uniform", str(n)) < 0.3}
    assert set(logs["conversation_id"]) == wanted


def test_what_the_database_refuses_is_said_without_the_password(url: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_logs(url, query="SELECT * FROM nowhere")
    assert "nowhere" in str(caught.value)
    assert "only-for-tests" not in str(caught.value)
    with pytest.raises(InputError, match="needs a `query`"):
        read_logs(url)


def test_a_query_is_for_databases(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`query` is for databases"):
        read_logs(tmp_path / "l.csv", query="SELECT 1")
