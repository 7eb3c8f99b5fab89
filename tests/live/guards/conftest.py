"""Drafters that a guard refuses or lets pass, and one real server at a time for each worker of the run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from eagle3_contracts.embedded import CONTRACT
from support import guard_call_probe
from support.guarded_servers import PLUGIN, Guarded, hold, plan_guarded

WRONG = [2, 4, 5]
HUB = "eagle3-contracts/a-drafter"
GUARD = {"EAGLE3_CONTRACT_GUARD": CONTRACT}
WARN = GUARD | {"EAGLE3_CONTRACT_GUARD_MODE": "warn"}
CHAIN = ("--speculative-num-steps", "3", "--speculative-num-draft-tokens", "4")
SHORT = ("--speculative-num-steps", "1", "--speculative-num-draft-tokens", "16")


@pytest.fixture(scope="session")
def wrong(drafter: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the drafter with ids as speculators writes them, which SGLang shifts by one."""
    folder = shutil.copytree(drafter, tmp_path_factory.mktemp("wrong") / "drafter")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = WRONG
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def hub(wrong: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a cache of huggingface_hub that holds the wrong drafter under a name: no folder that a guard could read."""
    cache = tmp_path_factory.mktemp("hub")
    repository, revision = cache / f"models--{HUB.replace('/', '--')}", "0" * 40
    shutil.copytree(wrong, repository / "snapshots" / revision)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision, encoding="utf-8")
    return cache


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a second plugin of SGLang, which counts calls into this package while requests run."""
    site = tmp_path_factory.mktemp("site")
    shutil.copy(Path(guard_call_probe.__file__), site / "guard_call_probe.py")
    told = site / "guard_call_probe-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: guard-call-probe\nVersion: 1.0\n", encoding="utf-8")
    entry = "[sglang.srt.plugins]\nguard_call_probe = guard_call_probe:register\n"
    (told / "entry_points.txt").write_text(entry, encoding="utf-8")
    return site


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest,
    drafter: Path,
    wrong: Path,
    hub: Path,
    probe: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Guarded]:
    """Give the server of the name that a test asks for; it ends after the last test in a row that asks for it."""
    cache = {"HF_HUB_CACHE": str(hub)}
    both, counting = f"{PLUGIN},guard_call_probe", {"GUARD_CALL_PROBE": str(probe / "counts"), "PYTHONPATH": str(probe)}
    plans = {
        "story": plan_guarded(str(wrong), *SHORT, variables=GUARD),
        "hub refused": plan_guarded(HUB, *CHAIN, variables=GUARD | cache),
        "hub warned": plan_guarded(HUB, *CHAIN, variables=WARN | cache),
        "sound": plan_guarded(str(drafter), *CHAIN, plugins=both, variables=GUARD | counting),
    }
    with hold(plans[request.param], tmp_path_factory.mktemp("servers")) as started:
        yield started


@pytest.fixture(scope="session")
def counts(probe: Path) -> Path:
    """Give the file that the counting plugin writes."""
    return probe / "counts"
