"""Which container a file is, told from its first bytes; a name that says otherwise is a problem."""

from __future__ import annotations

from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.safetensors_files import open_safetensors
from eagle3_contracts.subjects.datasets.stored import Entry, FoundFile, UnreadableError
from eagle3_contracts.subjects.datasets.torch_files import open_torch
from eagle3_contracts.subjects.datasets.walking import SAMPLE_SUFFIXES
from eagle3_contracts.subjects.datasets.zip_archives import ZIP_MAGIC

_EXPECTED = {".pt": "torch", ".ckpt": "torch", ".ckpt.gz": "gzip", ".safetensors": "safetensors"}
_WORDS = {"torch": "a file of torch.save", "gzip": "gzip data", "safetensors": "safetensors data"}


def tell_container(head: bytes) -> str:
    """Tell the container from the first bytes of a file: ``torch``, ``gzip``, ``safetensors`` or nothing."""
    if head.startswith((ZIP_MAGIC, b"\x80")):
        return "torch"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    return "safetensors" if len(head) > 8 and head[8:9] == b"{" else ""


def open_file(found: FoundFile, *, sums: bool = False) -> list[Entry]:
    """Open a file as the samples it holds; ``UnreadableError`` says what is wrong with it.

    ``sums``: compare checksums where the container has any, which reads the whole file.
    """
    where = Where(file=found.name)
    try:
        with found.path.open("rb") as handle:
            head = handle.read(64)
        container = tell_container(head)
        if not container and found.suffix == ".safetensors" and head:
            container = "safetensors"
        _check_name(found, head, container, where)
        if container == "safetensors":
            return [open_safetensors(found)]
        return open_torch(found, sums=sums)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise UnreadableError("corrupt", reason, "make the file readable, or capture it again", where) from None


def _check_name(found: FoundFile, head: bytes, container: str, where: Where) -> None:
    """Refuse a file whose bytes are of no container, or of another one than its name says."""
    if not head or (len(head) < len(ZIP_MAGIC) and ZIP_MAGIC.startswith(head)):
        reason = f"holds {len(head)} bytes" if head else "an empty file"
        raise UnreadableError("truncated", reason, "capture this sample again", where)
    if head.startswith(b"version https://git-lfs"):
        raise UnreadableError("missing", "a Git LFS pointer, not the data", "git lfs pull", where)
    expected = _EXPECTED.get(found.suffix)
    if container and expected and container != expected:
        reason = f"named {found.suffix}, which is {_WORDS[expected]}, but holds {_WORDS[container]}"
        raise UnreadableError("unknown-format", reason, "rename it to what it is, or remove it", where)
    if not container or (container == "gzip" and expected is None):
        kind = "corrupt" if found.suffix in SAMPLE_SUFFIXES else "unknown-format"
        reason = f"neither a file of torch.save nor safetensors: begins with the bytes {head[:8].hex(' ')}"
        raise UnreadableError(kind, reason, "remove it if it is no sample, else capture it again", where)
