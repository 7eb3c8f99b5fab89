"""Measure what ``guard`` adds to a first training step of the real trainers: its time as a share of that step's.

Run it by hand in a trainer's environment: ``python tests/benchmarks/first_step.py speculators|specforge [HIDDEN]``. The
budget is 1 %, of the very first call, imports included. A step is forward, backward and optimizer of the real draft
model on one batch of 1,024 rows; its states are random, which changes no time. On a CPU, one thread. Stand-in for
SpecForge: ``specforge.core.loss``, whose kernel is written in Triton, by the same cross entropy.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.guards import guard
from support.scaling import scale_down

BUDGET = 0.01
ROWS, DOCUMENTS, VOCABULARY, STEPS = 1024, 4, 32_000, 3

Step = Callable[[], None]


def write_target(folder: Path, contract: Contract) -> Path:
    """Write what the trainers read of a target: its config, embedding, norm and head."""
    hidden, layers = contract.target.hidden_size, contract.target.num_hidden_layers
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": layers}
    (folder / "config.json").write_text(json.dumps(config | _sizes(contract)), encoding="utf-8")
    tensors = {
        "model.embed_tokens.weight": torch.randn(VOCABULARY, hidden) * 0.02,
        "model.norm.weight": torch.ones(hidden),
        "lm_head.weight": torch.randn(VOCABULARY, hidden) * 0.02,
    }
    save_file(tensors, folder / "model.safetensors")
    index = {"weight_map": dict.fromkeys(tensors, "model.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def _sizes(contract: Contract) -> dict[str, Any]:
    hidden = contract.target.hidden_size
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": hidden * 11 // 4,
        "num_attention_heads": hidden // 64,
        "num_key_value_heads": hidden // 128,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
    }


def make_rows(contract: Contract) -> dict[str, torch.Tensor]:
    """Make the states of one document; tokens repeat as often as text repeats them."""
    rows, hidden = ROWS // DOCUMENTS, contract.target.hidden_size
    tokens = (torch.rand(rows).pow(6) * (VOCABULARY - 1)).long()
    return {
        "tokens": tokens,
        "fed": torch.randn(rows, hidden * len(contract.drafter.input)),
        "last": torch.randn(rows, hidden),
        "mask": torch.ones(rows, dtype=torch.long),
    }


def speculators_step(contract: Contract, target: Path) -> tuple[Any, Step]:
    """Give a batch of speculators' own collate function and shift, and a step of its own draft model on it."""
    model_class = import_module("speculators.models.eagle3").Eagle3DraftModel
    config = import_module("transformers").LlamaConfig(num_hidden_layers=1, **_sizes(contract))
    t2d = torch.zeros(VOCABULARY, dtype=torch.bool)
    t2d[: contract.drafter.draft_vocab_size] = True
    model = model_class.from_training_args(
        config,
        t2d=t2d,
        d2t=torch.zeros(contract.drafter.draft_vocab_size, dtype=torch.long),
        draft_vocab_size=contract.drafter.draft_vocab_size,
        norm_before_residual=False,
        ttt_steps=STEPS,
        verifier_name_or_path=str(target),
        draft_attn_impl="eager",
        target_layer_ids=[plane.boundary for plane in contract.input_planes()],
    )
    arguments = {"loss_fn": "kl_div", "loss_implementation": "eager", "ttt_steps": STEPS, "ttt_step_loss_decay": 1.0}
    settings, _ = model_class.get_trainer_kwargs(**arguments)
    shift = import_module("speculators.models.eagle3.data").shift_batch
    collate = import_module("speculators.train.data").CollateFn(
        ROWS, contract.target.hidden_size, len(contract.drafter.input), torch.float32, shift
    )
    batch = collate([_speculators_sample(make_rows(contract)) for _ in range(DOCUMENTS)])
    optimizer = torch.optim.AdamW([part for part in model.parameters() if part.requires_grad], lr=1e-4)

    def step() -> None:
        given = {name: part for name, part in batch.items() if name != "error_records"}
        _, loss, _ = model(**given, **settings)
        loss.backward()
        optimizer.step()

    return batch, step


