"""A dataset of the embedded target about to be written: captured soundly, to be spoiled in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.embedded import NAME, VERSION, golden_root

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.subjects.captures.embedded import EmbeddedCapture


@dataclass(slots=True)
class DumpedSample:
    """One sample as it will be written: token ids [T], planes P of [T, H], mask [T]."""

    token_ids: Tensor
    planes: list[Tensor]
    mask: Tensor


@dataclass(slots=True)
class Dump:
    """A dataset about to be written to ``folder``: its samples, and the capture that they came from.

    ``suffix``: ``.pt`` as speculators 0.3 to 0.5 writes them, or ``.ckpt`` as SpecForge does. ``after``: done to the
    folder once the files are written.
    """

    folder: Path
    capture: EmbeddedCapture
    samples: list[DumpedSample]
    suffix: str = ".pt"
    after: list[Callable[[Path], None]] = field(default_factory=list)

    def capture_again(self, capture: Callable[[Any], Any]) -> None:
        """Replace every sample's planes by those of another capture."""
        for sample in self.samples:
            sample.planes = _capture(capture, sample.token_ids)

    def change_planes(self, change: Callable[[Tensor], Tensor]) -> None:
        """Change every plane of every sample."""
        for sample in self.samples:
            sample.planes = [change(plane) for plane in sample.planes]

    def change_plane(self, place: int, change: Callable[[Tensor], Tensor]) -> None:
        """Change the plane at one place of every sample."""
        for sample in self.samples:
            sample.planes[place] = change(sample.planes[place])

    def write(self) -> Path:
        """Write one file for each sample, do what is to be done after, and give the folder."""
        import torch

        self.folder.mkdir(parents=True, exist_ok=True)
        for number, sample in enumerate(self.samples):
            torch.save(self._record(sample), self.folder / f"data_{number}{self.suffix}")
        for spoil in self.after:
            spoil(self.folder)
        return self.folder

    def _record(self, sample: DumpedSample) -> dict[str, Any]:
        import torch

        record: dict[str, Any] = {"input_ids": sample.token_ids, "loss_mask": sample.mask}
        if self.suffix == ".pt":
            return record | {"hidden_states": sample.planes}
        auxiliary = torch.cat(sample.planes[:-1], dim=-1)[None]
        return record | {"aux_hidden_state": auxiliary, "hidden_state": sample.planes[-1][None]}


def dump_golden_texts(folder: Path, capture: EmbeddedCapture, suffix: str = ".pt") -> Dump:
    """Capture the texts of the recorded datasets anew; nothing is written yet."""
    import torch

    samples = []
    for path in sorted((golden_root() / NAME / VERSION / "datasets" / "speculators-v1").glob("*.pt")):
        record = torch.load(path, weights_only=True)
        token_ids = record["input_ids"]
        samples.append(DumpedSample(token_ids, _capture(capture, token_ids), record["loss_mask"]))
    return Dump(folder, capture, samples, suffix)


def _capture(capture: Callable[[Any], Any], token_ids: Tensor) -> list[Tensor]:
    return [plane.clone() for plane in capture([token_ids.tolist()])[0].planes]
