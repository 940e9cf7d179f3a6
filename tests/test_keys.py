from __future__ import annotations

import copy
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalnb.keys import canonical_request, differing_paths, leaves, request_key
from tests.test_jsontext import texts, values

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
URL = "https://api.anthropic.com/v1/messages"


def conversation() -> Json:
    """Return a request in which everything occurs that keys treat in its own way."""
    return {
        "model": "claude-haiku-5-5",
        "max_tokens": 512,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {
                "name": "refund",
                "description": "Pay back an order.",
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "cache_control": {"type": "string"},
                        "metadata": {"type": "string"},
                        "stream": {"type": "boolean"},
                        "id": {"type": "string"},
                        "signature": {"type": "string"},
                    },
                },
                "cache_control": {"type": "ephemeral"},
            },
            {"name": "lookup", "description": "Find.", "input_schema": {"type": "object"}},
        ],
        "messages": [
            {"role": "user", "content": "Refund orders 7 and 8."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "b3BhcXVl"},
                    {"type": "tool_use", "id": "toolu_A", "name": "refund", "input": {"id": "7"}},
                    {"type": "tool_use", "id": "toolu_B", "name": "refund", "input": {"id": "8"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_A", "content": "done"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_B",
                        "content": [{"type": "text", "text": "failed"}],
                        "is_error": True,
                        "cache_control": {"type": "ephemeral"},
                    },
                    {
                        "type": "document",
                        "source": {
                            "type": "content",
                            "content": [
                                {
                                    "type": "text",
                                    "text": "x",
                                    "cache_control": {"type": "ephemeral"},
                                }
                            ],
                        },
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "server_tool_use",
                        "id": "srvtoolu_C",
                        "name": "code_execution",
                        "input": {},
                        "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_C"},
                    },
                    {
                        "type": "code_execution_tool_result",
                        "tool_use_id": "srvtoolu_C",
                        "content": {
                            "type": "code_execution_result",
                            "content": [{"type": "code_execution_output", "file_id": "file_D"}],
                        },
                    },
                ],
            },
            {"role": "user", "content": "And now?"},
        ],
        "metadata": {"user_id": "u1"},
        "stream": True,
        "service_tier": "auto",
        "mcp_servers": [
            {
                "type": "url",
                "url": "https://m.example",
                "name": "m",
                "authorization_token": "SECRET",
            }
        ],
    }


def key_of(body: Json, *, url: str = URL, betas: str | None = None) -> str:
    return request_key(canonical_request("POST", url, betas, json.dumps(body).encode()))


def shuffled(value: Any, draw: Callable[[Any], Any]) -> Any:
    """Return a value with the fields of every object in an order that is drawn."""
    if isinstance(value, dict):
        return {name: shuffled(value[name], draw) for name in draw(st.permutations(list(value)))}
    if isinstance(value, list):
        return [shuffled(entry, draw) for entry in value]
    return value


IDS = ("toolu_A", "toolu_B", "srvtoolu_C", "file_D")


@st.composite
def same_to_the_model(draw: Any) -> Json:
    """The conversation once more: other ids, other order of fields, other bookkeeping."""
    text = json.dumps(shuffled(conversation(), draw))
    fresh = draw(
        st.lists(
            st.from_regex(r"[A-Za-z0-9]{4,12}", fullmatch=True), min_size=4, max_size=4, unique=True
        )
    )
    for old, new in zip(IDS, fresh, strict=True):
        text = text.replace(f'"{old}"', f'"toolu_{new}"')
    body: Json = json.loads(text)
    for name, value in {
        "stream": st.booleans(),
        "metadata": st.dictionaries(texts, texts),
        "service_tier": st.sampled_from(["auto", "standard_only"]),
        "cache_control": st.just({"type": "ephemeral", "ttl": "1h"}),
        "diagnostics": st.just({"previous_message_id": "msg_1"}),
        "inference_geo": st.just("us"),
        "speed": st.just("fast"),
    }.items():
        body.pop(name, None)
        if draw(st.booleans()):
            body[name] = draw(value)
    thinking, redacted = body["messages"][1]["content"][:2]
    thinking["signature"] = draw(texts)
    redacted["data"] = draw(texts)
    body["mcp_servers"][0]["authorization_token"] = draw(texts)
    for part in (body["system"][0], body["tools"][0], body["messages"][2]["content"][1]):
        part.pop("cache_control", None)
        if draw(st.booleans()):
            part["cache_control"] = {"type": "ephemeral", "ttl": "5m"}
    return body


@given(same_to_the_model())
def test_the_key_stays_while_the_model_sees_the_same(body: Json) -> None:
    assert key_of(body) == key_of(conversation())


