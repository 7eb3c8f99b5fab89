"""speculators 0.9.0 as installed, and the two steps of its pipeline that need no server."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target

Peer = Callable[[str], ModuleType]
SEQUENCE_LENGTH = 256


@pytest.fixture
def arrow(peer: Peer, tmp_path: Path, samples: list[Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Any]]:
    """Run the real preprocessing on rows that carry token ids and masks, as scripts/prepare_data.py does.

    Gives the folder and the samples in the order of its rows: the real code shuffles. It holds token_freq.pt beside
    the Arrow files, as the script's default does.
    """
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    target, rows, folder = tmp_path / "target", tmp_path / "rows.jsonl", tmp_path / "arrow"
    _write_target(peer, target)
    lines = [{"input_ids": item.token_ids.tolist(), "loss_mask": item.loss_mask.tolist()} for item in samples]
    rows.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    preprocessing = peer("speculators.data_generation.preprocessing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset, _ = preprocessing.load_and_preprocess_dataset(
            str(target),
            [str(rows)],
            seq_length=SEQUENCE_LENGTH,
            build_dataset_num_proc=1,
            token_freq_path=folder / "token_freq.pt",
            skip_token_freq=False,
        )
        dataset.save_to_disk(str(folder))
    by_tokens = {tuple(item.token_ids.tolist()): item for item in samples}
    return folder, [by_tokens[tuple(row["input_ids"].tolist())] for row in dataset]


@pytest.fixture
def stack() -> Callable[[Any, Any, str], Tensor]:
    """Stack a sample's stored planes as vLLM's connector does: [T, planes, H], the model's dtype."""

    def stack_planes(sample: Any, contract: Any, dataset_format: str) -> Tensor:
        return torch.stack(sample.planes(contract, dataset_format), dim=1).to(torch.bfloat16)

    return stack_planes


@pytest.fixture
def save_states() -> Callable[[Path, int, Tensor, Tensor], Path]:
    """Write ``hs_{row}.safetensors`` with the keys of vLLM 0.33's ExampleHiddenStatesConnector (read, not run)."""

    def save(folder: Path, row: int, states: Tensor, token_ids: Tensor) -> Path:
        path = folder / "hidden_states" / f"hs_{row}.safetensors"
        path.parent.mkdir(exist_ok=True)
        save_file({"hidden_states": states, "token_ids": token_ids}, path)
        return path

    return save


@pytest.fixture(scope="session")
def make_drafter(peer: Peer) -> Callable[..., Any]:
    """Make the draft model as scripts/train.py does: the target's config with one layer, a counted vocabulary."""

    def make(contract: Contract, rows: Iterable[Tensor], **options: Any) -> Any:
        drafter = contract.drafter
        counted = Counter(token for row in rows for token in row.tolist())
        vocabulary = peer("speculators.train.vocab_mapping").build_vocab_mappings_from_distribution
        d2t, t2d = vocabulary(dict(counted), drafter.draft_vocab_size, contract.target.vocab_size)
        ids = [plane.boundary for plane in contract.input_planes()]
        torch.manual_seed(0)
        return peer("speculators.models.eagle3").Eagle3DraftModel.from_training_args(
            _write_layer(peer, contract),
            t2d=t2d,
            d2t=d2t,
            draft_vocab_size=drafter.draft_vocab_size,
            ttt_steps=3,
            verifier_name_or_path=str(embedded_target()),
            **{"norm_before_residual": False, "target_layer_ids": ids, "draft_attn_impl": "eager"} | options,
        )

    return make


def _write_layer(peer: Peer, contract: Contract) -> Any:
    drafter, attention = contract.drafter, contract.drafter.attention
    assert attention.kind == "gqa"
    return peer("transformers").LlamaConfig(
        vocab_size=contract.target.vocab_size,
        hidden_size=drafter.hidden_size,
        intermediate_size=drafter.intermediate_size,
        num_hidden_layers=drafter.layers,
        num_attention_heads=attention.heads,
        num_key_value_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        max_position_embeddings=drafter.max_position,
        rms_norm_eps=contract.target.norm.eps,
        rope_parameters={"rope_theta": drafter.rope.theta, "rope_type": "default"},
        tie_word_embeddings=False,
    )


def _write_target(peer: Peer, folder: Path) -> None:
    """Write a tokenizer of 256 words and a config.json, which is all that the preprocessing asks of a target."""
    tokenizers, transformers = peer("tokenizers"), peer("transformers")
    words = {f"w{index}": index for index in range(256)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))  # noqa: S106 (no secret)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0", pad_token="w0")  # noqa: S106 (no secret)
    fast.save_pretrained(folder)
    transformers.LlamaConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=8).save_pretrained(folder)
