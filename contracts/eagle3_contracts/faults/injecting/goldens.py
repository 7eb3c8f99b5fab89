"""Faulty recordings: the embedded default's, changed in one place, and listed anew where the recorder did it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import NAME, VERSION, golden_root

if TYPE_CHECKING:
    from torch import Tensor

MANIFEST, STATES, DRAFTS = "manifest.json", "states.safetensors", "drafts.safetensors"
_WEIGHTS = "drafter/model.safetensors"


class Recording:
    """A copy of the embedded recording. What spoils it changes ``table``, the manifest, or files."""

    def __init__(self, contract: Contract, folder: Path) -> None:
        shutil.copytree(golden_root() / NAME / VERSION, folder)
        self.folder, self.contract = folder, contract
        self.table: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))

    def change(self, name: str, change: Callable[[dict[str, Tensor]], None]) -> None:
        """Change the tensors of a file."""
        from safetensors.torch import load, save_file

        tensors = load((self.folder / name).read_bytes())
        change(tensors)
        save_file({key: item.contiguous().clone() for key, item in tensors.items()}, str(self.folder / name))

    def copy_sequence(self, source: int, number: int) -> None:
        """Put what is recorded of one sequence into the place of another."""

        def copy(tensors: dict[str, Tensor]) -> None:
            for name in [name for name in tensors if name.startswith(f"{source}.")]:
                tensors[f"{number}.{name.partition('.')[2]}"] = tensors[name]

        self.table["sequences"][number] = dict(self.table["sequences"][source])
        self.change(STATES, copy)
        self.change(DRAFTS, copy)

    def list_files(self) -> None:
        """List the files as they are now: the fault was there when the recording was made."""
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name != MANIFEST)
        self.table["files"] = {
            path.relative_to(self.folder).as_posix(): {
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "bytes": path.stat().st_size,
            }
            for path in paths
        }

    def write(self) -> Path:
        """Write the manifest; give the folder."""
        (self.folder / MANIFEST).write_text(json.dumps(self.table), encoding="utf-8")
        return self.folder


def inject_golden(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the faulty recording; give the contract and the folder. ``KeyError`` for an unknown fault."""
    inject = GOLDEN_INJECTIONS[fault_id]
    recording = Recording(contract, folder)
    inject(recording)
    if fault_id not in _AFTERWARDS:
        recording.list_files()
    recording.write()
    if fault_id == "golden-manifest-cut-off":
        _cut(folder / MANIFEST)
    return recording.contract, folder


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _edit(recording: Recording) -> None:
    path = recording.folder / "target" / "provenance.json"
    path.write_text(path.read_text(encoding="utf-8").replace("1", "2", 1), encoding="utf-8")


def _say(**changes: str) -> Callable[[Recording], None]:
    return lambda recording: recording.table.update(changes)


def _older_torch(recording: Recording) -> None:
    recording.table["versions"]["torch"] = "1.13.1"


def _foreign_id(recording: Recording) -> None:
    recording.table["sequences"][5]["token_ids"][3] = recording.contract.target.vocab_size + 44


def _edit_ids(recording: Recording) -> None:
    """State the digests that a recorder states, and edit a token id after it."""
    from eagle3_contracts.subjects.goldens.manifest import digest_sequence

    for item in recording.table["sequences"]:
        item["digest"] = digest_sequence(item["token_ids"])
    ids = recording.table["sequences"][0]["token_ids"]
    ids[2] = (ids[2] + 100) % recording.contract.target.vocab_size


def _too_short(recording: Recording) -> None:
    """Keep two sequences of 24 and 16 tokens."""

    def keep(tensors: dict[str, Tensor]) -> None:
        kept = {name: item for name, item in tensors.items() if name.partition(".")[0] in {"4", "5"}}
        tensors.clear()
        tensors |= {f"{int(name[0]) - 4}{name[1:]}": item for name, item in kept.items()}

    recording.table["sequences"] = recording.table["sequences"][4:6]
    recording.change(STATES, keep)
    recording.change(DRAFTS, keep)


def _lose_row(tensors: dict[str, Tensor]) -> None:
    tensors["1.boundaries"] = tensors["1.boundaries"][:, :-1]


def _lose_drafts(tensors: dict[str, Tensor]) -> None:
    for name in [name for name in tensors if name.startswith("2.")]:
        del tensors[name]


def _say_float32(recording: Recording) -> None:
    recording.table["sequences"][1]["dtype"] = "float32"


def _spoil(tensors: dict[str, Tensor]) -> None:
    tensors["5.logits"][4, 10:12] = float("nan")


def _one_late(tensors: dict[str, Tensor]) -> None:
    import torch

    for name in [name for name in tensors if name.endswith(".boundaries")]:
        tensors[name] = torch.cat([tensors[name][1:], tensors[name][-1:]])


