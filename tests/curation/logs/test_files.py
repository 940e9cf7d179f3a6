from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from evalnb.curation.logs.columns import Column
from evalnb.curation.logs.damage import DamagedLogWarning, read_damaged
from evalnb.curation.logs.reading import read_logs
from evalnb.curation.lots import lot
from evalnb.datasets.taubench import load_taubench_airline
from evalnb.errors import InputError
from evalnb.frames import LOGS, to_records

DATA = Path(__file__).parents[2] / "data" / "logs"
SAID: list[dict[str, Any]] = [
    {"conversation_id": "b", "role": "customer", "text": "Hello, \"there\"", "at": "2026-03-01T10:00:00Z", "feedback": None},
    {"conversation_id": "b", "role": "bot", "text": "Good\nmorning", "at": "2026-03-01T10:00:01Z", "feedback": "thumbs_up"},
    {"conversation_id": "a", "role": "user", "text": "こんにちは, 日本", "at": "2026-03-01T11:00:00+02:00", "feedback": None},
]  # fmt: skip
READ = LOGS.build(
    [
        {"conversation_id": "a", "turn": 1, "role": "user", "text": "こんにちは, 日本", "at": "2026-03-01T09:00:00.000+00:00"},
        {"conversation_id": "b", "turn": 1, "role": "user", "text": "Hello, \"there\"", "at": "2026-03-01T10:00:00.000+00:00"},
        {"conversation_id": "b", "turn": 2, "role": "assistant", "text": "Good\nmorning", "at": "2026-03-01T10:00:01.000+00:00", "feedback": 1, "feedback_raw": "thumbs_up"},
    ]
)  # fmt: skip


def jsonl(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    frame = pd.DataFrame(records)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.name.endswith((".csv", ".csv.gz")):
        frame.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(jsonl(records)))
    else:
        path.write_bytes(jsonl(records))
    return path


@pytest.mark.parametrize(
    "name",
    ["l.jsonl", "l.jsonl.gz", "l.csv", "l.csv.gz", "l.tsv", "l.parquet", "l.json", "l.ndjson"],
)
def test_every_kind_of_file_says_the_same(name: str, tmp_path: Path) -> None:
    assert_frame_equal(read_logs(write(tmp_path / name, SAID)), READ)


def test_zstandard_is_read_too(tmp_path: Path) -> None:
    plain, packed = write(tmp_path / "l.csv", SAID), tmp_path / "l.csv.zst"
    with duckdb.connect() as connection:
        copy = "COPY (SELECT * FROM read_csv(?, all_varchar=true)) TO '{}' (COMPRESSION zstd)"
        connection.execute(copy.format(packed), [str(plain)])
    assert_frame_equal(read_logs(packed), READ)


