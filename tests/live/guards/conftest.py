"""Four real servers, started at once: most of a start is imports, and two cores do two of them as fast as one."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eagle3_contracts.embedded import CONTRACT, embedded_subjects
from support import guard_call_probe
from support.guarded_servers import PLUGIN, Server, start

if importlib.util.find_spec("sglang") is None:
    pytest.skip("a real SGLang server is needed: install tox and run `tox -e sglang-cpu`", allow_module_level=True)

WRONG = [2, 4, 5]
HUB = "eagle3-contracts/a-drafter"
GUARD = {"EAGLE3_CONTRACT_GUARD": CONTRACT}
WARN = GUARD | {"EAGLE3_CONTRACT_GUARD_MODE": "warn"}
CHAIN = ("--speculative-num-steps", "3", "--speculative-num-draft-tokens", "4")
SHORT = ("--speculative-num-steps", "1", "--speculative-num-draft-tokens", "16")


@pytest.fixture(scope="session")
def drafter() -> Path:
    """Give the embedded default's drafter."""
    (found,) = [item.value for item in embedded_subjects() if item.stage == "checkpoint"]
    return Path(found)


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


@pytest.fixture(scope="session")
def servers(
    drafter: Path, wrong: Path, hub: Path, probe: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Server]]:
    """Give the servers by what is special about them, just started, and end them with all their children."""
    logs = tmp_path_factory.mktemp("logs")
    cache = {"HF_HUB_CACHE": str(hub)}
    counting = {
        "GUARD_CALL_PROBE": str(probe / "counts"),
        "PYTHONPATH": os.pathsep.join([str(probe), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep),
    }
    started = {
        "story": start(str(wrong), logs / "story", *SHORT, variables=GUARD),
        "hub refused": start(HUB, logs / "hub", *CHAIN, variables=GUARD | cache),
        "hub warned": start(HUB, logs / "warned", *CHAIN, variables=WARN | cache),
        "sound": start(
            str(drafter), logs / "sound", *CHAIN, plugins=f"{PLUGIN},guard_call_probe", variables=GUARD | counting
        ),
    }
    yield started
    for server in started.values():
        server.end()


@pytest.fixture(scope="session")
def counts(probe: Path) -> Path:
    """Give the file that the counting plugin writes."""
    return probe / "counts"
