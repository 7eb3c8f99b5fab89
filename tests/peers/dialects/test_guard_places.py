"""The places that the guard hangs into, in the wheels of SGLang.

They are there, take what the hooks take, and are called while a server starts and by nothing that a request passes.
"""

from __future__ import annotations

import ast
import re

import pytest

from eagle3_contracts.guards.sglang_plugin import ARGUMENTS, CAPTURE, SCHEDULER, WEIGHTS
from support.wheels import Sources

VERSIONS = ("0.5.20", "0.5.22", "0.5.23")
TAKEN = {
    ARGUMENTS: (["server_args"], []),
    WEIGHTS: (["model", "weights", "target_device"], []),
    CAPTURE: (
        [],
        [
            "model",
            "eagle_use_aux_hidden_state",
            "eagle_aux_hidden_state_layer_ids",
            "dflash_use_aux_hidden_state",
            "dflash_target_layer_ids",
            "is_dspark",
        ],
    ),
}
CALLERS = {
    ARGUMENTS: {"srt/server_args.py", "srt/arg_groups/validation_hook.py"},
    WEIGHTS: {"srt/model_loader/loader.py", "srt/model_executor/model_runner_components/weight_updater.py"},
    CAPTURE: {
        "srt/model_executor/model_runner.py",
        "srt/model_executor/model_runner_components/attention_backend_setup.py",
    },
}
"""Files that name each of them: the one that defines it, and the one that calls it at start. ``weight_updater`` loads
again while a server runs; the guard lets a model pass that it has watched before."""

pytestmark = [pytest.mark.peer("sglang"), pytest.mark.parametrize("version", VERSIONS)]


def split(place: str) -> tuple[str, list[str]]:
    """Divide a dotted place into the member of the wheel and the names in it."""
    module, *names = re.split(r"\.(?=[A-Z])", place, maxsplit=1)
    if not names:
        module, _, last = place.rpartition(".")
        return f"{module.replace('.', '/')}.py", [last]
    return f"{module.replace('.', '/')}.py", names[0].split(".")


def find(body: list[ast.stmt], names: list[str]) -> ast.FunctionDef:
    kinds = ast.ClassDef | ast.FunctionDef
    (found,) = [item for item in body if isinstance(item, kinds) and item.name == names[0]]
    if isinstance(found, ast.ClassDef):
        return find(found.body, names[1:])
    return found


@pytest.mark.parametrize("place", TAKEN)
def test_each_place_is_there_and_takes_what_the_hook_takes(sources: Sources, version: str, place: str) -> None:
    member, names = split(place)
    found = find(ast.parse(sources.text("sglang", version, member)).body, names).args
    taken = [item.arg for item in found.args], [item.arg for item in found.kwonlyargs]
    assert taken == TAKEN[place]


@pytest.mark.parametrize("place", TAKEN)
def test_nothing_but_the_start_of_a_server_calls_it(sources: Sources, version: str, place: str) -> None:
    name = place.rpartition(".")[2]
    archive = sources._archive("sglang", version)
    python = [item for item in archive.namelist() if item.startswith("sglang/srt/") and item.endswith(".py")]
    named = {item for item in python if re.search(rf"\b{name}\(", archive.read(item).decode())}
    engine = {"sglang/srt/entrypoints/engine.py"} if place == ARGUMENTS else set()
    assert named - engine == {f"sglang/{item}" for item in CALLERS[place]}


def test_plugins_are_loaded_before_the_arguments_are_parsed_and_in_each_scheduler(
    sources: Sources, version: str
) -> None:
    launch = sources.text("sglang", version, "sglang/launch_server.py")
    assert launch.index("load_plugins()\n") < launch.index("= prepare_server_args(")
    scheduler = ast.parse(sources.text("sglang", version, f"{SCHEDULER.replace('.', '/')}.py")).body
    first = find(scheduler, ["run_scheduler_process"]).body[0]
    assert ast.unparse(first) == "load_plugins()"


def test_what_a_plugin_raises_is_swallowed_so_that_a_hook_must_refuse(sources: Sources, version: str) -> None:
    plugins = ast.parse(sources.text("sglang", version, "sglang/srt/plugins/__init__.py")).body
    told = ast.unparse(find(plugins, ["load_plugins"]))
    assert "except Exception:" in told
    assert "BaseException" not in told
