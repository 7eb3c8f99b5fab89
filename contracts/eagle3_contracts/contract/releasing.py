"""Releasing versions: what the catalog has released never changes.

A new version is one new file, ``contracts/catalog/NAME/VERSION.toml``, then

    python -m eagle3_contracts.contract.releasing NAME/VERSION

which holds it against the version before it and adds its digests to ``catalog/digests.json``. Without a
name the command checks the whole catalog; ``--schema`` writes ``catalog/schema-1.json`` after the model grew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from eagle3_contracts.contract.comparing import compare
from eagle3_contracts.contract.defects import ContractError
from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.loading import catalog_root, list_catalog, load_contract
from eagle3_contracts.contract.schema import build_schema, find_breaks, schema_path, write_schema

COMMAND = "python -m eagle3_contracts.contract.releasing"
ReleaseList = dict[str, dict[str, str]]
"""``NAME/VERSION`` to ``sha256``, of the file, and ``digest``, of what it says (``Contract.digest``)."""


class ReleaseError(Exception):
    """A version that cannot be released: why, and what to do instead."""


def digests_path(root: Path | None = None) -> Path:
    """Give the path of the list of what was released."""
    return (root or catalog_root()) / "digests.json"


def read_releases(root: Path | None = None) -> ReleaseList:
    """Read the list of what was released; empty if there is none."""
    path = digests_path(root)
    releases: ReleaseList = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return releases


def find_catalog_defects(root: Path | None = None) -> tuple[str, ...]:
    """List what is wrong with the catalog: files changed, gone or not released, versions too low, a stale schema."""
    base = root or catalog_root()
    releases = read_releases(base)
    there = [f"{name}/{version}" for name, versions in list_catalog(base).items() for version in versions]
    defects = [f"{entry}: released, and its file is gone; restore it" for entry in releases if entry not in there]
    for entry in there:
        if entry in releases:
            defects += _find_changes(entry, releases[entry], base)
        else:
            defects.append(f"{entry}: not released; run `{COMMAND} {entry}`")
    return (*defects, *_find_schema_defects(base))


def release_version(entry: str, root: Path | None = None) -> None:
    """Add a version to the list. Raises ``ReleaseError`` if it was released or its number is too low."""
    base = root or catalog_root()
    releases = read_releases(base)
    if entry in releases:
        raise ReleaseError(f"{entry} was released; a released file never changes, so write a new version")
    name, _, version = entry.partition("/")
    versions = list_catalog(base).get(name, ())
    if version not in versions:
        raise ReleaseError(f"no file {base / name / version}.toml; write NAME/VERSION as in the catalog")
    contract = _load(entry, base)
    place = versions.index(version)
    if place:
        comparison = compare(_load(f"{name}/{versions[place - 1]}", base), contract)
        if not comparison.version_suffices:
            changes = "\n  ".join(str(change) for change in comparison.changes) or "no change at all"
            raise ReleaseError(
                f"{entry} follows {versions[place - 1]}, and its changes call for {comparison.required_version} "
                f"at least:\n  {changes}"
            )
    releases[entry] = _digests(entry, contract, base)
    _replace(digests_path(base), json.dumps(dict(sorted(releases.items())), indent=2) + "\n")


def update_schema(root: Path | None = None) -> None:
    """Write the JSON Schema. Raises ``ReleaseError`` if it breaks what the one that is there promised."""
    path = schema_path(root)
    broken = find_breaks(json.loads(path.read_text(encoding="utf-8")), build_schema()) if path.is_file() else []
    if broken:
        raise ReleaseError("this would break documents of the same schema:\n  " + "\n  ".join(broken))
    _replace(path, write_schema())


def main(arguments: Sequence[str] | None = None) -> int:
    """Release versions, write the schema, or check the catalog; 0 if all is well, else 1."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("versions", nargs="*", metavar="NAME/VERSION", help="what to release; nothing: check all")
    parser.add_argument("--schema", action="store_true", help="write schema-1.json as the model is now")
    chosen = parser.parse_args(arguments)
    if (chosen.versions or chosen.schema) and os.environ.get("CI", "").lower() in {"1", "true"}:
        sys.stderr.write("nothing is released in CI; run the command where its result can be committed\n")
        return 1
    try:
        if chosen.schema:
            update_schema()
        for entry in chosen.versions:
            release_version(entry)
    except (ReleaseError, ContractError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    defects = find_catalog_defects()
    sys.stderr.write("".join(f"{defect}\n" for defect in defects))
    return 1 if defects else 0


def _find_changes(entry: str, released: dict[str, str], base: Path) -> Iterator[str]:
    try:
        digests = _digests(entry, _load(entry, base), base)
    except (ContractError, ReleaseError) as error:
        yield f"{entry}: released, and cannot be read any more: {error}"
        return
    if digests["sha256"] != released["sha256"]:
        yield f"{entry}: the file changed after its release; restore it and write a new version"
    elif digests["digest"] != released["digest"]:
        yield f"{entry}: the file says something else to this program than at its release; restore the model"


def _find_schema_defects(base: Path) -> Iterator[str]:
    path = schema_path(base)
    if not path.is_file() or path.read_text(encoding="utf-8") != write_schema():
        yield f"{path.name}: not in step with the model; run `{COMMAND} --schema`"


def _load(entry: str, base: Path) -> Contract:
    """Read a version, and see that it is the one its path says."""
    contract = load_contract(base / f"{entry}.toml")
    if f"{contract.name}/{contract.version}" != entry:
        raise ReleaseError(f"{entry}: the document calls itself {contract.name}/{contract.version}; mend one of them")
    return contract


def _digests(entry: str, contract: Contract, base: Path) -> dict[str, str]:
    # Line ends are the checkout's, not the author's.
    content = (base / f"{entry}.toml").read_bytes().replace(b"\r\n", b"\n")
    return {"sha256": hashlib.sha256(content).hexdigest(), "digest": contract.digest}


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
