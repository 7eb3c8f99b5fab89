"""Faulty checkpoints: a sound export of a drafter of the embedded target, spoiled in one way."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import STAMP_KEY, stamp_of_checkpoint
from eagle3_contracts.embedded import NAME, VERSION, embedded_target, golden_root
from eagle3_contracts.faults.injecting.exported_parts import PART_FAULTS, RECORDED_PART_FAULTS
from eagle3_contracts.faults.injecting.exports import KEY, Export, Form, draw_weights, export_drafter, mark_ids
from eagle3_contracts.faults.injecting.files import CodeOnLoading
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.targets.parts import locate_parts
from eagle3_contracts.subjects.targets.tensors import find_files

if TYPE_CHECKING:
    from torch import Tensor

ENGINES = {"sglang": ">=0.5.17,<0.5.24", "vllm": ">=0.24,<=0.33.0"}
CONTEXT = 2048
DRAWN = "drawn-eagle3"
KEPT = (0, 1)
"""Target ids that the draft vocabulary holds: beginning and end of text of the embedded target."""


@dataclass(frozen=True, slots=True)
class CheckpointInjection:
    """What spoils an export, and what it starts from.

    ``changes``: of the contract's drafter, by key; ``engines``: those that it promises. ``write``: how it is written,
    ``after``: what is done to the folder then. ``lost``: target ids that the draft vocabulary lacks. ``recorded``: the
    weights are those of the recorded drafter, else they are drawn, and the contract has another name, since no drafts
    are recorded of them.
    """

    spoil: Callable[[Export], None] | None = None
    form: Form = "specforge"
    changes: dict[str, Any] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=lambda: dict(ENGINES))
    write: Callable[[Export], Path] = Export.write
    after: Callable[[Path], None] | None = None
    lost: tuple[int, ...] = ()
    recorded: bool = False


def inject_checkpoint(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the faulty checkpoint; give the contract that it is to be held against, and its folder."""
    injection = CHECKPOINT_INJECTIONS[fault_id]
    contract, export = prepare_export(
        contract,
        folder,
        injection.form,
        changes=injection.changes,
        engines=injection.engines,
        lost=injection.lost,
        recorded=injection.recorded,
    )
    if injection.spoil is not None:
        injection.spoil(export)
    folder = injection.write(export)
    if injection.after is not None:
        injection.after(folder)
    return contract, folder