def test_the_key_is_24_hex_digits_of_a_known_hash() -> None:
    """SHA-256 of the canonical form, written out by hand."""
    text = (
        '{"betas":["a","b"],"body":{"max_tokens":1,"model":"m"},'
        '"method":"POST","path":"/v1/messages","query":[["beta","true"]]}'
    )
    body = {"model": "m", "max_tokens": 1, "stream": False}
    expected = hashlib.sha256(text.encode()).hexdigest()[:24]
    assert key_of(body, url=f"{URL}?beta=true", betas="b, a,a") == expected


CHANGES: dict[str, Callable[[Json], object]] = {
    "model": lambda body: body.update(model="claude-sonnet-5-5"),
    "max_tokens": lambda body: body.update(max_tokens=513),
    "system": lambda body: body["system"][0].update(text="Be brief!"),
    "system as text": lambda body: body.update(system="Be brief."),
    "text": lambda body: body["messages"][0].update(content="Refund orders 7 and 9."),
    "role": lambda body: body["messages"][0].update(role="assistant"),
    "message gone": lambda body: body["messages"].pop(),
    "thinking text": lambda body: body["messages"][1]["content"][0].update(thinking="No."),
    "thinking gone": lambda body: body["messages"][1]["content"].pop(0),
    "tool description": lambda body: body["tools"][0].update(description="Pay back."),
    "tool order": lambda body: body["tools"].reverse(),
    "tool gone": lambda body: body["tools"].pop(),
    "schema cache_control": lambda body: schema_of(body).pop("cache_control"),
    "schema metadata": lambda body: schema_of(body).pop("metadata"),
    "schema stream": lambda body: schema_of(body)["stream"].update(type="string"),
    "schema id": lambda body: schema_of(body)["id"].update(type="integer"),
    "schema signature": lambda body: schema_of(body).pop("signature"),
    "arguments": lambda body: body["messages"][1]["content"][2]["input"].update(id="9"),
    "result": lambda body: body["messages"][2]["content"][0].update(content="failed"),
    "nested result": lambda body: nested(body).update(text="done"),
    "is_error": lambda body: body["messages"][2]["content"][1].update(is_error=False),
    "links swapped": lambda body: swap_links(body),
    "link to another call": lambda body: body["messages"][2]["content"][0].update(
        tool_use_id="toolu_Z"
    ),
    "unknown field": lambda body: body.update(new_field=None),
    "unknown block field": lambda body: body["messages"][2]["content"][0].update(new=1),
    "tool_choice": lambda body: body.update(tool_choice={"type": "auto"}),
    "document id": lambda body: body["messages"][2]["content"][2].update(id="doc-1"),
    "mcp server": lambda body: body["mcp_servers"][0].update(url="https://n.example"),
    "number to truth value": lambda body: body.update(max_tokens=True),
    "number to text": lambda body: body.update(max_tokens="512"),
}


def schema_of(body: Json) -> Json:
    properties: Json = body["tools"][0]["input_schema"]["properties"]
    return properties


def nested(body: Json) -> Json:
    block: Json = body["messages"][2]["content"][1]["content"][0]
    return block


def swap_links(body: Json) -> None:
    one, other = body["messages"][2]["content"][:2]
    one["tool_use_id"], other["tool_use_id"] = other["tool_use_id"], one["tool_use_id"]


@pytest.mark.parametrize("name", CHANGES)
def test_the_key_changes_with_what_the_model_sees(name: str) -> None:
    body = conversation()
    CHANGES[name](body)
    assert body != conversation()
    assert key_of(body) != key_of(conversation())


def test_all_these_changes_have_different_keys() -> None:
    keys = set()
    for change in CHANGES.values():
        body = conversation()
        change(body)
        keys.add(key_of(body))
    assert len(keys) == len(CHANGES)


@pytest.mark.parametrize(
    "content",
    [{"type": "reference", "id": "doc-1"}, {"type": "text", "text": "x", "id": "doc-1"}],
)
def test_an_id_that_the_model_may_be_told_is_part_of_the_key(content: Json) -> None:
    def body(name: str) -> Json:
        return {"messages": [{"role": "user", "content": [content | {"id": name}]}]}

    assert key_of(body("doc-1")) != key_of(body("doc-2"))


