"""The datasets that a loader is given: a sound one, and one for each way in which a sample can be bad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import BAD, Array, Scenario, Sentinel
from eagle3_contracts.subjects.loaders.protocol import Loader, StoredSample, Write
from eagle3_contracts.subjects.loaders.sentinels import LENGTHS, LONGEST, encode_planes, make_sentinels
from eagle3_contracts.subjects.loaders.writing import TWICE
from eagle3_contracts.subjects.named_code import CodeError, NeedsError, last_line

_BEYOND = 7
"""Rows that the sample in ``overlong`` has more than the loader takes."""

_CAP = 1 << 27
"""Numbers that one written sample may hold (512 MB in float32)."""

SCENARIOS: tuple[Scenario, ...] = (
    "sound", "overlong", "nonfinite", "row-missing", "row-surplus", "foreign", "corrupt", "missing",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """What is written: ``planes`` of ``hidden`` channels in ``dtype``, for a loader of ``max_length``."""

    planes: int
    hidden: int
    dtype: str
    vocab_size: int

    @classmethod
    def of(cls, contract: Contract, loader: Loader) -> Layout:
        """Take the layout from the contract, for the loader's format."""
        return cls(
            len(contract.stored_planes(loader.format)),
            contract.target.hidden_size,
            contract.stored_dtype(loader.format),
            contract.target.vocab_size,
        )


def list_skipped(loader: Loader, layout: Layout) -> Mapping[str, str]:
    """Say which scenarios do not apply to a loader, and why."""
    told: dict[str, str] = {}
    longest = 0 if loader.max_length is None else loader.max_length + _BEYOND
    if loader.max_length is None:
        told["overlong"] = "the loader names no length at which it cuts samples (Loader.max_length)"
    elif longest > LONGEST or longest * layout.planes * layout.hidden > _CAP:
        told["overlong"] = f"a sample of more than {loader.max_length:,} rows would be too large to write here"
    if loader.format not in TWICE:
        once = f"files of format {loader.format} keep token ids once, with nothing to hold them against"
        told |= {"foreign": once, "missing": f"files of format {loader.format} are found by listing them"}
    return told


def write_scenario(
    scenario: Scenario, folder: Path, write: Write, layout: Layout, max_length: int | None
) -> tuple[Sentinel, ...]:
    """Write one dataset into a folder; give the samples as they are meant, whatever was then done to the bad one."""
    lengths = list(LENGTHS)
    if scenario == "overlong" and max_length is not None:
        lengths[BAD] = max_length + _BEYOND
    sentinels = make_sentinels(lengths, layout.vocab_size)
    samples = [
        StoredSample(item.tokens, encode_planes(index, layout.planes, item.length, layout.hidden), item.mask)
        for index, item in enumerate(sentinels)
    ]
    samples[BAD] = _spoil(scenario, samples[BAD])
    _spoil_file(scenario, _write(folder, samples, layout.dtype, write))
    return sentinels


def _write(folder: Path, samples: Sequence[StoredSample], dtype: str, write: Write) -> list[Path]:
    """Write a dataset. Raises ``CodeError`` for what the writer raises, and for files that are not there."""
    try:
        paths = list(write(folder, samples, dtype))
        lost = [path for path in paths if not Path(path).is_file()]
    except NeedsError:
        raise
    except (Exception, SystemExit) as error:
        raise CodeError(f"the loader's writer raised {last_line(error)}") from error
    if len(paths) != len(samples) or lost:
        found = f"{len(paths) - len(lost)} files that are there"
        raise CodeError(f"the loader's writer gave {found} for {len(samples)} samples")
    return [Path(path) for path in paths]


def _spoil(scenario: Scenario, sample: StoredSample) -> StoredSample:
    """Make a sample bad: its first row lost, its last one doubled, values that are no numbers, or foreign ids."""
    planes: Array = sample.planes
    if scenario == "nonfinite":
        planes = planes.copy()
        planes[0, 2:6, 0], planes[-1, 4:7, 1] = np.nan, np.inf
        return replace(sample, planes=planes)
    if scenario == "row-missing":
        return replace(sample, planes=np.ascontiguousarray(planes[:, 1:]))
    if scenario == "row-surplus":
        return replace(sample, planes=np.concatenate([planes, planes[:, -1:]], axis=1))
    if scenario == "foreign":
        return replace(sample, state_tokens=tuple(reversed(sample.tokens)))
    return sample


def _spoil_file(scenario: Scenario, paths: Sequence[Path]) -> None:
    """Cut the bad sample's file in half, as a crashed dump leaves it, or remove it."""
    if scenario == "corrupt":
        content = paths[BAD].read_bytes()
        paths[BAD].write_bytes(content[: len(content) // 2])
    if scenario == "missing":
        paths[BAD].unlink()
