"""What contracts and clauses rest on, measured on the real code of speculators and of the transformers beside it.

Real: 0.9.0 as installed; single modules of the wheels of 0.3.0, 0.4.0 and 0.5.0. tests/peers/README.md lists all facts.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import NAME, VERSION, embedded_target
from eagle3_contracts.subjects.goldens import open_golden
from support.recordings import declared_wiring, make_samples, read_states, write_dataset

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
ROWS = 9


@pytest.fixture
def shifted(peer: Peer) -> dict[str, Tensor]:
    """Give a sample of ten tokens after the real shift; the mask covers tokens 4 to 8."""
    tokens, mask = torch.arange(10), torch.zeros(10, dtype=torch.long)
    mask[4:9] = 1
    sample = {
        "input_ids": tokens,
        "hidden_states": tokens[:, None].float(),
        "verifier_last_hidden_states": tokens[:, None].float(),
        "loss_mask": mask,
        "lengths": torch.tensor([10]),
        "position_ids": tokens,
    }
    result: dict[str, Tensor] = peer("speculators.models.eagle3.data").shift_batch(sample)
    return result


@pytest.fixture(scope="module")
def build(make_drafter: Callable[..., Any], contract: Contract) -> Callable[..., Any]:
    def make(**options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make_drafter(contract, [torch.from_numpy(item.token_ids) for item in read_states()], **options)

    return make


@pytest.fixture
def batch(peer: Peer, contract: Contract, tmp_path: Path) -> dict[str, Any]:
    """Give one pack of the recorded samples, as the real loader and collator make it."""
    write_dataset(
        tmp_path, "speculators-arrow", make_samples(declared_wiring(contract, "speculators-arrow")), "bfloat16"
    )
    data, shift = peer("speculators.train.data"), peer("speculators.models.eagle3.data").shift_batch
    dataset = data.ArrowDataset(256, str(tmp_path), on_missing="raise", hidden_states_dtype=torch.float32)
    packed: dict[str, Any] = data.CollateFn(256, 64, 3, torch.float32, shift)([dataset[0], dataset[1]])
    return packed


@pytest.fixture
def run(peer: Peer) -> Callable[..., tuple[Any, Any]]:
    """Run the real model for three steps; give drafted tokens and the loss."""
    eagle3 = peer("speculators.models.eagle3").Eagle3DraftModel
    options = {"loss_fn": "kl_div", "loss_implementation": "eager", "ttt_steps": 3, "ttt_step_loss_decay": 1.0}

    def forward(model: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        kwargs, _ = eagle3.get_trainer_kwargs(**options)
        rows = {name: value for name, value in batch.items() if name != "error_records"}
        drafted, loss, _ = model(**rows, **kwargs)
        return drafted, loss

    return forward


def test_transformers_last_hidden_state_is_normed_and_the_others_are_not(peer: Peer, contract: Contract) -> None:
    model = peer("transformers").LlamaForCausalLM.from_pretrained(embedded_target(), dtype=torch.float32).eval()
    recorded = read_states()[0]
    with torch.no_grad():
        given = model(torch.from_numpy(recorded.token_ids)[None], output_hidden_states=True).hidden_states
    assert len(given) == contract.target.num_hidden_layers + 1

    def distance(one: Tensor, other: Any) -> float:
        return float((one[0] - torch.from_numpy(other)).norm() / one.norm())

    assert all(distance(given[at], recorded.boundaries[at]) < 0.01 for at in range(len(given) - 1))
    assert distance(given[-1], recorded.final) < 0.01
    assert distance(given[-1], recorded.boundaries[-1]) > 0.5


def test_the_shift_drops_a_row_and_pairs_state_t_with_the_next_token_and_its_mask(shifted: dict[str, Tensor]) -> None:
    assert shifted["hidden_states"][:, 0].tolist() == list(range(ROWS))
    for name in ("input_ids", "verifier_last_hidden_states", "position_ids"):
        assert shifted[name].flatten().tolist() == list(range(1, ROWS + 1)), name
    assert shifted["loss_mask"].nonzero().flatten().tolist() == [3, 4, 5, 6, 7]


def test_a_pack_is_one_sequence_with_documents(batch: dict[str, Any]) -> None:
    shapes = {name: tuple(value.shape) for name, value in batch.items() if isinstance(value, Tensor)}
    assert shapes == {
        "hidden_states": (1, 256, 192),
        "input_ids": (1, 256),
        "verifier_last_hidden_states": (1, 256, 64),
        "loss_mask": (1, 256),
        "position_ids": (1, 256),
        "document_ids": (1, 256),
    }
    documents = batch["document_ids"][0].tolist()
    assert (documents.count(0), documents.count(1), documents.count(-1)) == (71, 63, 256 - 71 - 63)


def test_positions_that_start_at_0_or_1_make_no_difference(
    build: Callable[..., Any], batch: dict[str, Any], run: Callable[..., tuple[Any, Any]]
) -> None:
    model = build()
    with torch.no_grad():
        (_, late), (_, early) = run(model, batch), run(model, batch | {"position_ids": batch["position_ids"] - 1})
        (_, other) = run(model, batch | {"position_ids": 3 * batch["position_ids"]})
    assert abs(float(late - early)) < 1e-5 < abs(float(late - other))


def test_the_residual_after_the_norm_is_another_drafter(
    build: Callable[..., Any], batch: dict[str, Any], run: Callable[..., tuple[Any, Any]]
) -> None:
    """What an engine makes of a drafter with the other norm_before_residual, on the embedded default's weights."""
    golden = open_golden(NAME, VERSION).drafter
    assert golden is not None
    weights = load_file(golden / "model.safetensors")
    renamed = {name.replace("midlayer.", "layers.0."): tensor for name, tensor in weights.items()}
    drafted = []
    for flag in (False, True):
        model = build(norm_before_residual=flag)
        assert not model.load_state_dict(renamed, strict=False).unexpected_keys
        with torch.no_grad():
            drafted.append(run(model, batch)[0][0][0])
    rows = batch["document_ids"][0] >= 0
    assert (drafted[0][rows] == drafted[1][rows]).float().mean() < 0.9


