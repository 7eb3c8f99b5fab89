"""Where a fault was seen, as addresses: the issues and pull requests that a source names with their repository."""

from __future__ import annotations

import re

_CITED = re.compile(
    r"(?P<repository>[\w-]+/[\w.-]+) (?P<numbers>(?:(?:issue|PR)s? )?#\d+(?:(?:,| and) (?:(?:issue|PR)s? )?#\d+)*)"
)
_NUMBER = re.compile(r"(?:(?P<kind>issue|PR)s? )?#(?P<number>\d+)")
_PATHS = {"issue": "issues", "PR": "pull"}


def list_links(source: str) -> tuple[str, ...]:
    """Give the address of each; none of a number of which the source does not say what it is, or of which repository.

    A number takes the kind of the one before it (``issues #1 and #2``).
    """
    links = []
    for cited in _CITED.finditer(source):
        kind = None
        for number in _NUMBER.finditer(cited["numbers"]):
            kind = number["kind"] or kind
            if kind is not None:
                links.append(f"https://github.com/{cited['repository']}/{_PATHS[kind]}/{number['number']}")
    return tuple(links)
