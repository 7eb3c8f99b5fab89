"""The contract ``smollm2-135m-eagle3`` says of its target what the GGUF file says of itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from gguf import GGUFReader

from eagle3_contracts.contract import GqaAttention, load_contract

CONTRACT = load_contract("smollm2-135m-eagle3@1.0.1")


@pytest.fixture(scope="module")
def reader(model_path: Path) -> GGUFReader:
    return GGUFReader(model_path)


def test_the_weights_are_pinned(model_path: Path) -> None:
    with model_path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == CONTRACT.target.weights_sha256


def test_the_sizes_are_those_of_the_file(reader: GGUFReader) -> None:
    said = {
        name: reader.fields[f"llama.{name}"].contents() for name in ("block_count", "embedding_length", "vocab_size")
    }
    target = CONTRACT.target
    assert said == {
        "block_count": target.num_hidden_layers,
        "embedding_length": target.hidden_size,
        "vocab_size": target.vocab_size,
    }
    assert reader.fields["llama.attention.layer_norm_rms_epsilon"].contents() == pytest.approx(target.norm.eps)


def test_the_drafter_has_the_sizes_of_the_target(reader: GGUFReader) -> None:
    drafter = CONTRACT.drafter
    assert isinstance(drafter.attention, GqaAttention)
    assert reader.fields["llama.attention.head_count"].contents() == drafter.attention.heads
    assert reader.fields["llama.attention.head_count_kv"].contents() == drafter.attention.kv_heads
    assert reader.fields["llama.rope.dimension_count"].contents() == drafter.attention.head_dim
    assert reader.fields["llama.rope.freq_base"].contents() == drafter.rope.theta
    assert reader.fields["llama.feed_forward_length"].contents() == drafter.intermediate_size
    assert reader.fields["llama.context_length"].contents() == drafter.max_position


def test_the_quantisation_and_the_shared_head_are_those_of_the_file(reader: GGUFReader) -> None:
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert ("output.weight" not in kinds) == CONTRACT.target.tied_embedding
    norms = {kind for name, kind in kinds.items() if name.endswith("norm.weight")}
    others = {kind for name, kind in kinds.items() if not name.endswith("norm.weight") and name != "token_embd.weight"}
    told = f"gguf {others.pop()}, embedding {kinds['token_embd.weight']}, norms {norms.pop()}".lower()
    assert CONTRACT.target.quantization == told.replace("f32", "float32")
    assert not norms
    assert not others
