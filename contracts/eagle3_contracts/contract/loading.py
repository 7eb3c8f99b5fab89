"""Reading contract documents: from a path, or from the catalog by ``NAME`` or ``NAME@VERSION``."""

from __future__ import annotations

import difflib
import json
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from packaging.version import Version

from eagle3_contracts.contract.defects import ContractError, Defect
from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.explaining import explain_defects

SIZE_CAP = 1 << 16
"""Bytes; a contract is a few kilobytes, and anything larger is another kind of file (or made to take time)."""

DEPTH_CAP = 16
"""Tables and lists inside each other; schema 1 has four."""

SCHEMA = 1
"""The format that this package reads and writes."""

_VERSION_FILE = re.compile(r"\d+\.\d+\.\d+\.toml")
_REMEDY = "give the path of a contract's .toml file, or a name from `eagle3-contracts list`"


def catalog_root() -> Path:
    """Find the catalog: inside the package when installed from a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "catalog"
    return inside if inside.is_dir() else package.parent / "catalog"


def list_catalog(root: Path | None = None) -> dict[str, tuple[str, ...]]:
    """List the catalog's contracts: name to versions, oldest first."""
    base = root or catalog_root()
    folders = sorted(entry for entry in base.iterdir() if entry.is_dir()) if base.is_dir() else []
    found: dict[str, tuple[str, ...]] = {}
    for folder in folders:
        versions = [entry.stem for entry in folder.iterdir() if _VERSION_FILE.fullmatch(entry.name)]
        if versions:
            found[folder.name] = tuple(sorted(versions, key=Version))
    return found


def resolve_contract(reference: str) -> Path:
    """Find the document of ``NAME`` (its latest version), ``NAME@VERSION`` or a path.

    Anything with a path separator or ending in ``.toml`` is a path. Raises ``ContractError`` when there is
    no such name or version, and lists what there is.
    """
    if not reference.strip():
        raise ContractError("contract", "the reference is empty", remedy="name a contract: eagle3-contracts list")
    if "/" in reference or "\\" in reference or reference.endswith(".toml"):
        return Path(reference)
    name, at, version = reference.partition("@")
    catalog = list_catalog()
    if name not in catalog:
        raise _unknown_name(reference, name, catalog)
    versions = catalog[name]
    if at and version not in versions:
        raise ContractError(
            reference,
            f"{name} has no version {version!r}; there are {', '.join(versions)}",
            remedy=f"write {name}@{versions[-1]}, or {name} for the latest",
        )
    return catalog_root() / name / f"{version or versions[-1]}.toml"


def load_contract(reference: str | Path) -> Contract:
    """Read a contract by name or path; raise ``ContractError`` with every defect at once."""
    path = reference if isinstance(reference, Path) else resolve_contract(reference)
    return parse_contract(_read_text(path), source=str(path))


def parse_contract(text: str, *, source: str = "document") -> Contract:
    """Read a contract from its text; ``source`` names it in the ``ContractError`` that lists every defect."""
    values = _parse_toml(text, source)
    declared = values.get("schema", SCHEMA)
    if declared != SCHEMA or isinstance(declared, bool):
        raise ContractError(
            source,
            "written in another format",
            defects=(Defect("schema", repr(declared), str(SCHEMA)),),
            remedy=f"this eagle3-contracts reads schema {SCHEMA}; install one that reads the document's",
        )
    defects = explain_defects(values)
    if defects:
        count = f"{len(defects)} defect" + ("s" if len(defects) != 1 else "")
        raise ContractError(
            source,
            f"not a valid contract, {count}",
            defects=defects,
            remedy="mend each line above; `eagle3-contracts show NAME` prints a valid one",
        )
    # Through JSON, so that strict tuples take TOML's arrays.
    return Contract.model_validate_json(json.dumps(values))


def _unknown_name(reference: str, name: str, catalog: dict[str, tuple[str, ...]]) -> ContractError:
    close = difflib.get_close_matches(name, list(catalog), n=1, cutoff=0.5)
    meant = f"did you mean {close[0]}? " if close else ""
    known = ", ".join(catalog) or "nothing"
    return ContractError(
        reference,
        f"no contract named {name!r} in the catalog",
        remedy=f"{meant}the catalog holds {known}; a file needs its path, such as ./{name or 'contract'}.toml",
    )


def _parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parse TOML; the line and column of an error are in its message."""
    try:
        values = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or a number with more digits than Python reads
        raise ContractError(source, f"not TOML: {error}", remedy="mend the line named above") from None
    except RecursionError:
        values = None
    if values is None or _is_deep(values):
        raise ContractError(source, "not a contract: nested too deeply", remedy=_REMEDY)
    return values


def _is_deep(values: dict[str, Any]) -> bool:
    """Tell whether tables and lists lie deeper in each other than in any document of this format."""
    level: list[Any] = [values]
    for _ in range(DEPTH_CAP):
        level = [
            inner
            for table in level
            for inner in (table.values() if isinstance(table, dict) else table)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def _read_text(path: Path) -> str:
    """Read a regular file of bounded size as UTF-8."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ContractError(str(path), f"{kind}, not a contract", remedy=_REMEDY)
        with path.open("rb") as file:
            content = file.read(SIZE_CAP + 1)
    except OSError as error:
        raise ContractError(str(path), f"cannot be read: {error.strerror}", remedy=_REMEDY) from None
    except ValueError as error:
        raise ContractError(repr(str(path)), f"no path: {error}", remedy=_REMEDY) from None
    if len(content) > SIZE_CAP:
        raise ContractError(str(path), f"larger than {SIZE_CAP} bytes, so no contract", remedy=_REMEDY)
    try:
        # A byte order mark and Windows line ends are an editor's, not the author's.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ContractError(str(path), f"not text in UTF-8 (byte {error.start}), so no TOML", remedy=_REMEDY) from None
