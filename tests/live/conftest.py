"""What tests on a real SGLang share: servers, one for all workers of the run, and the stand-in's declarations.

These folders are collected by tox's environments ``sglang-cpu*`` alone. Real: SGLang with its processes, the embedded
target and drafter. Stand-in: ``sgl_kernel`` (tests/support/sgl_kernel_stand_in).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import support.sgl_kernel_stand_in.sitecustomize  # noqa: F401 (before transformers imports torchvision)
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_subjects, embedded_target
from eagle3_contracts.subjects.servers.launching import RunningServer, plan_launch, share

ServerOf = Callable[..., RunningServer]


@pytest.fixture(scope="session")
def contract() -> Contract:
    """The embedded contract."""
    return load_contract(CONTRACT)


@pytest.fixture(scope="session")
def drafter() -> Path:
    """The embedded drafter."""
    (found,) = [item.value for item in embedded_subjects() if item.stage == "checkpoint"]
    return Path(found)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of the whole run, workers included."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if own.name.startswith("popen-") else own


@pytest.fixture(scope="module")
def serve(contract: Contract, drafter: Path, run_folder: Path) -> Iterator[ServerOf]:
    """Give a server of a role, which ends with the module's tests, on whichever workers of the run they are.

    What else it takes is what ``plan_launch`` takes.
    """
    held: dict[str, RunningServer] = {}

    def give(role: str, **options: object) -> RunningServer:
        plan = plan_launch(contract, embedded_target(), drafter, role, device="cpu", **options)  # type: ignore[arg-type]
        if plan.key not in held:
            held[plan.key] = share(plan, run_folder)
        return held[plan.key]

    yield give
    for server in held.values():
        server.stop()
