"""Reading contract documents: from a path, or from the catalog by ``NAME`` or ``NAME@VERSION``."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from eagle3_contracts.contract.document import Contract

SIZE_CAP = 1 << 20
"""Bytes; a contract is a few kilobytes, and anything larger is another kind of file."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing wrong with a document: the place in it, what stands there, what should."""

    place: str
    observed: str
    expected: str

    def __str__(self) -> str:
        """Give the defect as one line."""
        return f"{self.place or 'document'}: {self.expected}" + (
            f" (observed {self.observed})" if self.observed else ""
        )


class ContractError(Exception):
    """A contract that cannot be used: the file, every defect at once, and the remedy. Exit code 2."""

    def __init__(self, source: str, reason: str, *, remedy: str, defects: tuple[Defect, ...] = ()) -> None:
        self.source, self.reason, self.remedy, self.defects = source, reason, remedy, defects
        lines = [f"{source}: {reason}", *(f"  - {defect}" for defect in defects), f"  remedy: {remedy}"]
        super().__init__("\n".join(lines))


def catalog_root() -> Path:
    """Find the catalog: inside the package when installed from a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "catalog"
    return inside if inside.is_dir() else package.parent / "catalog"


def list_catalog(root: Path | None = None) -> dict[str, tuple[str, ...]]:
    """List the catalog's contracts: name to versions, oldest first."""
    base = root or catalog_root()
    names = sorted(entry for entry in base.iterdir() if entry.is_dir()) if base.is_dir() else []
    found = {entry.name: tuple(sorted((f.stem for f in entry.glob("*.toml")), key=Version)) for entry in names}
    return {name: versions for name, versions in found.items() if versions}


def resolve_contract(reference: str) -> Path:
    """Find the document of ``NAME`` (its latest version), ``NAME@VERSION`` or a path.

    Anything with a path separator or ending in ``.toml`` is a path. Raises ``ContractError`` when there is
    no such file, name or version, and lists what there is.
    """
    if not reference.strip():
        raise ContractError("contract", "the reference is empty", remedy="name a contract: eagle3-contracts list")
    if "/" in reference or "\\" in reference or reference.endswith(".toml"):
        return Path(reference)
    name, _, version = reference.partition("@")
    catalog = list_catalog()
    if name not in catalog:
        known = ", ".join(catalog) or "nothing"
        raise ContractError(
            reference,
            f"no contract named {name!r} in the catalog, which holds {known}",
            remedy="name one of these, or give the path of a .toml file",
        )
    if version and version not in catalog[name]:
        raise ContractError(
            reference,
            f"no version {version}; there are {', '.join(catalog[name])}",
            remedy=f"write one of these after {name}@",
        )
    return catalog_root() / name / f"{version or catalog[name][-1]}.toml"


def load_contract(reference: str | Path) -> Contract:
    """Read a contract by name or path; raise ``ContractError`` with every defect at once."""
    path = reference if isinstance(reference, Path) else resolve_contract(reference)
    text = _read_text(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ContractError(str(path), f"not TOML: {error}", remedy="mend the line named above") from None
    try:
        # Through JSON: strict tuples take JSON arrays, and a TOML date is no value of any field.
        return Contract.model_validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        defects = tuple(defect for details in error.errors() for defect in _explain(details))
        count = f"{len(defects)} defect" + ("s" if len(defects) != 1 else "")
        raise ContractError(
            str(path),
            f"not a valid contract, {count}",
            defects=defects,
            remedy="mend each line above; `eagle3-contracts show NAME` prints a valid one",
        ) from None


def _read_text(path: Path) -> str:
    remedy = "give the path of a contract's .toml file, or a name from `eagle3-contracts list`"
    try:
        if path.stat().st_size > SIZE_CAP:
            raise ContractError(str(path), f"larger than {SIZE_CAP} bytes, so no contract", remedy=remedy)
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ContractError(str(path), "not text in UTF-8, so no TOML", remedy=remedy) from None
    except OSError as error:
        raise ContractError(str(path), f"cannot be read: {error.strerror}", remedy=remedy) from None


def _explain(details: ErrorDetails) -> Iterator[Defect]:
    """Turn one pydantic error into defects: our own rules join several sentences with semicolons."""
    place = ".".join(str(part) for part in details["loc"])
    message = details["msg"].removeprefix("Value error, ")
    if details["type"] == "value_error":
        for sentence in message.split("; "):
            inner, _, rest = sentence.partition(": ")
            within = place or inner
            yield Defect(within, "", rest if not place and rest else sentence)
        return
    if details["type"] == "extra_forbidden":
        message = "no such key in schema 1; remove it or mend its spelling"
    if details["type"] == "missing":
        yield Defect(place, "nothing", "required")
        return
    yield Defect(place, repr(details["input"])[:80], message[:1].lower() + message[1:])