def write_sound_checkpoint(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the checkpoint that a fault starts from; where the drafter itself is the fault, one of the usual kind."""
    injection = CHECKPOINT_INJECTIONS[fault_id]
    spoiled = injection.spoil is not None or injection.after is not None
    contract, export = prepare_export(
        contract,
        folder,
        injection.form if spoiled else "specforge",
        changes=injection.changes if spoiled else {},
        engines=injection.engines,
        recorded=injection.recorded,
    )
    return contract, injection.write(export)


def prepare_export(
    contract: Contract,
    folder: Path,
    form: Form,
    *,
    changes: dict[str, Any] | None = None,
    engines: dict[str, str] | None = None,
    lost: tuple[int, ...] = (),
    recorded: bool = False,
) -> tuple[Contract, Export]:
    """Give a sound export, not yet written, and the contract that it conforms to."""
    import torch

    contract = promise(contract, engines or ENGINES, changes or {}, name=contract.name if recorded else DRAWN)
    if recorded:
        weights = read_drafter(golden_root() / NAME / VERSION / "drafter", contract, embedded_target())
        return contract, export_drafter(contract, weights, folder, form)
    weights = draw_weights(contract, keep=tuple(item for item in KEPT if item not in lost), lose=lost)
    files = find_files(embedded_target())
    name = locate_parts(files, tied=contract.target.tied_embedding)["embedding"]
    if contract.drafter.embedding == "target":
        weights["embed_tokens.weight"] = torch.from_numpy(files.read(name))
    return contract, export_drafter(contract, weights, folder, form)


def promise(contract: Contract, engines: dict[str, str], changes: dict[str, Any], name: str) -> Contract:
    """Give the contract with engines that it serves, another drafter and another name."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["name"] = name
    document["serving"] = {"engines": engines, "context_length": CONTEXT}
    document["drafter"] |= changes
    return Contract.model_validate_json(json.dumps(document))


def _add_code(folder: Path) -> None:
    """Replace the .bin file's pickle by one that calls a function."""
    path = folder / "pytorch_model.bin"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(
                name, pickle.dumps({"fc.weight": CodeOnLoading()}, 2) if name.endswith("data.pkl") else data
            )


def _cut(folder: Path) -> None:
    """Keep the first half of the second shard."""
    path = folder / "model-00002-of-00002.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def _rename(export: Export, old: str, new: str) -> None:
    export.tensors = {name.replace(old, new): tensor for name, tensor in export.tensors.items()}


def _add(name: str, width: int) -> Callable[[Export], None]:
    def spoil(export: Export) -> None:
        import torch

        export.tensors[name] = torch.linspace(0.5, 1.5, width).to(torch.bfloat16)

    return spoil


def _cut_mlp(export: Export) -> None:
    for name in ("gate", "up"):
        key = f"midlayer.mlp.{name}_proj.weight"
        export.tensors[key] = export.tensors[key][:-16]


def _cast(export: Export) -> None:
    import torch

    export.tensors = {
        name: tensor.to(torch.float16) if tensor.is_floating_point() else tensor
        for name, tensor in export.tensors.items()
    }


def _lose_head(export: Export) -> None:
    del export.tensors["lm_head.weight"]


def _make_absolute(export: Export) -> None:
    import torch

    d2t = export.tensors["d2t"]
    export.tensors["d2t"] = d2t + torch.arange(len(d2t))


def _leave_range(export: Export) -> None:
    export.tensors["d2t"] = export.tensors["d2t"].clone()
    export.tensors["d2t"][5] = -1000
    export.tensors["d2t"][-1] += export.contract.target.vocab_size


def _empty_d2t(export: Export) -> None:
    export.tensors["d2t"] = export.tensors["d2t"] * 0


def _age_t2d(export: Export) -> None:
    export.tensors["t2d"] = mark_ids(export.contract, draw_weights(export.contract, seed=9, keep=KEPT)["d2t"])


def _set(**values: Any) -> Callable[[Export], None]:
    return lambda export: export.config.update(values)


def _drop(*keys: str) -> Callable[[Export], None]:
    def spoil(export: Export) -> None:
        for key in keys:
            export.config.pop(key, None)

    return spoil


def _list_boundaries(export: Export) -> None:
    export.config["eagle_config"] = {KEY: export.config[KEY]}


def _contradict_scaling(export: Export) -> None:
    """Leave the declared scaling in the new layout, and a linear one in the old, which transformers takes first."""
    export.config["rope_scaling"] = {"rope_type": "linear", "factor": 2.0}


def _normal(name: str) -> Callable[[Export], None]:
    def spoil(export: Export) -> None:
        import torch

        like = {"embed_tokens.weight": (export.contract.target.vocab_size, export.contract.drafter.hidden_size)}
        shape = like.get(name) or tuple(export.tensors[name].shape)
        export.tensors[name] = (0.02 * torch.randn(shape, generator=torch.Generator().manual_seed(3))).to(
            torch.bfloat16
        )

    return spoil


def _interleave(export: Export) -> None:
    """Store heads 0, 4, 1, 5, ... of the queries, and o_proj's columns as they were."""
    heads, name = 8, "midlayer.self_attn.q_proj.weight"
    stored = export.tensors[name]
    export.tensors[name] = stored.view(2, heads // 2, -1, stored.shape[-1]).transpose(0, 1).reshape(stored.shape)


def _change(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[Export], None]:
    def spoil(export: Export) -> None:
        export.tensors[name] = change(export.tensors[name])

    return spoil


_JOINT = {"fc": {"bias": False, "input_norm": "joint"}}
_YARN = {"rope": {"theta": 50000.0, "type": "yarn", "factor": 4.0, "original_max_position": 512}}


def _stamp_deeper(export: Export) -> None:
    """Stamp the export by a version of its contract whose planes lie one layer deeper."""
    stamp = stamp_of_checkpoint(export.contract)
    export.config[STAMP_KEY] = {**stamp, "boundaries": [boundary + 1 for boundary in stamp["boundaries"]]}


CHECKPOINT_INJECTIONS: dict[str, CheckpointInjection] = {
    "checkpoint-pickle-with-code": CheckpointInjection(write=Export.write_bin, after=_add_code),
    "checkpoint-shard-cut-off": CheckpointInjection(write=Export.write_sharded, after=_cut),
    "checkpoint-names-of-no-tool": CheckpointInjection(lambda export: _rename(export, "midlayer.", "decoder.0.")),
    "checkpoint-stamped-for-other-planes": CheckpointInjection(_stamp_deeper),
    "checkpoint-head-missing": CheckpointInjection(_lose_head),
    "checkpoint-names-not-translated": CheckpointInjection(
        lambda export: _rename(export, "layers.0.", "midlayer."), "speculators", engines={"vllm": ENGINES["vllm"]}
    ),
    "checkpoint-norm-unread": CheckpointInjection(_add("input_norm.weight", 192)),
    "checkpoint-fc-bias-unread": CheckpointInjection(_add("fc.bias", 64)),
    "checkpoint-other-width": CheckpointInjection(_cut_mlp),
    "checkpoint-float16": CheckpointInjection(_cast),
    "checkpoint-plane-count": CheckpointInjection(_set(num_aux_hidden_states=4)),
    "checkpoint-fc-skipped": CheckpointInjection(changes={"input": ["low"]}),
    "checkpoint-d2t-absolute": CheckpointInjection(_make_absolute),
    "checkpoint-d2t-out-of-range": CheckpointInjection(_leave_range),
    "checkpoint-d2t-zeros": CheckpointInjection(_empty_d2t),
    "checkpoint-t2d-stale": CheckpointInjection(_age_t2d),
    "checkpoint-vocabulary-size": CheckpointInjection(_set(draft_vocab_size=128)),
    "checkpoint-end-of-text-dropped": CheckpointInjection(lost=(1,)),
    "checkpoint-class-unknown": CheckpointInjection(_set(architectures=["Eagle3DraftModel"])),
    "checkpoint-ids-in-another-dialect": CheckpointInjection(_list_boundaries),
    "checkpoint-ids-in-another-place": CheckpointInjection(_drop(KEY)),
    "checkpoint-layer-dropped": CheckpointInjection(form="modelopt", engines={"sglang": ">=0.5.9,<0.5.24"}),
    "checkpoint-norm-flag-ignored": CheckpointInjection(changes={"residual": "post_norm"}),
    "checkpoint-norm-flag-lost": CheckpointInjection(_drop("norm_before_fc"), changes=_JOINT),
    "checkpoint-bias-flag": CheckpointInjection(_set(bias=True)),
    "checkpoint-more-layers": CheckpointInjection(_set(num_hidden_layers=2)),
    "checkpoint-rope-base-lost": CheckpointInjection(_drop("rope_theta", "rope_parameters")),
    "checkpoint-rope-scaling-lost": CheckpointInjection(_contradict_scaling, changes=_YARN),
    "checkpoint-rope-interleaved": CheckpointInjection(changes={"rope": {"theta": 50000.0, "layout": "interleaved"}}),
    "checkpoint-positions-too-few": CheckpointInjection(_set(max_position_embeddings=1024)),
    "checkpoint-tied": CheckpointInjection(_set(tie_word_embeddings=True)),
    "checkpoint-random-embedding": CheckpointInjection(_normal("embed_tokens.weight")),
    "checkpoint-random-queries": CheckpointInjection(_normal("midlayer.self_attn.q_proj.weight")),
    "checkpoint-dead-mlp": CheckpointInjection(_change("midlayer.mlp.down_proj.weight", lambda tensor: tensor * 0)),
    "checkpoint-nan": CheckpointInjection(_change("norm.weight", lambda tensor: tensor * float("nan"))),
    "checkpoint-queries-interleaved": CheckpointInjection(_interleave, recorded=True),
    "checkpoint-ids-absent": CheckpointInjection(_drop(KEY, "eagle_config"), changes={"input": ["low", "high"]}),
    **{fault_id: CheckpointInjection(spoil) for fault_id, spoil in PART_FAULTS.items()},
    **{fault_id: CheckpointInjection(spoil, recorded=True) for fault_id, spoil in RECORDED_PART_FAULTS.items()},
}
"""By fault id."""
