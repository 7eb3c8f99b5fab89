"""``eagle3-contracts record``: run the stored weights again and write states, datasets and manifest."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.recording.drafts import write_drafts
from eagle3_contracts.recording.files import WRITERS, replacing, write_datasets, write_states
from eagle3_contracts.recording.sequences import Sequence, dataset_samples, given_sequences, recorded_sequences
from eagle3_contracts.subjects.goldens import MANIFEST, SCHEMA, STATES, file_digest, golden_root
from eagle3_contracts.subjects.goldens.manifest import digest_sequence
from eagle3_contracts.subjects.targets import open_target
from eagle3_contracts.subjects.targets.tensors import find_files, weights_digest
from eagle3_contracts.writing.stamping import Order, stamp

AGREEMENT = 1e-4
"""The largest per-token relative L2 between the numpy and the torch route that is recorded (measured: 1e-6)."""

_TRUE = {"1", "true", "yes", "on"}
_OWN_DATA = ("tiny-llama-eagle3",)


class RecordingError(Exception):
    """A recording that was not made: what stood in the way, and the remedy. Exit code 2."""

    def __init__(self, reason: str, *, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"{reason}\n  remedy: {remedy}")


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded: the folder, the files that now differ from before, and how well the two routes agree."""

    folder: Path
    files: tuple[str, ...]
    changed: tuple[str, ...]
    agreement: Mapping[str, float]


def record(name: str, golden: Path | None = None, environment: Mapping[str, str] | None = None) -> Recording:
    """Re-record states, datasets and drafts of a contract's stored target and drafter; their weights stay as they are.

    The weights lie in ``GOLDEN/NAME/VERSION/target`` and ``drafter`` (which may be absent). The embedded default has
    sequences and datasets of its own; any other contract's lie in ``sequences.json`` there (``given_sequences``), and
    no datasets are written. Both native routes run, and nothing is written unless they agree.

    Raises ``RecordingError`` if ``environment`` (default: the process's) sets CI to a true value, since a recording
    that a check may rewrite proves nothing, or if there are no stored weights, or none that both routes compute;
    ``SubjectError`` if they contradict the contract, or the sequences are none.
    """
    contract = load_contract(name)
    folder = (golden or golden_root()) / contract.name / contract.version
    _refuse(contract, folder, os.environ if environment is None else environment)
    own = contract.name in _OWN_DATA
    sequences, samples = (recorded_sequences(), dataset_samples()) if own else (given_sequences(folder, contract), ())
    runs, agreement = _run(contract, folder, [item.token_ids for item in sequences] + [ids for ids, _ in samples])
    before = {path: file_digest(folder / path) for path in _files(folder)}
    states, sampled = runs[: len(sequences)], runs[len(sequences) :]
    write_states(folder / STATES, ((run, item.dtype) for run, item in zip(states, sequences, strict=True)))
    write_datasets(
        folder / "datasets", contract, ((run, mask) for run, (_, mask) in zip(sampled, samples, strict=True))
    )
    if samples:
        _stamp_datasets(folder / "datasets", contract)
    if (folder / "drafter").is_dir():
        write_drafts(folder, contract, sequences)
    _write_manifest(folder, contract, sequences, agreement)
    files = tuple(_files(folder))
    changed = tuple(path for path in files if before.get(path) != file_digest(folder / path))
    return Recording(folder, files, changed, agreement)


def _refuse(contract: Contract, folder: Path, environment: Mapping[str, str]) -> None:
    """Raise ``RecordingError`` in CI, and where there is nothing to record from."""
    if environment.get("CI", "").strip().lower() in _TRUE:
        remedy = "record on your own machine, look at the difference, and commit it"
        raise RecordingError("recording is refused where CI is set: it would make every check agree", remedy=remedy)
    if not (folder / "target" / "config.json").is_file():
        reason = f"no weights of {contract.reference} are stored in {folder / 'target'}"
        remedy = "put the target's weights and config there; --golden DIR names the folder of all recordings"
        raise RecordingError(reason, remedy=remedy)


