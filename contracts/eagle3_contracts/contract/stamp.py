"""The stamp: what an artifact says of itself, made from the contract that it was made by.

One reading for the command that writes stamps and for the clauses that hold artifacts against theirs. A stamp is data
of the subject, and not trusted: it is compared, never followed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.contract.document import Contract

STAMP_FILE = "eagle3-contract.json"
"""The stamp beside an artifact. Keys ``contract`` and ``format`` are enough; the rest makes it stronger."""

STAMP_KEY = "eagle3_contract"
"""The stamp inside config.json (a table) and inside the metadata of a safetensors file (that table's JSON)."""

SAMPLE_DIGITS = 16
"""Hexadecimal digits kept of each sample's digest: 64 bits, so that a part of a dataset can be held against it."""

LISTED = 1 << 20
"""Samples whose digests a stamp lists one by one; a larger dataset has the digest over all alone."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A key of a stamp, what it says, and what the contract says."""

    key: str
    said: Any
    declared: Any


def stamp_of_dataset(contract: Contract, dataset_format: str | None) -> dict[str, Any]:
    """Give what the contract says of a dataset: boundaries in the order on disk, final state, alignment, dtype."""
    planes = contract.stored_planes(dataset_format)
    final = next((plane.state for plane in planes if plane.is_final), None)
    return {
        "contract": contract.reference,
        "contract_digest": contract.digest,
        "format": dataset_format,
        "planes": [plane.name for plane in planes],
        "boundaries": [plane.boundary for plane in planes],
        "final_state": final,
        "hidden_size": contract.target.hidden_size,
        "dtype": contract.stored_dtype(dataset_format),
        "alignment": contract.alignment.model_dump(mode="json"),
    }


def stamp_of_checkpoint(contract: Contract) -> dict[str, Any]:
    """Give what the contract says of a drafter: the boundaries that it is fed, in order, and its dtype."""
    planes, last = contract.input_planes(), contract.last_hidden_plane()
    return {
        "contract": contract.reference,
        "contract_digest": contract.digest,
        "planes": [plane.name for plane in planes],
        "boundaries": [plane.boundary for plane in planes],
        "last_hidden": None if last is None else {"boundary": last.boundary, "state": last.state},
        "dtype": contract.drafter.dtype or contract.target.dtype,
        "d2t": contract.drafter.d2t,
        "alignment": contract.alignment.model_dump(mode="json"),
    }


def contradictions(stamp: Mapping[str, Any], declared: Mapping[str, Any]) -> tuple[Contradiction, ...]:
    """List every key that the stamp has and the contract says otherwise; keys of neither's concern are passed over.

    The digest is left out where the stamp names another contract: that the documents differ is then no news.
    """
    found = [
        Contradiction(key, stamp[key], value) for key, value in declared.items() if key in stamp and stamp[key] != value
    ]
    other = any(item.key == "contract" for item in found)
    return tuple(item for item in found if not (other and item.key == "contract_digest"))


def digest_ids(ids: bytes) -> str:
    """Give the digest of one sample's token ids, as little-endian int64."""
    return hashlib.blake2b(ids, digest_size=16).hexdigest()


def stamp_tokens(digests: Mapping[str, int]) -> dict[str, Any]:
    """Give the digest of a dataset's token ids, whatever the order of its samples: by digest, how often it is there."""
    listed = sorted(Counter(digests).elements())
    tokens = {"samples": len(listed), "digest": hashlib.sha256("\n".join(listed).encode()).hexdigest()}
    if len(listed) > LISTED:
        return tokens
    return {**tokens, "sample_digests": " ".join(item[:SAMPLE_DIGITS] for item in listed)}


def unknown_samples(tokens: Mapping[str, Any], digests: Iterable[str]) -> list[str]:
    """Give the digests of samples that the stamp does not list; none if it lists no samples one by one."""
    listed = tokens.get("sample_digests")
    if not isinstance(listed, str):
        return []
    known = set(listed.split())
    return [item for item in digests if item[:SAMPLE_DIGITS] not in known]
