"""Sound checkpoints in the forms that trainers write, of a contract's drafter with given or drawn weights.

Written from reading: speculators 0.9.0 (save_pretrained of Eagle3DraftModel), SpecForge 0.2.0 (export/to_sglang.py),
EAGLE cb7e084 (eagle/model/cnets.py), nvidia-modelopt 0.47.0 (torch/export/plugins/hf_spec_export.py). The real
exporters of speculators and SpecForge are run in tests/peers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.drafter import INTEGER_TENSORS, expected_tensors

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Form = Literal["speculators", "specforge", "eagle", "modelopt"]
FORMS: tuple[Form, ...] = ("speculators", "specforge", "eagle", "modelopt")
CLASS = "LlamaForCausalLMEagle3"
KEY = "eagle_aux_hidden_state_layer_ids"


@dataclass(slots=True)
class Export:
    """A checkpoint that is not written yet: what spoils it changes ``config``, ``tensors`` or ``after``.

    ``target_files``: JSON files of the folder beside the weights, such as generation_config.json.
    """

    contract: Contract
    folder: Path
    config: dict[str, Any]
    tensors: dict[str, Tensor]
    target_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def write(self) -> Path:
        """Write config.json and model.safetensors; give the folder."""
        from safetensors.torch import save_file

        self.folder.mkdir(parents=True, exist_ok=True)
        for name, table in {"config.json": self.config, **self.target_files}.items():
            (self.folder / name).write_text(json.dumps(table, indent=1), encoding="utf-8")
        tensors = {name: tensor.contiguous().clone() for name, tensor in self.tensors.items()}
        save_file(tensors, str(self.folder / "model.safetensors"), metadata={"format": "pt"})
        return self.folder

    def write_sharded(self, shards: int = 2) -> Path:
        """Write the tensors in several files and an index."""
        from safetensors.torch import save_file

        self.write().joinpath("model.safetensors").unlink()
        names = sorted(self.tensors)
        weight_map: dict[str, str] = {}
        for shard in range(shards):
            file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
            own = names[shard::shards]
            save_file({name: self.tensors[name].contiguous().clone() for name in own}, str(self.folder / file))
            weight_map |= dict.fromkeys(own, file)
        index = {"metadata": {}, "weight_map": weight_map}
        (self.folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
        return self.folder

    def write_bin(self) -> Path:
        """Write the tensors with torch.save, as EAGLE's releases are."""
        import torch

        self.write().joinpath("model.safetensors").unlink()
        torch.save(self.tensors, self.folder / "pytorch_model.bin")
        return self.folder


def export_drafter(contract: Contract, weights: Mapping[str, Tensor], folder: Path, form: Form) -> Export:
    """Give the export of weights by canonical name, in the contract's dtype."""
    import torch

    dtype: torch.dtype = getattr(torch, contract.drafter.dtype or contract.target.dtype)
    lent = {name for name, tensor in expected_tensors(contract).items() if tensor.borrowed}
    kept = {name: tensor for name, tensor in weights.items() if form == "speculators" or name not in lent}
    prefix = {"specforge": "midlayer.", "eagle": "midlayer."}.get(form, "layers.0.")
    tensors = {
        name.replace("layers.0.", prefix, 1): tensor if name in INTEGER_TENSORS else tensor.to(dtype)
        for name, tensor in kept.items()
    }
    if "d2t" in tensors and form != "modelopt":
        tensors["t2d"] = mark_ids(contract, tensors["d2t"])
    return Export(contract, folder, make_config(contract, form), tensors)


def mark_ids(contract: Contract, d2t: Tensor) -> Tensor:
    """Give t2d: true at every target id that the draft vocabulary holds."""
    import torch

    marks = torch.zeros(contract.target.vocab_size, dtype=torch.bool)
    marks[d2t if contract.drafter.d2t == "absolute" else d2t + torch.arange(len(d2t))] = True
    return marks


