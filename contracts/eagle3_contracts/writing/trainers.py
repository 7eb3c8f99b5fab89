"""The trainers' conventions as data: what each does unless told otherwise, and where that was read.

What a trainer computes whatever its arguments is a ``rule``; what its arguments or a draft config may change is a
``default``, and is written down as assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A value, and the file of the trainer's source that says it."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of a draft config: where it stands, the place in the contract, and what true and false mean there."""

    path: Path
    place: str
    true: Any
    false: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """One trainer, in the version whose source was read.

    ``setting``: the dialect within the tool. ``formats``: the dataset formats that it trains on; empty if it keeps no
    states on disk. ``ids_at``: where its draft config keeps layer ids. ``draft_vocab``: rows of the draft head without
    an argument, None for the target's whole vocabulary. ``shape``: the drafter's sizes where it does not take them from
    the target (its config's names). ``rules``, ``defaults``: by place in the contract.
    """

    tool: str
    version: str
    setting: str | None = None
    formats: tuple[str, ...]
    ids_at: tuple[Path, ...] = (("eagle_config", "eagle_aux_hidden_state_layer_ids"),)
    draft_vocab: Said
    shape: Said | None = None
    rules: Mapping[str, Said] = field(default_factory=dict)
    defaults: Mapping[str, Said] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()

    @property
    def label(self) -> str:
        """Name the trainer with its version."""
        return f"{self.tool} {self.version}"


def _aligned(mask: int, position: int, source: str) -> dict[str, Said]:
    rows = {"token": 1, "target": 1, "loss_mask": mask, "position": position}
    return {f"alignment.{name}": Said([offset], source) for name, offset in rows.items()}


def _plain(source: str, **changes: Any) -> dict[str, Said]:
    """Give what EAGLE's own drafter does, and with it all that follow it."""
    rules = {
        "drafter.d2t": "offset",
        "drafter.lm_head": "own",
        "drafter.embedding": "target",
        "drafter.residual": "pre_norm",
        "drafter.recurrent": "pre_norm",
        "drafter.head_norm": True,
        "drafter.fc.input_norm": "none",
        "drafter.fc.bias": False,
    } | changes
    return {place: Said(value, source) for place, value in rules.items()}


_SPECFORGE = "specforge/modeling/draft/llama3_eagle.py"
_SPECULATORS = "speculators/train/config/schema.py"
_MODELOPT = "modelopt/torch/speculative/eagle/default_config.py"
_TRAIN = "angelslim/compressor/speculative/train"
_ANGELSLIM = f"{_TRAIN}/models/draft/llama_eagle3.py"
_TORCHSPEC = "torchspec/models/draft/llama3_eagle.py"
_EAGLE = "eagle/traineagle3/cnets.py"
_PER_PLANE = Flag(("fc_norm",), "drafter.fc.input_norm", "per_plane", "none")
_HEAD_NORM = Flag(("norm_output",), "drafter.head_norm", true=True, false=False)