def test_many_files_by_list_pattern_and_folder(tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", SAID[:1])
    write(tmp_path / "2.csv", SAID[1:])
    (tmp_path / "notes.txt").write_text("no log")
    for source in (
        [tmp_path / "1.jsonl", tmp_path / "2.csv"],
        [str(tmp_path / "*.csv"), str(tmp_path / "1.*")],
        tmp_path,
    ):
        assert_frame_equal(read_logs(source), READ)


def test_a_url_that_fsspec_knows() -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/logs/1.jsonl.gz", gzip.compress(jsonl(SAID[:2])))
    store.pipe(
        "/logs/2.csv", b'conversation_id,role,text,at\na,user,"\xe3\x81\x93, x",2026-03-01\n'
    )
    store.pipe("/logs/3.json", json.dumps([SAID[2]]).encode())
    try:
        assert_frame_equal(read_logs(["memory://logs/1.jsonl.gz", "memory://logs/3.json"]), READ)
        assert read_logs("memory://logs/*")["text"].tolist()[0] in ("こ, x", "こんにちは, 日本")
        assert len(read_logs("memory://logs")) == 4
    finally:
        store.rm("/logs", recursive=True)


def test_fields_are_found_by_their_usual_names() -> None:
    """Of promptfoo's example: `session_id`, `role`, `message`, `timestamp`, and a blank line."""
    logs = read_logs(DATA / "conversation-replay__production-logs_first10lines.jsonl")
    assert len(logs) == 10
    assert logs["conversation_id"].nunique() == 2
    first = logs[logs["conversation_id"] == "sess_pwd_001"]
    assert first["role"].tolist()[:3] == ["user", "assistant", "user"]
    assert first["at"].iloc[0] == "2024-01-15T09:30:00.000+00:00"


def test_an_exchange_a_record_becomes_two_messages() -> None:
    """Of promptfoo's example: `input`, `category`, and an answer whose name is not usual."""
    logs = read_logs(DATA / "re-eval-user-data__logs.csv", {"output": "last_assistant"})
    first = logs[logs["conversation_id"] == "sess_123"]
    assert first["role"].tolist() == ["user", "assistant"]
    assert first["text"].tolist()[0] == "How do I reset my password?"
    assert first["category"].tolist() == ["password_reset", "password_reset"]


def test_a_conversation_a_record_with_its_outcome_as_feedback(tmp_path: Path) -> None:
    record = {
        "id": 7,
        "meta": {"lang": "de"},
        "reward": 0,
        "messages": [
            {"role": "user", "content": "Storno bitte"},
            {"role": "assistant", "content": None, "tool_calls": [{"name": "cancel", "arguments": '{"id": 3}'}]},
            {"role": "tool", "content": "done"},
            {"role": "assistant", "content": [{"type": "text", "text": "Ist "}, {"type": "text", "text": "storniert."}]},
        ],
    }  # fmt: skip
    mapping: dict[str, str | Column] = {
        "conversation_id": "id",
        "language": "meta.lang",
        "feedback": Column("reward", {0: -1, 1: 1}),
    }
    logs = read_logs(write(tmp_path / "l.jsonl", [record]), mapping)
    assert logs["role"].tolist() == ["user", "tool_call", "tool_result", "assistant"]
    assert logs["text"].tolist() == [
        "Storno bitte",
        '{"name": "cancel", "arguments": {"id": 3}}',
        "done",
        "Ist storniert.",
    ]
    assert logs["conversation_id"].unique().tolist() == ["7"]
    assert logs["language"].unique().tolist() == ["de"]
    assert logs["feedback"].tolist() == [-1] * 4
    assert logs["feedback_raw"].tolist() == ["0"] * 4


def test_nested_fields_of_parquet(tmp_path: Path) -> None:
    records = [
        {
            "meta": {"chat": "c1"},
            "who": "human",
            "what": "Hi",
            "when": pd.Timestamp("2026-03-01 10:00"),
        }
    ]
    pd.DataFrame(records).to_parquet(tmp_path / "l.parquet")
    mapping = {"conversation_id": "meta.chat", "role": "who", "text": "what", "at": "when"}
    logs = read_logs(tmp_path / "l.parquet", mapping)
    assert logs[["conversation_id", "role", "text", "at"]].iloc[0].tolist() == [
        "c1",
        "user",
        "Hi",
        "2026-03-01T10:00:00.000+00:00",
    ]


def test_what_is_not_clear_lists_what_was_found(tmp_path: Path) -> None:
    path = write(tmp_path / "l.jsonl", [{"chat": 1, "wer": "user", "was": "Hallo"}])
    with pytest.raises(
        InputError, match=r"Found: chat, wer, was.*'conversation_id', 'role', 'text'"
    ):
        read_logs(path)
    with pytest.raises(
        InputError, match=r"no field 'wars', which the mapping names for 'text'. Did you mean 'was'"
    ):
        read_logs(path, {"text": "wars"})
    with pytest.raises(InputError, match=r"no 'rolle' to map. Did you mean 'role'"):
        read_logs(path, {"rolle": "wer"})


def test_what_is_no_log_is_said(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("x")
    with pytest.raises(InputError, match=r"ends? in \.jsonl, \.ndjson"):
        read_logs(tmp_path / "l.txt")
    with pytest.raises(InputError, match="there are no logs at"):
        read_logs(tmp_path / "*.csv")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="holds no record"):
        read_logs(tmp_path / "empty.jsonl")
    (tmp_path / "l.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"no record of .* can be read: cannot be read"):
        read_logs(tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="`rate` must be above 0"):
        read_logs(tmp_path / "l.csv", rate=0)


def test_damaged_lines_are_counted_and_kept_and_the_rest_is_read(tmp_path: Path) -> None:
    good, bad = jsonl(SAID), tmp_path / "bad.jsonl"
    faults = [
        b'{"conversation_id": "x", "role"\n',
        b'"only text"\n',
        b'{"conversation_id": "x", "role": "user", "text": "\xff"}\n',
        b'{"conversation_id": "x", "role": "ghost", "text": "boo"}\n',
        b'{"role": "user", "text": "whose?"}\n',
        b"\n",
    ]
    late = b'{"conversation_id": "c", "role": "user", "text": "late", "at": "tomorrow"}\n'
    bad.write_bytes(faults[0] + good + b"".join(faults[1:]) + late)
    side = tmp_path / "side.jsonl"
    with pytest.warns(DamagedLogWarning, match=r"5 could not be read.*1 are there without a value"):
        logs = read_logs(bad, damaged=side)
    assert_frame_equal(logs[logs["conversation_id"] != "c"], READ)
    assert logs.loc[3, "text"] == "late"
    assert logs["at"].isna().tolist() == [False, False, False, True]
    kept = read_damaged(side)
    assert kept["kept"].tolist().count(True) == 1
    said = "\n".join(kept["problem"])
    for words in (
        "is not JSON",
        "must be a JSON object",
        "unicode",
        "'ghost' is no role",
        "conversation is not named",
        "`at`: 'tomorrow' is no time",
    ):
        assert words in said
    assert any("whose?" in record for record in kept["record"])
    (tmp_path / "good.jsonl").write_bytes(good)
    read_logs(tmp_path / "good.jsonl", damaged=side)
    assert not side.exists()
    assert read_damaged(side).empty


def test_damaged_rows_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(
        b'conversation_id,role,text\n1,user,"hi, there"\n2,user\n4,bot,x,y\n5,bot,\xff\n6,user,ok\n'
    )
    with pytest.warns(DamagedLogWarning, match="3 could not be read"):
        logs = read_logs(path, damaged=tmp_path / "side.jsonl")
    assert logs["text"].tolist() == ["hi, there", "ok"]
    assert [
        source.rpartition(":")[2] for source in read_damaged(tmp_path / "side.jsonl")["source"]
    ] == ["3", "4", "5"]


def test_one_broken_file_of_many(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", SAID)
    (tmp_path / "2.parquet").write_bytes(b"PAR1 broken")
    whole = gzip.compress(jsonl([{**SAID[0], "conversation_id": f"z{n}"} for n in range(5000)]))
    (tmp_path / "3.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.warns(DamagedLogWarning, match="could not be read"):
        logs = read_logs(tmp_path, damaged=tmp_path / "side" / "side.jsonl")
    assert_frame_equal(logs[logs["conversation_id"].isin(["a", "b"])].reset_index(drop=True), READ)


def test_a_rate_draws_conversations_whole_in_any_order_and_form(tmp_path: Path) -> None:
    records = [
        {"conversation_id": f"c{n:03}", "role": role, "text": f"{role} {n}"}
        for n in range(300)
        for role in ("user", "assistant")
    ]
    wanted = sorted({f"c{n:03}" for n in range(300) if lot(4, "uniform", f"c{n:03}") < 0.2})
    assert 40 < len(wanted) < 80
    drawn = []
    for name in ("1.jsonl", "2.csv", "3.parquet", "4.json"):
        path = write(tmp_path / name, records)
        drawn.append(read_logs(path, rate=0.2, seed=4))
    path = write(tmp_path / "5.jsonl", sorted(records, key=lambda one: one["text"][::-1]))
    drawn.append(
        read_logs(path, rate=0.2, seed=4)
        .sort_values(["conversation_id", "role"], ascending=[True, False], ignore_index=True)
        .assign(turn=drawn[0]["turn"])
    )
    for frame in drawn:
        assert_frame_equal(frame, drawn[0])
    assert sorted(set(drawn[0]["conversation_id"])) == wanted
    assert len(drawn[0]) == 2 * len(wanted)


def test_a_rate_keeps_what_cannot_be_read_in_sight(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(
        jsonl([{**SAID[0], "conversation_id": f"c{n}"} for n in range(50)]) + b"{broken\n"
    )
    with pytest.warns(DamagedLogWarning, match="1 could not be read"):
        read_logs(path, rate=0.5, damaged=tmp_path / "side.jsonl")


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "conversation_id": NAMES | st.integers(-5, 10**12),
            "role": st.sampled_from(["user", "Bot", "system"]),
            "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
            "at": st.none() | st.integers(0, 2**31),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(records=RECORDS, rate=st.sampled_from([0.3, 0.7, 1.0]))
def test_nothing_is_lost_whatever_was_said(
    records: list[dict[str, Any]], rate: float, tmp_path: Path
) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(jsonl(records))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedLogWarning)
        try:
            logs = read_logs(path, rate=rate, damaged=tmp_path / "side.jsonl")
        except InputError:  # the only records were of conversations without a name
            logs = LOGS.empty()
    named = [one for one in records if str(one["conversation_id"]).strip()]
    wanted = (
        sorted(
            (str(one["conversation_id"]).strip(), one["text"] or None)
            for one in named
            if lot(0, "uniform", str(one["conversation_id"]).strip()) < rate
        )
        if all(one["text"] for one in named)
        else None
    )
    if wanted is not None:
        assert sorted(zip(logs["conversation_id"], logs["text"], strict=True)) == wanted
    assert not logs.duplicated(["conversation_id", "turn"]).any()


def test_the_public_conversations_have_a_name_and_are_drawn_like_others(tmp_path: Path) -> None:
    public = load_taubench_airline().sort_values(["conversation_id", "turn"], ignore_index=True)
    assert_frame_equal(read_logs("taubench-airline"), public)
    path = tmp_path / "public.jsonl"
    path.write_bytes(jsonl(to_records(public.drop(columns="task"))))
    some = read_logs("taubench-airline", rate=0.3, seed=2)
    columns = [name for name in LOGS.columns if name != "feedback_raw"]  # which had the reward
    assert_frame_equal(some[columns], read_logs(path, rate=0.3, seed=2)[columns])
    assert 0 < some["conversation_id"].nunique() < 50


def test_what_a_log_holds_twice_counts_once(tmp_path: Path) -> None:
    said = {"session": "s", "role": "user", "content": "Hi"}
    again = {"session": "s", "role": "user", "content": "Hi", "turn": 1}
    rows = [again, again, {**again, "turn": 2}, {**again, "role": "assistant"}]
    path = tmp_path / "day.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    side = tmp_path / "side.jsonl"
    with pytest.warns(DamagedLogWarning, match="1 were there before, word for word, and are left"):
        logs = read_logs(path, damaged=side)
    assert logs["role"].tolist() == ["user", "assistant", "user"]
    assert read_damaged(side)["problem"].str.startswith("is there twice").all()
    # Without turns nobody knows: who says "Hi" twice may mean it.
    path.write_text(f"{json.dumps(said)}\n" * 2)
    assert len(read_logs(path, damaged=side)) == 2