def draw_weights(
    contract: Contract, seed: int = 0, keep: tuple[int, ...] = (), lose: tuple[int, ...] = ()
) -> dict[str, Tensor]:
    """Draw a drafter's own tensors: norms around 1, matrices scaled by fan-in but of no initialisation's distribution.

    ``keep``, ``lose``: target ids that the draft vocabulary must hold, and must not.
    """
    import torch

    draw = torch.Generator().manual_seed(seed)
    weights: dict[str, Tensor] = {}
    for name, (shape, borrowed) in expected_tensors(contract).items():
        if borrowed:
            continue
        if name in INTEGER_TENSORS:
            rest = [
                item
                for item in torch.randperm(contract.target.vocab_size, generator=draw).tolist()
                if item not in (*keep, *lose)
            ]
            ids = torch.tensor(sorted([*keep, *rest[: shape[0] - len(keep)]]))
            weights[name] = ids if contract.drafter.d2t == "absolute" else ids - torch.arange(len(ids))
        elif len(shape) == 1:
            weights[name] = torch.exp(0.2 * torch.randn(shape, generator=draw))
        else:
            weights[name] = torch.randn(shape, generator=draw) * torch.rand(shape, generator=draw) * shape[-1] ** -0.5
    return weights


def make_config(contract: Contract, form: Form) -> dict[str, Any]:
    """Give config.json as a form has it: flat, with ids for SGLang nested and for vLLM at the top."""
    drafter, layer = contract.drafter, layer_config(contract)
    flags = {
        "norm_before_residual": drafter.residual == "post_norm",
        "norm_before_fc": drafter.fc.input_norm == "joint",
        "fc_norm": drafter.fc.input_norm == "per_plane",
        "norm_output": drafter.recurrent == "post_norm",
    }
    boundaries = [plane.boundary for plane in contract.input_planes()]
    ids = {KEY: boundaries, "eagle_config": {KEY: [boundary - 1 for boundary in boundaries]}}
    common = {"draft_vocab_size": drafter.draft_vocab_size, "tie_word_embeddings": drafter.lm_head == "embedding"}
    if contract.target.hidden_size != drafter.hidden_size:
        common["target_hidden_size"] = contract.target.hidden_size
    if form == "speculators":
        return {
            "architectures": ["Eagle3DraftModel"],
            "speculators_model_type": "eagle3",
            "speculators_version": "0.9.0",
            "speculators_config": {
                "algorithm": "eagle3",
                "default_proposal_method": "greedy",
                "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 3}],
                "verifier": {"name_or_path": contract.target.model, "architectures": [contract.target.architecture]},
            },
            "transformer_layer_config": layer,
            KEY: boundaries,
            **common,
            **flags,
        }
    flat = {**layer, **common, **ids, **{name: True for name, on in flags.items() if on}}
    if form == "modelopt":
        own = {"use_aux_hidden_state": True, "use_last_layernorm": True, "next_layer_regular": True}
        flat["eagle_config"] = {**flat["eagle_config"], **own}
    return {"architectures": ["LlamaForCausalLM" if form == "eagle" else CLASS], **flat}


def layer_config(contract: Contract) -> dict[str, Any]:
    """Give the decoder layer's keys, with the rope in transformers' old layout and its new one."""
    drafter, rope = contract.drafter, contract.drafter.rope
    attention = drafter.attention
    assert isinstance(attention, GqaAttention)  # noqa: S101 (exports of other drafters are not written)
    names = {"original_max_position": "original_max_position_embeddings"}
    scaling = rope.model_dump(
        exclude_none=True, exclude={"theta", "type", "layout", "partial_factor", "mrope_interleaved"}
    )
    scaled = {
        names.get(name, name): list(value) if isinstance(value, tuple) else value for name, value in scaling.items()
    }
    table = {"rope_type": rope.type, **scaled}
    return {
        "model_type": "qwen3" if attention.qk_norm else "llama",
        "vocab_size": contract.target.vocab_size,
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": drafter.layers,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim,
        "attention_bias": attention.bias,
        "hidden_act": drafter.activation,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": (drafter.norm or contract.target.norm).eps,
        "rope_theta": rope.theta,
        "rope_scaling": None if rope.type == "default" else table,
        "rope_parameters": {"rope_theta": rope.theta, **table},
        "torch_dtype": drafter.dtype or contract.target.dtype,
    }
