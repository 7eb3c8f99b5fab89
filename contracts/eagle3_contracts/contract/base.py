"""What every table of a contract document has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Table(BaseModel):
    """A table of the document: strict types, frozen once read, unknown keys refused.

    A field added after the format's release has a default, and a default never changes: the digest of a
    document leaves out what equals its default, so that it outlives both (``Contract.digest``).
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


_NAME = r"^[a-z][a-z0-9_]*$"
_TEXT = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]+$"
_DIGEST = r"^[0-9a-f]{64}$"
_CONTRACT = r"^[a-z0-9][a-z0-9.-]*$"
_VERSION = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$"
_ENGINE = r"^[a-z][a-z0-9-]*$"
_KEY_PATH = r"^([A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*)?$"

PATTERNS = {
    _NAME: "a name: lower case letters, digits and _, a letter first",
    _TEXT: "a text that is not empty and holds no control characters",
    _DIGEST: "a sha256: 64 hexadecimal digits in lower case",
    _CONTRACT: "a contract's name: lower case letters, digits, . and -",
    _VERSION: "a semantic version: three numbers, such as 2.0.0",
    _ENGINE: "an engine's name: lower case letters, digits and -, a letter first",
    _KEY_PATH: "keys of config.json joined by dots, such as text_config",
}
"""What each pattern of the model asks for, in words, for messages."""

Count = Annotated[int, Field(gt=0, le=2**48)]
Name = Annotated[str, Field(pattern=_NAME)]
Text = Annotated[str, Field(pattern=_TEXT)]
Digest = Annotated[str, Field(pattern=_DIGEST)]
ContractName = Annotated[str, Field(pattern=_CONTRACT)]
SemanticVersion = Annotated[str, Field(pattern=_VERSION)]
EngineName = Annotated[str, Field(pattern=_ENGINE)]
KeyPath = Annotated[str, Field(pattern=_KEY_PATH)]
