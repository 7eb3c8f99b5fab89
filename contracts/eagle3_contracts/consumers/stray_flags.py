"""Flags of a config that are set where a consumer does not look."""

from __future__ import annotations

from eagle3_contracts.consumers.configs import Config, is_speculators, look_up
from eagle3_contracts.consumers.consumer import Consumer, Path

KNOWN: tuple[Path, ...] = (
    ("norm_before_residual",),
    ("norm_before_fc",),
    ("fc_norm",),
    ("use_aux_norm",),
    ("norm_output",),
    ("bias",),
    ("attention_bias",),
    ("tie_word_embeddings",),
    ("eagle_config", "norm_before_residual"),
    ("eagle_config", "norm_before_fc"),
    ("eagle_config", "fc_norm"),
    ("eagle_config", "norm_output"),
    ("eagle_config", "return_hidden_post_norm"),
)
"""Every place in which some tool keeps a flag that changes what a drafter computes."""


def stray_flags(consumer: Consumer, config: Config) -> tuple[str, ...]:
    """Name the flags that are set and not read; one that is false changes nothing where it is not read."""
    read = {path for places in consumer.flags.values() for path in places}
    if consumer.tied:
        read.add(("tie_word_embeddings",))
    places = [*KNOWN]
    if is_speculators(config):
        read |= {("transformer_layer_config", *path) for path in read}
        places += [("transformer_layer_config", name) for name in ("bias", "attention_bias")]
    return tuple(".".join(path) for path in places if path not in read and look_up(config, path)[1])
