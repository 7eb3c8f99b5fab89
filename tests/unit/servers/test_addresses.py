"""What may be named as a server, and what never appears in a message."""

from __future__ import annotations

import pytest

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.servers.address import CREDENTIALS, Address, parse_address, read_credentials
from eagle3_contracts.subjects.servers.naming import read_name

SECRET = "hunter2"  # noqa: S105 (the secret that must not be seen)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:30000", Address("http", "127.0.0.1", 30000)),
        ("http://localhost:8000/", Address("http", "localhost", 8000)),
        ("https://serve.example", Address("https", "serve.example", 443)),
        ("https://serve.example/team/a/", Address("https", "serve.example", 443, "/team/a")),
        ("http://[::1]:9000", Address("http", "::1", 9000)),
    ],
)
def test_an_address_is_parsed_and_said_again(url: str, address: Address) -> None:
    assert parse_address(url) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:30000",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "http://",
        "http://host:99999",
        "http://host:port",
        "http://host/a b",
        "http://host/\r\nX: y",
        "http://höst",
    ],
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    with pytest.raises(SubjectError) as caught:
        parse_address(url)
    assert "http://HOST:PORT" in caught.value.remedy


@pytest.mark.parametrize(
    "url",
    [f"http://me:{SECRET}@host", f"http://{SECRET}@host", f"http://host?key={SECRET}", f"http://host/#{SECRET}"],
)
def test_an_address_with_a_secret_in_it_is_refused_without_being_repeated(url: str) -> None:
    for value in (url, f"capture={url}"):
        with pytest.raises(SubjectError) as caught:
            read_name(value)
        assert SECRET not in str(caught.value)
        assert CREDENTIALS in caught.value.remedy


def test_the_key_comes_from_the_environment_alone_and_must_fit_into_a_header() -> None:
    assert read_credentials({}) is None
    assert read_credentials({CREDENTIALS: SECRET}) == SECRET
    for broken in ("", "two words", f"{SECRET}\r\nX-Admin: 1", "schlüssel"):
        with pytest.raises(SubjectError) as caught:
            read_credentials({CREDENTIALS: broken})
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "role", "launched"),
    [
        ("launch", "eagle3", True),
        ("launch:eagle3", "eagle3", True),
        ("launch:capture", "capture", True),
        ("launch:plain", "plain", True),
        ("http://127.0.0.1:1", None, False),
        ("plain=http://127.0.0.1:1", "plain", False),
    ],
)
def test_a_name_says_what_the_server_is_for(value: str, role: str | None, launched: bool) -> None:  # noqa: FBT001
    named = read_name(value)
    assert (named.role, named.address is None) == (role, launched)


@pytest.mark.parametrize("value", ["launch:eagle", "launch:", "draft=http://127.0.0.1:1"])
def test_an_unknown_role_names_those_there_are(value: str) -> None:
    if value == "launch:":
        assert read_name(value).role == "eagle3"
        return
    with pytest.raises(SubjectError, match="eagle3, capture, plain"):
        read_name(value)
