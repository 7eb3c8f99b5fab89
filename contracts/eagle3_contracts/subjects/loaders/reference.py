"""The project's own loader: plain, strict, and the pattern for wrapping one's own.

It stands in where no trainer is installed, so that the stage can be seen; that it conforms says nothing of any
trainer. It reads what speculators 0.3 to 0.9 write: ``.pt`` files, or states beside an Arrow dataset.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects.loaders.protocol import Loader, StepZero
from eagle3_contracts.subjects.named_code import NeedsError

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract

MAX_LENGTH = 48


@dataclass(frozen=True, slots=True)
class Example:
    """A sample as it was read: token ids [T], mask [T], the planes by name, each [T, H]; then shifted, row by row."""

    name: str
    tokens: Tensor
    mask: Tensor
    planes: dict[str, Tensor]
    state_tokens: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """An example at step zero: one row per token that has a successor."""

    fc_input: Tensor
    last_hidden: Tensor | None
    tokens: Tensor
    mask: Tensor
    positions: Tensor
    targets: Tensor


@dataclass(frozen=True, slots=True)
class Steps:
    """What the loader does with a sample, one step each: a fault replaces one of them."""

    open: Callable[[ReferenceLoader, Path], Iterator[Example]]
    inspect: Callable[[ReferenceLoader, Example], str]
    cut: Callable[[ReferenceLoader, Example], Example]
    shift: Callable[[ReferenceLoader, Example], Rows]
    pack: Callable[[ReferenceLoader, Sequence[Rows]], StepZero]


@dataclass(frozen=True)
class ReferenceLoader:
    """Reads a dataset; samples that are bad are left out with a warning, all others are packed.

    ``stored``: the planes' names in disk order. ``fed`` and ``last``: those that reach fc and the loss.
    ``vocabulary``: the draft vocabulary [V]; no contract lists its ids, so it is a stand-in, ids evenly spread.
    """

    dataset_format: str
    stored: tuple[str, ...]
    fed: tuple[str, ...]
    last: str | None
    vocabulary: Any
    steps: Steps
    max_length: int = MAX_LENGTH

    def __call__(self, folder: Path) -> Iterator[StepZero]:
        """Read one epoch, in the order of the files; each batch is one pack of at most ``max_length`` rows."""
        waiting: list[Rows] = []
        for example in self.steps.open(self, folder):
            reason = self.steps.inspect(self, example)
            if reason:
                warnings.warn(f"{example.name} is left out: {reason}", stacklevel=2)
                continue
            rows = self.steps.shift(self, self.steps.cut(self, example))
            if waiting and sum(len(item.tokens) for item in (*waiting, rows)) > self.max_length:
                yield self.steps.pack(self, waiting)
                waiting = []
            waiting.append(rows)
        if waiting:
            yield self.steps.pack(self, waiting)

    def as_subject(self) -> Loader:
        """Give the loader as the protocol wants it."""
        return Loader(self, self.dataset_format, self.max_length)


def open_reference_loader(contract: Contract) -> Loader:
    """Give the project's own loader for a contract."""
    return make_reference_loader(contract, "speculators-v1").as_subject()