def test_flex_attention_has_no_backward_on_a_cpu(
    build: Callable[..., Any], batch: dict[str, Any], run: Callable[..., tuple[Any, Any]]
) -> None:
    model = build(draft_attn_impl="simple_flex_attention")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception, match="CPU"):
            run(model, batch)[1].backward()


def test_what_save_pretrained_writes_into_config(build: Callable[..., Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Eagle3DraftModel"]
    assert config["eagle_aux_hidden_state_layer_ids"] == [2, 4, 5]
    assert config["tie_word_embeddings"] is False
    assert config["speculators_model_type"] == config["speculators_config"]["algorithm"] == "eagle3"
    assert {"model_type", "eagle_config", "rope_theta", "hidden_size"}.isdisjoint(config)
    assert config["transformer_layer_config"]["model_type"] == "llama"


def test_0_5_cannot_give_its_first_sample_by_default(
    contract: Contract,
    unpack_wheel: Callable[[str, str], Path],
    import_from: Callable[..., ModuleType],
    tmp_path: Path,
) -> None:
    """A split ratio of 1 leaves start_file_idx unset: what ``loader.runs`` is for."""
    write_dataset(
        tmp_path, "speculators-arrow", make_samples(declared_wiring(contract, "speculators-arrow")), "bfloat16"
    )
    data = import_from(unpack_wheel("speculators", "0.5.0"), "speculators.train.data")
    dataset = data.ArrowDataset(256, str(tmp_path), on_missing="raise")
    with pytest.raises(AttributeError, match="start_file_idx"):
        dataset[0]
    assert len(data.ArrowDataset(256, str(tmp_path), on_missing="raise", split_ratio=0.9)[0]["input_ids"]) > 0


@pytest.mark.parametrize(("version", "functions"), [("0.3.0", {"v0", "v1"}), ("0.4.0", {"v1"})])
def test_the_old_loaders_give_shifted_samples(
    version: str,
    functions: set[str],
    contract: Contract,
    unpack_wheel: Callable[[str, str], Path],
    import_from: Callable[..., ModuleType],
    tmp_path: Path,
) -> None:
    samples = make_samples(declared_wiring(contract, "speculators-v1"))
    files = write_dataset(tmp_path, "speculators-v1", samples, "bfloat16")
    data = import_from(unpack_wheel("speculators", version), "speculators.train.data")
    assert {name[-2:] for name in vars(data) if name.startswith("standardize_data_")} == functions
    item = data.Eagle3SampleFileDataset(256, file_list=[str(path) for path in files])[0]
    length = len(samples[0].tokens)
    shapes = {name: tuple(value.shape) for name, value in item.items()}
    assert shapes == {
        "hidden_states": (length - 1, 192),
        "input_ids": (length - 1,),
        "verifier_last_hidden_states": (length - 1, 64),
        "loss_mask": (length - 1,),
        "lengths": (1,),
        "position_ids": (length - 1,),
    }
    assert item["position_ids"].tolist() == list(range(1, length))
    assert item["hidden_states"].dtype == torch.float32


def test_0_9_resolves_the_verifiers_norm_for_another_drafter_alone(peer: Peer) -> None:
    """Final norms of (1 + w) are known to dflash; eagle3 takes the drafter's own class for the verifier's."""
    core = inspect.getsource(peer("speculators.models.eagle3.core"))
    assert "resolve_verifier_norm_class" not in core
    assert "self.verifier_norm = norm_class(" in core