TRAINERS: Mapping[str, Trainer] = {
    "specforge": Trainer(
        tool="specforge",
        version="0.2.0",
        formats=("specforge",),
        draft_vocab=Said(32000, "specforge/algorithms/eagle3/providers.py:185"),
        rules=_plain(_SPECFORGE) | _aligned(0, 0, "specforge/modeling/target/target_head.py:103, preprocess"),
        defaults={
            "drafter.architecture": Said("LlamaForCausalLMEagle3", "specforge/algorithms/eagle3/providers.py"),
            "drafter.training_steps": Said(7, "specforge/config/schema.py:530, ttt_length"),
        },
        flags=(_PER_PLANE, _HEAD_NORM),
    ),
    "speculators": Trainer(
        tool="speculators",
        version="0.9.0",
        formats=("speculators-arrow", "hs-connectors-fp8", "vllm-connector", "speculators-v1"),
        ids_at=(("eagle_aux_hidden_state_layer_ids",),),
        draft_vocab=Said(None, f"{_SPECULATORS}, draft_vocab_size: the verifier's vocabulary unless one is given"),
        rules=_plain("speculators/model.py:71,207", **{"drafter.lm_head": "target_rows"})
        | _aligned(1, 1, "speculators/models/eagle3/data.py, shift_batch"),
        defaults={
            "drafter.architecture": Said("Eagle3DraftModel", "speculators/models/eagle3/core.py, as exported"),
            "drafter.residual": Said("post_norm", f"{_SPECULATORS}:145, norm_before_residual"),
            "drafter.fc.input_norm": Said("joint", f"{_SPECULATORS}:791, norm_before_fc"),
            "drafter.recurrent": Said("post_norm", f"{_SPECULATORS}:793, norm_output"),
            "drafter.training_steps": Said(3, f"{_SPECULATORS}:316, ttt_steps"),
        },
        flags=(
            Flag(("norm_before_residual",), "drafter.residual", "post_norm", "pre_norm"),
            Flag(("norm_before_fc",), "drafter.fc.input_norm", "joint", "none"),
            Flag(("fc_norm",), "drafter.fc.input_norm", "per_plane"),
            Flag(("norm_output",), "drafter.recurrent", "post_norm", "pre_norm"),
        ),
    ),
    "modelopt": Trainer(
        tool="modelopt",
        version="0.47.0",
        setting="compute_hidden_states_hf.py",
        formats=("modelopt",),
        draft_vocab=Said(None, "modelopt/torch/speculative/plugins/hf_eagle.py:373: the base model's vocabulary"),
        shape=Said(
            {
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 14336,
                "rope_theta": 10000,
                "rms_norm_eps": 1e-5,
                "attention_bias": False,
                "hidden_act": "silu",
            },
            _MODELOPT,
        ),
        rules=_plain("modelopt/torch/speculative/plugins/modeling_eagle.py", **{"drafter.hidden_norm": "chained"})
        | _aligned(1, 0, "modelopt/torch/speculative/plugins/hf_eagle.py"),
        defaults={
            "drafter.architecture": Said(
                "LlamaForCausalLMEagle3", "modelopt/torch/export/plugins/hf_spec_configs.py:19"
            ),
            "drafter.training_steps": Said(3, "modelopt/torch/speculative/config.py:359, eagle_ttt_steps"),
            "drafter.head_norm": Said(value=True, source="modelopt/torch/speculative/config.py:44, use_last_layernorm"),
        },
        flags=(
            Flag(("eagle_config", "use_last_layernorm"), "drafter.head_norm", true=True, false=False),
            Flag(
                ("eagle_config", "use_input_layernorm_in_first_layer"), "drafter.embedding_norm", true=True, false=False
            ),
        ),
    ),
    "angelslim": Trainer(
        tool="angelslim",
        version="0.5.0",
        formats=("angelslim",),
        ids_at=(("aux_hidden_states_layer_ids",),),
        draft_vocab=Said(32000, "the draft configs of its repository (67394ce)"),
        rules=_plain(_ANGELSLIM) | _aligned(0, 0, f"{_TRAIN}/trainer/offline_eagle3_trainer.py:88"),
        defaults={
            "drafter.architecture": Said("Eagle3LlamaForCausalLM", "the draft configs of its repository (67394ce)"),
            "drafter.training_steps": Said(7, "the examples of its repository (67394ce)"),
        },
    ),
    "torchspec": Trainer(
        tool="torchspec",
        version="6f21829",
        setting="engine hf",
        formats=("torchspec",),
        draft_vocab=Said(32000, "configs/draft_models/qwen3_8b_eagle3.json"),
        rules=_plain(_TORCHSPEC) | _aligned(0, 0, "torchspec/models/eagle3.py"),
        defaults={
            "drafter.architecture": Said("LlamaForCausalLMEagle3", "configs/draft_models/qwen3_8b_eagle3.json"),
            "drafter.training_steps": Said(7, "tools/max_seq_search.py:75, ttt_length"),
        },
        flags=(_PER_PLANE,),
    ),
    "eagle": Trainer(
        tool="eagle",
        version="cb7e084",
        formats=(),
        draft_vocab=Said(32000, "the configs of its published drafters"),
        rules=_plain(_EAGLE) | _aligned(0, 0, _EAGLE),
        defaults={"drafter.training_steps": Said(7, f"{_EAGLE}:498")},
        flags=(),
    ),
}
"""By the name that ``--trainer`` takes."""