def _speculators_sample(rows: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    length = len(rows["tokens"])
    return {
        "hidden_states": rows["fed"],
        "input_ids": rows["tokens"],
        "verifier_last_hidden_states": rows["last"],
        "loss_mask": rows["mask"],
        "lengths": torch.tensor([length]),
        "position_ids": torch.arange(length),
    }


class Loss:
    """Stands in for LogSoftmaxLoss, as the reference of the kernel's own module computes it."""

    @staticmethod
    def apply(logits: torch.Tensor, shares: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Give the cross entropy, masked rows counted."""
        return -(mask * shares * logits.float().log_softmax(-1)).sum(2).mean()


def specforge_step(contract: Contract, target: Path) -> tuple[Any, Step]:
    """Give a batch of SpecForge's own collator, and a step of its own draft model and target head on it."""
    stand_in = types.ModuleType("specforge.core.loss")
    stand_in.__dict__["LogSoftmaxLoss"] = Loss
    sys.modules["specforge.core.loss"] = stand_in
    torch.compiler.set_stance("force_eager")
    config = import_module("transformers").LlamaConfig(
        num_hidden_layers=1, draft_vocab_size=contract.drafter.draft_vocab_size, pad_token_id=0, **_sizes(contract)
    )
    draft = import_module("specforge.modeling.draft.llama3_eagle").LlamaForCausalLMEagle3(
        config, attention_backend="sdpa"
    )
    draft.load_embedding(str(target))
    draft.freeze_embedding()
    draft.t2d.copy_(torch.arange(VOCABULARY) < contract.drafter.draft_vocab_size)
    draft.d2t.zero_()
    model = import_module("specforge.algorithms.eagle3.model").OnlineEagle3Model(
        draft, length=STEPS, attention_backend="sdpa"
    )
    head = import_module("specforge.modeling.target.target_head").TargetHead.from_pretrained(str(target)).float()
    collate = import_module("specforge.data.utils").DataCollatorWithPadding()
    batch = collate([_specforge_sample(make_rows(contract)) for _ in range(DOCUMENTS)])
    optimizer = torch.optim.AdamW([part for part in model.parameters() if part.requires_grad], lr=1e-4)

    def step() -> None:
        tokens, last, mask = head.preprocess(batch["input_ids"], batch["target"], batch["loss_mask"])
        losses = model(
            input_ids=tokens,
            attention_mask=batch["attention_mask"],
            target=head(last),
            loss_mask=mask,
            hidden_states=batch["hidden_state"],
        )[0]
        sum(losses).backward()
        optimizer.step()

    return batch, step


def _specforge_sample(rows: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        "hidden_state": rows["fed"][None],
        "input_ids": rows["tokens"][None],
        "target": rows["last"][None],
        "loss_mask": rows["mask"][None],
        "attention_mask": torch.ones_like(rows["mask"])[None],
    }


def seconds(run: Callable[[], Any]) -> float:
    """Time one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> int:
    """Measure, print, and fail if the first call costs more than its budget."""
    trainer = sys.argv[1] if len(sys.argv) > 1 else ""
    make = {"speculators": speculators_step, "specforge": specforge_step}[trainer]
    hidden = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    contract = scale_down(load_contract(CONTRACT), hidden=hidden, vocab=VOCABULARY)
    with tempfile.TemporaryDirectory() as folder:
        batch, step = make(contract, write_target(Path(folder), contract))
        first = seconds(lambda: guard(batch, contract))
        later = min(seconds(lambda: guard(batch, contract)) for _ in range(10))
        steps = [seconds(step) for _ in range(2)]
    told = f"{trainer}, hidden {hidden}, {ROWS} rows: first step {steps[0]:.2f} s (second {steps[1]:.2f} s); "
    told += f"guard {first * 1e3:.1f} ms at its first call, {first / steps[0]:.2%} of the first step"
    sys.stdout.write(f"{told}; {later * 1e3:.1f} ms later, {later / steps[1]:.2%} of the second\n")
    return int(first / steps[0] > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
