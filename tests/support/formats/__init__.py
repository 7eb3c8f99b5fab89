"""Writers of good datasets in every format, from given token ids, planes and masks (see each writer for its source).

The real tools' writers run in tests/peers; these are made from reading their source, and stand in for them here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from support.formats.safetensors_writers import (
    write_hs_connectors_fp8,
    write_speculators_arrow,
    write_vllm_connector,
)
from support.formats.samples import GoodSample, make_sample, make_samples, select
from support.formats.torch_writers import (
    write_angelslim,
    write_modelopt,
    write_specforge,
    write_specforge_gz,
    write_speculators_v0,
    write_speculators_v1,
    write_tensorrt_llm,
    write_torchspec,
    write_torchspec_replay,
)

Writer = Callable[..., list[Path]]

WRITERS: dict[str, Writer] = {
    "speculators-v0": write_speculators_v0,
    "speculators-v1": write_speculators_v1,
    "speculators-arrow": write_speculators_arrow,
    "hs-connectors-fp8": write_hs_connectors_fp8,
    "specforge": write_specforge,
    "modelopt": write_modelopt,
    "tensorrt-llm": write_tensorrt_llm,
    "angelslim": write_angelslim,
    "torchspec": write_torchspec,
    "vllm-connector": write_vllm_connector,
}
"""Format id to ``write(folder, samples, dtype="bfloat16") -> files``."""

VARIANTS: dict[str, tuple[str, Writer]] = {
    "specforge, gzip": ("specforge", write_specforge_gz),
    "torchspec, replay": ("torchspec", write_torchspec_replay),
}
"""Further layouts of a format: name to format id and writer."""

ALL_WRITERS: dict[str, tuple[str, Writer]] = {name: (name, writer) for name, writer in WRITERS.items()} | VARIANTS


def write_dataset(format_id: str, folder: Path, samples: Sequence[GoodSample], dtype: str | None = None) -> list[Path]:
    """Write samples in a format and give the files; ``dtype`` of the states, the format's usual one by default."""
    writer = WRITERS[format_id]
    return writer(folder, samples, dtype) if dtype else writer(folder, samples)


__all__ = [
    "ALL_WRITERS",
    "VARIANTS",
    "WRITERS",
    "GoodSample",
    "Writer",
    "make_sample",
    "make_samples",
    "select",
    "write_dataset",
]
