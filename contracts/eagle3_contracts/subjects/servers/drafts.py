"""Which drafter a server has loaded, and the histogram of accepted tokens that it must come to.

Computed in float32. Exact where the server does so too and decodes greedily: every drafted token follows from the
text; in less, rounding moves some of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerArguments
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens import Golden
from eagle3_contracts.subjects.servers.models import model_folder
from eagle3_contracts.subjects.targets.agreement import read_config

if TYPE_CHECKING:
    from eagle3_contracts.accuracy import Passage
    from eagle3_contracts.drafter import ReferenceDrafter

_PLAIN: Mapping[str, tuple[Any, ...]] = {
    "speculative_adaptive": (False, None),
    "speculative_token_map": (None,),
    "speculative_draft_window_size": (None,),
    "speculative_draft_sink_size": (None,),
    "speculative_use_block_verification": (False, None),
    "speculative_accept_threshold_single": (1.0, None),
    "speculative_accept_threshold_acc": (1.0, None),
    "enable_multi_layer_eagle": (False, None),
}
"""Arguments of SGLang that change what is drafted or accepted, and the values under which they do not."""


class UnpredictedError(Exception):
    """Why no histogram can be foretold."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """The drafter that is served, and how a round drafts with it."""

    drafter: ReferenceDrafter
    steps: int
    topk: int
    draft_tokens: int

    def accepted_after(self, passage: Passage) -> list[int]:
        """Give how many drafted tokens the text confirms after every row."""
        from eagle3_contracts.accuracy import accept_chains, accept_trees

        if self.topk == 1:
            return accept_chains(self.drafter, passage, min(self.steps, self.draft_tokens - 1))
        return accept_trees(self.drafter, passage, steps=self.steps, topk=self.topk, draft_tokens=self.draft_tokens)

    def histogram(self, passage: Passage, prompt: int, new_tokens: int) -> tuple[int, ...]:
        """Walk the rounds of one request as SGLang counts them.

        The prefill gives the first token. The round in which the request ends is counted with all that it accepted,
        even what lies beyond the tokens asked for, so the passage must reach ``steps`` tokens further.
        """
        accepted, counts = self.accepted_after(passage), [0] * (self.steps + 1)
        known, end = prompt + 1, prompt + new_tokens
        while known < end:
            found = accepted[known - 2]
            counts[found] += 1
            known += found + 1
        return tuple(counts)


def open_drafting(
    contract: Contract, arguments: ServerArguments, golden: Golden | None, target: Path | None
) -> Drafting:
    """Open the served draft's own weights, or the recorded drafter where its config agrees with the served one.

    ``target``: the folder that lends embedding and head. Raises ``UnpredictedError``.
    """
    steps, topk, tokens = _effective(arguments)
    folder = _folder(arguments, golden)
    from eagle3_contracts.subjects.checkpoints.weights import read_drafter

    try:
        from eagle3_contracts.drafter import ReferenceDrafter, WeightsError
    except ImportError:  # pragma: no cover (drafter imports torch when it is built)
        raise UnpredictedError("simulating the drafter needs torch") from None
    try:
        weights = read_drafter(folder, contract, target)
        return Drafting(ReferenceDrafter(contract, weights), steps, topk, tokens)
    except ModuleNotFoundError as error:
        raise UnpredictedError(f"simulating the drafter needs {error.name}, which is not installed") from None
    except SubjectError as error:
        raise UnpredictedError(f"the served draft cannot be read: {error.reason}") from None
    except WeightsError as error:
        raise UnpredictedError(f"the served draft is not the contract's: {error}") from None


def _effective(arguments: ServerArguments) -> tuple[int, int, int]:
    steps, topk, tokens = arguments.steps, arguments.topk, arguments.draft_tokens
    if (arguments.algorithm or "").upper() != "EAGLE3":
        raise UnpredictedError(f"the server's algorithm is {arguments.algorithm or 'none'}, not EAGLE3")
    if steps is None or topk is None or tokens is None or min(steps, topk) < 1 or tokens < 2:
        raise UnpredictedError(
            "the server does not say in usable numbers how many steps, candidates and tokens it drafts"
        )
    if arguments.quantization or arguments.draft_quantization:
        raise UnpredictedError("target or draft are quantised: rounding moves which tokens are drafted")
    for name, plain in _PLAIN.items():
        if name in arguments.raw and arguments.raw[name] not in plain:
            raise UnpredictedError(f"{name} is {arguments.raw[name]!r}, which the simulation does not know")
    return steps, topk, tokens


def _folder(arguments: ServerArguments, golden: Golden | None) -> Path:
    if arguments.draft is None:
        raise UnpredictedError("the server names no draft")
    folder = model_folder(arguments.draft.path)
    if folder is not None and any(folder.glob("*.safetensors")):
        return folder
    config = arguments.draft.config
    recorded = golden.drafter if golden is not None else None
    if config is not None and recorded is not None and read_config(recorded / "config.json") == config:
        return recorded
    raise UnpredictedError(f"the served draft, {arguments.draft.path}, is no folder with weights on this machine")
