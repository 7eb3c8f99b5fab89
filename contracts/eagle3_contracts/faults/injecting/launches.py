"""Faulty launch commands: the embedded default's, changed in one place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_launch

SERVED = {"engines": {"sglang": ">=0.5.20,<0.5.24"}, "min_draft_tokens": 2}
_STEPS, _TOPK, _TOKENS = "--speculative-num-steps 3", "--speculative-eagle-topk 1", "--speculative-num-draft-tokens 4"


class Launch:
    """The embedded default's command and draft config, in a folder of their own, and the contract that it is for."""

    def __init__(self, contract: Contract, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.script = Path(shutil.copy(embedded_launch(), folder / "serve.sh"))
        self.config = folder / "drafter" / "config.json"
        shutil.copytree(embedded_launch().parent / "drafter", self.config.parent)
        self.document: dict[str, Any] = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.document["serving"] = dict(SERVED)

    def write(self, old: str, new: str) -> None:
        """Replace a piece of the command."""
        text = self.script.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the command")
        self.script.write_text(text.replace(old, new), encoding="utf-8")

    def add(self, flags: str) -> None:
        """Add flags at the end of the command."""
        self.write(_TOKENS, f"{_TOKENS} {flags}")

    @property
    def contract(self) -> Contract:
        """The contract, with the serving table that the faults rest on."""
        return Contract.model_validate_json(json.dumps(self.document))


def inject_launch(fault_id: str, contract: Contract, folder: Path) -> tuple[Contract, Path]:
    """Write the faulty command; give the contract and the file. ``KeyError`` for an unknown fault."""
    inject = LAUNCH_INJECTIONS[fault_id]
    launch = Launch(contract, folder)
    inject(launch)
    return launch.contract, launch.script


def _draw(steps: int, topk: int, tokens: int) -> Callable[[Launch], None]:
    def inject(launch: Launch) -> None:
        launch.write(_STEPS, f"--speculative-num-steps {steps}")
        launch.write(_TOPK, f"--speculative-eagle-topk {topk}")
        launch.write(_TOKENS, f"--speculative-num-draft-tokens {tokens}")

    return inject


def _other_engine(launch: Launch) -> None:
    launch.document["serving"] = {"engines": {"vllm": ">=0.30,<0.34"}}


def _quantised(launch: Launch) -> None:
    launch.document["target"]["quantization"] = "fp8"
    launch.add("--quantization fp8")


def _ids(launch: Launch) -> None:
    config = json.loads(launch.config.read_text(encoding="utf-8"))
    config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}
    launch.config.write_text(json.dumps(config), encoding="utf-8")


LAUNCH_INJECTIONS: dict[str, Callable[[Launch], None]] = {
    "launch-quote-left-open": lambda launch: launch.write("./drafter", "'./drafter"),
    "launch-other-engine": _other_engine,
    "launch-flag-misspelt": lambda launch: launch.write("--speculative-num-draft-tokens", "--speculative-draft-tokens"),
    "launch-flag-of-later-release": lambda launch: launch.add("--speculative-use-block-verification"),
    "launch-eagle-for-eagle3": lambda launch: launch.write("EAGLE3", "EAGLE"),
    "launch-without-draft": lambda launch: launch.write("--speculative-draft-model-path ./drafter", ""),
    "launch-drafts-2-of-16": _draw(1, 1, 16),
    "launch-drafts-3-of-2": _draw(2, 1, 2),
    "launch-tree-beyond-its-candidates": _draw(1, 4, 8),
    "launch-context-beyond-positions": lambda launch: launch.write("2048", "8192"),
    "launch-rope-overridden": lambda launch: launch.add("--json-model-override-args '{\"rope_theta\": 40000.0}'"),
    "launch-drafter-in-float16": lambda launch: launch.write("--dtype bfloat16", "--dtype half"),
    "launch-drafter-quantised-along": _quantised,
    "launch-states-from-cached-prefixes": lambda launch: launch.add("--enable-return-hidden-states"),
    "launch-ids-read-one-late": _ids,
}
"""By fault id: what is changed in the command, in the draft's config, or in what the contract promises."""