@given(values, values)
def test_unknown_fields_are_kept_to_the_letter(one: Any, other: Any) -> None:
    assume(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    base = conversation()
    assert key_of(base | {"new": one}) != key_of(base | {"new": other})


@given(texts, texts)
def test_any_other_text_has_another_key(one: str, other: str) -> None:
    def body(text: str) -> Json:
        return {"messages": [{"role": "user", "content": text}]}

    assert (key_of(body(one)) == key_of(body(other))) == (one == other)


def test_betas_path_and_query_are_part_of_the_key() -> None:
    keys = {
        key_of(conversation(), url=url, betas=betas)
        for url in (URL, f"{URL}?beta=true", f"{URL}?beta=false", f"{URL}/count_tokens")
        for betas in (None, "a-2026", "a-2026,b-2026")
    }
    assert len(keys) == 12


def test_host_and_a_proxy_s_prefix_are_not() -> None:
    keys = {
        key_of(conversation(), url=url)
        for url in (
            URL,
            "http://127.0.0.1:1/v1/messages",
            "https://proxy/llm/v1/messages",
            "/v1/messages",
        )
    }
    assert len(keys) == 1


def test_betas_are_a_set() -> None:
    assert key_of({}, betas="b,a") == key_of({}, betas="a, b,,a")
    assert key_of({}, betas="") == key_of({}, betas=None)


def test_no_token_is_in_the_canonical_request() -> None:
    canonical = canonical_request("POST", URL, None, json.dumps(conversation()).encode())
    text = json.dumps(canonical)
    for volatile in ("SECRET", "authorization_token", "c2ln", "b3BhcXVl", "u1", *IDS):
        assert volatile not in text


def test_the_request_is_left_as_it_is() -> None:
    body = conversation()
    before = copy.deepcopy(body)
    key_of(body)
    assert body == before


def test_a_container_s_id_is_renamed_and_its_skills_stay() -> None:
    def with_container(container: Any) -> str:
        return key_of({"container": container})

    assert with_container("container_1") == with_container("container_2")
    assert with_container(None) != with_container("container_1")
    skills = [{"type": "anthropic", "skill_id": "pdf"}]
    named = {"id": "container_1", "skills": skills}
    assert with_container(named) == with_container(named | {"id": "container_2"})
    assert with_container(named) != with_container(named | {"skills": []})


@given(st.binary())
def test_any_body_has_a_key(content: bytes) -> None:
    key = request_key(canonical_request("POST", URL, None, content))
    assert len(key) == 24
    assert set(key) <= set("0123456789abcdef")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"messages":' * 100_000, '{"a":"\\ud800"}'])
def test_odd_json_has_a_key(content: str) -> None:
    assert request_key(canonical_request("POST", URL, None, content.encode()))


def test_an_upload_s_boundary_is_not_part_of_the_key() -> None:
    def key(boundary: str, text: str) -> str:
        content = f'--{boundary}\r\nContent-Disposition: form-data; name="file"\r\n\r\n{text}\r\n--{boundary}--'
        content_type = f"multipart/form-data; boundary={boundary}"
        canonical = canonical_request("POST", "/v1/files", None, content.encode(), content_type)
        return request_key(canonical)

    assert key("abc", "x") == key("def", "x") != key("abc", "y")


# How requests differ


def differences(change: Callable[[Json], object]) -> list[str]:
    body = conversation()
    change(body)
    one, other = (
        canonical_request("POST", URL, None, json.dumps(part).encode())
        for part in (conversation(), body)
    )
    return differing_paths(one, other)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (CHANGES["tool description"], ["`tools[refund].description` changed"]),
        (CHANGES["text"], ["`messages[0].content` changed"]),
        (CHANGES["message gone"], ["`messages[4]` removed"]),
        (CHANGES["tool gone"], ["`tools[lookup]` removed"]),
        (CHANGES["unknown field"], ["`new_field` added"]),
        (CHANGES["system"], ["`system[0].text` changed"]),
        (
            CHANGES["system as text"],
            ["`system[0]` removed", "`system` added"],
        ),
        (
            CHANGES["schema metadata"],
            ["`tools[refund].input_schema.properties.metadata` removed"],
        ),
        (
            lambda body: body["messages"].append({"role": "user", "content": "x"}),
            ["`messages[5]` added"],
        ),
        (
            lambda body: body["tools"][1].update(name="find"),
            ["`tools[lookup]` removed", "`tools[find]` added"],
        ),
        (
            lambda body: body.update(model="m", max_tokens=1),
            ["`model` changed", "`max_tokens` changed"],
        ),
    ],
)
def test_differences_are_named_by_their_paths(
    change: Callable[[Json], object], expected: list[str]
) -> None:
    assert differences(change) == expected


def test_betas_and_path_are_named_too() -> None:
    one = canonical_request("POST", URL, "a", b'{"model": "m"}')
    other = canonical_request("POST", f"{URL}?beta=true", "b", b'{"model": "m"}')
    assert differing_paths(one, other) == [
        "`betas[0]` changed",
        "`query` removed",
        "`query[0]` added",
    ]


def test_equal_requests_do_not_differ() -> None:
    assert differences(lambda _: None) == []


@given(st.dictionaries(texts, values, max_size=3), st.dictionaries(texts, values, max_size=3))
def test_requests_with_other_keys_differ_in_some_path(one: Json, other: Json) -> None:
    first, second = (
        canonical_request("POST", URL, None, json.dumps(body).encode()) for body in (one, other)
    )
    same = request_key(first) == request_key(second)
    assert (differing_paths(first, second) == []) == same


def test_entries_without_a_name_of_their_own_are_counted() -> None:
    assert leaves({"body": {"a": [{"name": "x"}, {"name": "x"}], "b": []}}) == {
        "a[0].name": '"x"',
        "a[1].name": '"x"',
        "b": "[]",
    }
