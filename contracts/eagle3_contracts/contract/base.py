"""What every table of a contract document has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Table(BaseModel):
    """A table of the document: strict types, frozen once read, unknown keys refused."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


Count = Annotated[int, Field(gt=0)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", description="lower case, digits and _")]
Text = Annotated[str, Field(min_length=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="a sha256, 64 hexadecimal digits")]
Dtype = Annotated[
    str,
    Field(pattern=r"^(float32|bfloat16|float16|float8_e4m3fn|float8_e5m2)$", description="a torch dtype's name"),
]