def make_reference_loader(contract: Contract, dataset_format: str) -> ReferenceLoader:
    """Give the loader for a contract and one of its two formats. Raises ``NeedsError`` without torch."""
    try:
        import torch
    except ImportError:
        reason = "the project's own loader needs torch, which is not installed"
        raise NeedsError(reason, "pip install 'eagle3-contracts[torch]'") from None
    size, draft = contract.target.vocab_size, contract.drafter.draft_vocab_size
    vocabulary = torch.zeros(size, dtype=torch.bool)
    vocabulary[torch.arange(draft) * size // draft] = True
    last = contract.last_hidden_plane()
    return ReferenceLoader(
        dataset_format=dataset_format,
        stored=tuple(plane.name for plane in contract.stored_planes(dataset_format)),
        fed=contract.drafter.input,
        last=None if last is None else last.name,
        vocabulary=vocabulary,
        steps=STEPS,
    )


def read_files(loader: ReferenceLoader, folder: Path) -> Iterator[Example]:
    """Read ``data_*.pt``, one sample each, or the rows of an Arrow dataset with their states."""
    paths = sorted(folder.glob("data_*.pt"))
    rows = _read_arrow(folder) if loader.dataset_format == "speculators-arrow" else None
    for index in range(len(paths) if rows is None else len(rows)):
        path = paths[index] if rows is None else folder / "hidden_states" / f"hs_{index}.safetensors"
        try:
            record, states = _read_record(path, None if rows is None else rows[index])
        except Exception as error:  # noqa: BLE001 - whatever a damaged file makes torch or safetensors raise
            warnings.warn(f"{path.name} is left out: it cannot be read ({type(error).__name__})", stacklevel=2)
            continue
        planes = dict(zip(loader.stored, states, strict=True))
        yield Example(path.name, record["input_ids"], record["loss_mask"], planes, record.get("token_ids"))


def _read_record(path: Path, row: dict[str, Tensor] | None) -> tuple[dict[str, Any], list[Tensor]]:
    import torch

    if row is None:
        record: dict[str, Any] = torch.load(path, weights_only=True)
        return record, record["hidden_states"]
    from safetensors.torch import load_file

    stored = load_file(path)
    return {**row, "token_ids": stored["token_ids"]}, list(stored["hidden_states"].unbind(1))


def _read_arrow(folder: Path) -> list[dict[str, Tensor]]:
    import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import torch

    (path,) = folder.glob("data-*.arrow")
    with pa.OSFile(str(path)) as source:
        rows = pa.ipc.open_stream(source).read_all().to_pylist()
    return [{name: torch.tensor(row[name]) for name in ("input_ids", "loss_mask")} for row in rows]


def find_defect(loader: ReferenceLoader, example: Example) -> str:
    """Say why a sample must not be trained on; empty if it may."""
    length = len(example.tokens)
    if any(len(plane) != length for plane in example.planes.values()) or len(example.mask) != length:
        return f"{len(next(iter(example.planes.values())))} rows of states for {length} token ids"
    if not all(bool(plane.isfinite().all()) for plane in example.planes.values()):
        return "its states are not finite"
    if example.state_tokens is not None and not bool((example.state_tokens == example.tokens).all()):
        return "its states belong to other token ids"
    if not bool(((example.tokens >= 0) & (example.tokens < len(loader.vocabulary))).all()):
        return "token ids outside the target's vocabulary"
    return ""


def cut_example(loader: ReferenceLoader, example: Example) -> Example:
    """Cut a sample off at the longest length, all of its parts at the same token."""
    longest = loader.max_length
    planes = {name: plane[:longest] for name, plane in example.planes.items()}
    return replace(example, tokens=example.tokens[:longest], mask=example.mask[:longest], planes=planes)


def shift_example(loader: ReferenceLoader, example: Example) -> Rows:
    """Put state t beside token t + 1 and the final state t + 1; train what predicts a token of the draft vocabulary.

    The last row of a sample has neither; the row before it predicts a token that is not in the sample any more, so
    that its target id is unknown (-1), and it is not trained.
    """
    import torch

    targets = torch.cat([example.tokens[2:], torch.full((1,), -1)]) if len(example.tokens) > 1 else example.tokens[:0]
    counted = (targets >= 0) & loader.vocabulary[targets.clamp(min=0)]
    return Rows(
        fc_input=torch.cat([example.planes[name][:-1] for name in loader.fed], dim=-1),
        last_hidden=None if loader.last is None else example.planes[loader.last][1:],
        tokens=example.tokens[1:],
        mask=example.mask[1:] * counted,
        positions=torch.arange(len(example.tokens) - 1),
        targets=targets,
    )


def pack_rows(loader: ReferenceLoader, waiting: Sequence[Rows]) -> StepZero:
    """Put samples one after the other and fill up with rows that belong to no document and are not trained."""
    import torch

    def join(parts: Sequence[Tensor], fill: int = 0) -> Tensor:
        joined = torch.cat(list(parts))[: loader.max_length]
        missing = loader.max_length - len(joined)
        return torch.cat([joined, torch.full((missing, *joined.shape[1:]), fill, dtype=joined.dtype)])

    finals = [rows.last_hidden for rows in waiting if rows.last_hidden is not None]
    return StepZero(
        fc_input=join([rows.fc_input for rows in waiting]),
        tokens=join([rows.tokens for rows in waiting]),
        last_hidden=join(finals) if finals else None,
        mask=join([rows.mask for rows in waiting]),
        positions=join([rows.positions for rows in waiting]),
        documents=join([torch.full_like(rows.tokens, number) for number, rows in enumerate(waiting)], -1),
        targets=join([rows.targets for rows in waiting], -1),
        vocabulary=loader.vocabulary,
    )


STEPS = Steps(open=read_files, inspect=find_defect, cut=cut_example, shift=shift_example, pack=pack_rows)
"""The sound steps."""