def _run(
    contract: Contract, folder: Path, texts: Iterable[tuple[int, ...]]
) -> tuple[list[ReferenceStates], dict[str, float]]:
    """Run all sequences through both routes; give the numpy route's states, and the largest differences."""
    plain, fast = (open_target(str(folder / "target"), contract, route=route) for route in ("numpy", "torch"))
    if {getattr(target, "route", "") for target in (plain, fast)} != {"numpy", "torch"}:
        reason = f"{contract.target.architecture} with these weights has no two independent routes"
        remedy = "a recording takes a Llama-type target, unquantised and whole, that both native routes compute"
        raise RecordingError(reason, remedy=remedy)
    runs, worst_states, worst_logits = [], 0.0, 0.0
    for token_ids in texts:
        own, other = plain.reference(token_ids), fast.reference(token_ids)
        for first, second in ((own.boundaries, other.boundaries), (own.final, other.final)):
            worst_states = max(worst_states, float(relative_l2(second, first).max()))
        worst_logits = max(worst_logits, float(np.abs(own.logits - other.logits).max()))
        runs.append(own)
    if not worst_states <= AGREEMENT:
        reason = f"the numpy and torch routes differ by {worst_states:.3g} relative L2, more than {AGREEMENT:g}"
        raise RecordingError(reason, remedy="mend subjects/targets/llama_numpy.py or llama_torch.py first")
    return runs, {"relative_l2_max": worst_states, "logit_max": worst_logits}


def _stamp_datasets(folder: Path, contract: Contract) -> None:
    """Say beside each dataset what it holds, as ``eagle3-contracts stamp`` would."""
    tools = (f"eagle3-contracts=={version('eagle3-contracts')}",)
    for name in WRITERS:
        stamp(contract, Order(path=folder / name, dataset_format=name, tools=tools, replace=True))


def _write_manifest(
    folder: Path, contract: Contract, sequences: tuple[Sequence, ...], agreement: Mapping[str, float]
) -> None:
    provenance, drafter = (folder / name / "provenance.json" for name in ("target", "drafter"))
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        "contract": contract.reference,
        "contract_digest": contract.digest,
        "target_sha256": weights_digest(find_files(folder / "target").files),
        "vocab_size": contract.target.vocab_size,
        "command": f"eagle3-contracts record {contract.name}",
        "route": "numpy, float64; torch, float32, agrees as stated",
        "agreement": dict(agreement),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("eagle3-contracts", "numpy", "safetensors", "torch")},
        },
        **({"training": json.loads(provenance.read_text(encoding="utf-8"))} if provenance.is_file() else {}),
        **({"drafter": json.loads(drafter.read_text(encoding="utf-8"))} if drafter.is_file() else {}),
        "sequences": [
            {
                "length": len(item.token_ids),
                "kind": item.kind,
                "dtype": item.dtype,
                "digest": digest_sequence(item.token_ids),
                "token_ids": list(item.token_ids),
            }
            for item in sequences
        ],
        "files": {
            path: {"sha256": file_digest(folder / path), "bytes": (folder / path).stat().st_size}
            for path in _files(folder)
        },
    }
    with replacing(folder / MANIFEST) as scratch:
        scratch.write_text(_dump(manifest), encoding="utf-8")


def _files(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if path != MANIFEST)


def _dump(manifest: Mapping[str, Any]) -> str:
    """Write JSON with lists of numbers on one line, for readable differences."""
    lists = {f"<{at}>": item["token_ids"] for at, item in enumerate(manifest["sequences"])}
    shown = [{**item, "token_ids": mark} for mark, item in zip(lists, manifest["sequences"], strict=True)]
    text = json.dumps({**manifest, "sequences": shown}, indent=2)
    for mark, ids in lists.items():
        text = text.replace(json.dumps(mark), json.dumps(ids))
    return text + "\n"
