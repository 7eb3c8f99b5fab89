"""What one worker of pytest-xdist has checked, the others read: a fault's command is run once in a run of the tests."""

from __future__ import annotations

import os

import pytest

from support.made_faults import share_checks


@pytest.fixture(scope="session", autouse=True)
def shared_checks(tmp_path_factory: pytest.TempPathFactory) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = tmp_path_factory.getbasetemp().parent / "made-faults"
        folder.mkdir(exist_ok=True)
        share_checks(folder)
