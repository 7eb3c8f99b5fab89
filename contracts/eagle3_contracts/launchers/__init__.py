"""Launchers: how the server of each engine reads its command line, by version, as data.

``flags`` names every flag that a release defines; ``speculation`` says what the flags of speculative decoding come to,
which is not what they say. Read in the wheels and held against them by ``tests/peers/launch``; nothing of an engine
is imported.
"""

from eagle3_contracts.launchers.flags import ENGINES, Flag, find_flag, names_in, releases_of, suggest_flag
from eagle3_contracts.launchers.speculation import Effect, draft_effect, reads_planes

__all__ = [
    "ENGINES",
    "Effect",
    "Flag",
    "draft_effect",
    "find_flag",
    "names_in",
    "reads_planes",
    "releases_of",
    "suggest_flag",
]