def _other_row(tensors: dict[str, Tensor]) -> None:
    """Change boundary 6, which is not fed to the drafter."""
    tensors["0.boundaries"][6, 20] = tensors["0.boundaries"][6, 40]


def _before_norm(recording: Recording) -> None:
    from safetensors.torch import load

    head = load((recording.folder / "target" / "model.safetensors").read_bytes())["lm_head.weight"].float()

    def rebuild(tensors: dict[str, Tensor]) -> None:
        for name in [name for name in tensors if name.endswith(".logits")]:
            state = tensors[name.replace("logits", "boundaries")][-1].float()
            tensors[name] = (state @ head.T).to(tensors[name].dtype)

    recording.change(STATES, rebuild)


def _next_row(tensors: dict[str, Tensor]) -> None:
    for name in [name for name in tensors if name.endswith(".logits")]:
        tensors[name] = tensors[name].roll(-1, 0)


def _absolute_ids(tensors: dict[str, Tensor]) -> None:
    import torch

    tensors["d2t"] = tensors["d2t"] + torch.arange(len(tensors["d2t"]))


def _lose_drafter(recording: Recording) -> None:
    shutil.rmtree(recording.folder / "drafter")


def _train_again(tensors: dict[str, Tensor]) -> None:
    """Move every matrix by a third of its size, as another run of training would."""
    import torch

    draw = torch.Generator().manual_seed(5)
    for name, item in tensors.items():
        if item.is_floating_point() and item.ndim == 2:
            noise = torch.randn(item.shape, generator=draw) * item.float().std() / 3
            tensors[name] = (item.float() + noise).to(item.dtype)


def _other_tokens(tensors: dict[str, Tensor]) -> None:
    """Put the first drafted tokens of one row into another: four rows of seven hundred tokens."""
    for row in range(4):
        tensors["0.drafted"][10 + row, 0] = (int(tensors["0.drafted"][10 + row, 0]) + 1) % 256


def _other_rope(recording: Recording) -> None:
    """Declare another base: the recording was made for this contract, by a drafter that was run with another one."""
    document = recording.contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["drafter"]["rope"]["theta"] = 100.0
    recording.contract = Contract.model_validate_json(json.dumps(document))
    recording.table["contract_digest"] = recording.contract.digest


def _in(name: str, change: Callable[[dict[str, Tensor]], None]) -> Callable[[Recording], None]:
    return lambda recording: recording.change(name, change)


GOLDEN_INJECTIONS: dict[str, Callable[[Recording], None]] = {
    "golden-manifest-cut-off": lambda _: None,
    "golden-states-cut-off": lambda recording: _cut(recording.folder / STATES),
    "golden-file-edited": _edit,
    "golden-file-left-over": lambda recording: (recording.folder / "states.old").touch(),
    "golden-names-a-file-outside": lambda recording: recording.table["files"].update(
        {"../../catalog": {"sha256": "0" * 64, "bytes": 1}}
    ),
    "golden-of-another-version": _say(contract=f"{NAME}@0.9.0"),
    "golden-of-a-changed-document": _say(contract_digest="0" * 64),
    "golden-of-other-weights": _say(target_sha256="0" * 64),
    "golden-by-other-tools": _older_torch,
    "golden-ids-of-another-tokenizer": _foreign_id,
    "golden-sequence-twice": lambda recording: recording.copy_sequence(3, 6),
    "golden-too-short": _too_short,
    "golden-ids-edited": _edit_ids,
    "golden-rows-missing": _in(STATES, _lose_row),
    "golden-drafts-missing": _in(DRAFTS, _lose_drafts),
    "golden-dtype-said-otherwise": _say_float32,
    "golden-nan": _in(STATES, _spoil),
    "golden-layers-one-late": _in(STATES, _one_late),
    "golden-row-of-another-token": _in(STATES, _other_row),
    "golden-logits-before-the-norm": _before_norm,
    "golden-logits-of-the-next-row": _in(STATES, _next_row),
    "golden-drafter-of-another-vocabulary": _in(_WEIGHTS, _absolute_ids),
    "golden-drafts-without-drafter": _lose_drafter,
    "golden-drafter-exchanged": _in(_WEIGHTS, _train_again),
    "golden-tokens-of-another-run": _in(DRAFTS, _other_tokens),
    "golden-rope-of-another-base": _other_rope,
}
"""By fault id: what is changed in the recording, or in the contract that it is held against."""

_AFTERWARDS = {"golden-file-edited", "golden-file-left-over", "golden-names-a-file-outside"}
"""Faults that came after the recording: the manifest still lists what was there."""
