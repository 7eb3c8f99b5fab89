"""ModelOpt's dialects: the forward hooks of online training, and the two scripts that dump with transformers.

Hooks (plugins/hf_eagle.py, earlier plugins/transformers.py): id k is the output of layer k. The dump script
of the repository indexed ``hidden_states`` at fixed places until 0.44; from 0.45 on ``--aux-layers`` takes
layer ids and adds one, so that id n-1 is post-norm there and pre-norm in the hooks.
"""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect, Tool
from eagle3_contracts.dialects.rule import Ids, LayerRule
from eagle3_contracts.dialects.unsupported import HardCodedRule

MODELOPT = Tool(
    name="modelopt",
    purpose="capture",
    read=("0.40.0", "0.43.0", "0.45.0", "0.47.0"),
    takes="eagle_config.eagle_aux_hidden_state_layer_ids; the dump script: --aux-layers",
    dataset_format="modelopt",
)


def default_layers(layers: int) -> Ids:
    """Give ModelOpt's default ids: 1, n//2-1 and n-4, none below 0, each once."""
    return tuple(sorted({1, max(0, layers // 2 - 1), max(0, layers - 4)}))


def dumped_boundaries(layers: int) -> Ids:
    """Give the indices that the dump script of 0.40 to 0.44 picks: 2, n//2 and n-3, the last not below 1."""
    return tuple(sorted({2, layers // 2, max(1, layers - 3)}))


@dataclass(frozen=True, kw_only=True)
class OutputRule(LayerRule):
    """Id k is the output of layer k, so no id is the embedding."""

    def unreachable(self, tap: Tap, layers: int) -> str:
        """See ``Rule.unreachable``."""
        if tap.boundary == 0:
            return "R[0] cannot be captured: id k is the output of layer k, and the embedding is no layer's output"
        if tap.boundary == layers and self.final is not None:
            return f"id {layers - 1} gives the final state {self.final.replace('_', '-')}, so {tap} cannot be captured"
        return super().unreachable(tap, layers)


DIALECTS = (
    Dialect(
        tool=MODELOPT,
        versions=">=0.40,<0.48",
        setting="online (forward hooks)",
        purpose="train",
        rule=OutputRule(shift=1, first=1, default=default_layers, empty_is_absent=True),
        source="modelopt/torch/speculative/plugins/hf_eagle.py (transformers.py until 0.43)",
    ),
    Dialect(
        tool=MODELOPT,
        versions=">=0.40,<0.45",
        setting="compute_hidden_states_hf.py",
        rule=HardCodedRule(dumped_boundaries, None, "the dump script takes no ids"),
        beside="post_norm",
        source="examples/speculative_decoding/collect_hidden_states/compute_hidden_states_hf.py",
    ),
    Dialect(
        tool=MODELOPT,
        versions=">=0.45,<0.48",
        setting="compute_hidden_states_hf.py",
        rule=OutputRule(shift=1, first=1, default=default_layers, final="post_norm", stray="start", counted=False),
        beside="post_norm",
        source="examples/speculative_decoding/collect_hidden_states/common.py: resolve_aux_layers",
    ),
)
