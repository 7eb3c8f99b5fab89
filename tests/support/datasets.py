"""Reading a dataset in a test: evidence of a path, and a digest of all that lies under it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.datasets import gather
from support.judging.documents import toy_contract


def read_evidence(
    path: Path | str, contract: Contract | None = None, *, scan: str = "full", target: str | None = None, **more: int
) -> DatasetEvidence:
    """Read a dataset in full against the toy contract, or another."""
    options = Options(scan=scan, target=target, **more)
    return gather(contract or toy_contract(), Subject("dataset", str(path), "under test"), options)


def digest_tree(folder: Path) -> str:
    """Digest names, kinds, sizes, times and contents of everything under a folder."""
    total = hashlib.sha256()
    for root, folders, files in sorted(os.walk(folder)):
        for name in sorted(folders + files):
            path = os.path.join(root, name)  # noqa: PTH118 - names need not be UTF-8
            facts = os.lstat(path)
            total.update(os.fsencode(f"{path} {facts.st_mode} {facts.st_size} {facts.st_mtime_ns}"))
            if name in files and not os.path.islink(path) and os.path.isfile(path):  # noqa: PTH113, PTH114
                total.update(Path(path).read_bytes())
    return total.hexdigest()


def kinds(evidence: DatasetEvidence) -> list[str]:
    """Give the kinds of all problems, in order."""
    return [problem.kind for problem in evidence.problems]
