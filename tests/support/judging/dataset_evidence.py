"""Evidence of datasets that are not sound: unread, of headers alone, or odd in one file or plane."""

from __future__ import annotations

from typing import Any

from eagle3_contracts.evidence import DatasetEvidence, Problem, Tally
from eagle3_contracts.findings import Where
from support.judging.evidence import plane_record, seen, signature, sound_dataset

PICKLE = Problem(
    "unsafe", "the pickle asks for posix.system", "write tensors and plain values only", Where("data_3.pt")
)
HALF = Problem("truncated", "ends after 4,096 of 81,920 bytes", "write it again", Where("hs_7.safetensors"))
OTHER = Problem("missing", "has no key token_ids", "write token_ids beside hidden_states", Where("hs_8.safetensors"))
TWO_FORMATS = Problem("ambiguous", "could be modelopt or torchspec", "name the format", Where("0.pt"))
NO_TORCH = Problem("needs", "reading .pt files needs torch", "pip install 'eagle3-contracts[torch]'", Where("0.pt"))


def nothing_read(*problems: Problem) -> DatasetEvidence:
    """Give the evidence of a dataset of three files of which none could be read."""
    return sound_dataset(
        format=None,
        files_found=3,
        files_read=0,
        samples=0,
        signatures={},
        planes=(),
        token_maximum=None,
        token_digests={},
        state_digests={},
        comparison=None,
        recaptured=0,
        problems=problems,
    )


UNREAD = nothing_read(HALF)
HEADERS = sound_dataset(
    scan="headers", planes=(), token_maximum=None, token_digests={}, state_digests={}, comparison=None
)


def odd_file(**changes: Any) -> DatasetEvidence:
    """Give a dataset in which one file of 64 has another signature."""
    return odd_files(seen("hs_5.safetensors"), **changes)


def odd_files(tally: Tally, **changes: Any) -> DatasetEvidence:
    """Give a dataset in which so many files of 64 have another signature."""
    shapes = {signature(): seen("hs_0.safetensors", count=64 - tally.count), signature(**changes): tally}
    return sound_dataset(signatures=shapes)


def every_file(**changes: Any) -> DatasetEvidence:
    """Give a dataset in which all files have another signature."""
    return sound_dataset(signatures={signature(**changes): seen("hs_0.safetensors", "hs_1.safetensors", count=64)})


def one_plane(index: int = 1, **changes: Any) -> DatasetEvidence:
    """Give a dataset with other statistics for one plane."""
    return sound_dataset(planes=tuple(plane_record(**(changes if place == index else {})) for place in range(4)))
