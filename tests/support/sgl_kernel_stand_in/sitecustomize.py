"""Part of the stand-in: let PyPI's torchvision be imported beside a CPU build of torch.

SGLang 0.5.20 to 0.5.23 imports ``torchvision.transforms`` at start. PyPI's wheel is a CUDA build, whose library of
operations cannot be loaded here, and its Python part then describes two operations that nobody declared
(``torchvision/_meta_registrations.py``). Both are declared just before torchvision is imported, and only where the
library does not load; no Python process that leaves torchvision alone pays for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

DECLARED = ("nms", "qnms")
SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


class TorchvisionDeclarations(MetaPathFinder):
    """Find nothing; take the import of torchvision as the moment to declare what its library would have declared."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave every search to the finders after this one."""
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            found = PathFinder.find_spec(fullname, path, target)
            if found is not None and found.origin is not None and not _loads_library(Path(found.origin).parent):
                _declare()
        return None


def _loads_library(package: Path) -> bool:
    import torch

    try:
        for library in package.glob("_C*.so"):
            torch.ops.load_library(str(library))
    except OSError:
        return False
    return any(package.glob("_C*.so"))


def _declare() -> None:
    import torch

    for name in DECLARED:
        torch.library.define(f"torchvision::{name}", SCHEMA)


sys.meta_path.insert(0, TorchvisionDeclarations())
