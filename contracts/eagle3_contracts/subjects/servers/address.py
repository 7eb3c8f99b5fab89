"""Where a server is, and what it is trusted with: parsed once, never printed with a credential."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from eagle3_contracts.subjects import SubjectError

CREDENTIALS = "EAGLE3_SERVER_API_KEY"
"""The variable that holds the key of the server under test; it goes to that host alone, as a bearer token."""

FORM = "give http://HOST:PORT or https://HOST[:PORT]; a key goes into the variable " + CREDENTIALS
_PORTS = {"http": 80, "https": 443}
_PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation)


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address. ``base``: the path before its routes, behind a proxy; without a slash at its end."""

    scheme: str
    host: str
    port: int
    base: str = ""

    def __str__(self) -> str:
        """Give the URL; there is nothing secret in it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"


def parse_address(url: str) -> Address:
    """Parse an address; raise ``SubjectError`` for what is no plain http or https URL.

    A URL with a user, a password, a query or a fragment is refused without being repeated: such parts are where
    secrets stand, and reports name the subject.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SubjectError("the server's URL", "cannot be parsed", remedy=FORM) from None
    if "@" in parts.netloc or parts.query or parts.fragment:
        reason = "holds a user, password, query or fragment, where secrets stand and which reports would show"
        raise SubjectError("the server's URL", reason, remedy=FORM)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise SubjectError(url, "is no http or https URL", remedy=FORM)
    if not set(url) <= _PRINTABLE:
        raise SubjectError("the server's URL", "holds spaces, control or non-ASCII characters", remedy=FORM)
    return Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path.rstrip("/"))


def read_credentials(environment: Mapping[str, str] | None = None) -> str | None:
    """Give the key from the environment, None if there is none; ``SubjectError`` if no header can carry it."""
    key = (os.environ if environment is None else environment).get(CREDENTIALS)
    if key is None:
        return None
    if not key or not set(key) <= _PRINTABLE:
        reason = "is empty or holds spaces, control or non-ASCII characters, which no header can carry"
        raise SubjectError(f"the variable {CREDENTIALS}", reason, remedy="set it to the bare key, or unset it")
    return key
