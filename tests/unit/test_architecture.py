"""The shape of the package, held by reading its imports: who may know whom, and how large a module may grow."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from eagle3_contracts.registry import CLAUSES, STAGES
from eagle3_contracts.subjects import READERS

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "contracts" / "eagle3_contracts"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((REPOSITORY / "tests").rglob("*.py"))
ROOT = "eagle3_contracts"

FOUNDATIONS = {"boundaries", "contract", "evidence", "findings", "numerics"}
MAY_IMPORT: dict[str, set[str]] = {
    "__init__": {"subjects"},
    "findings": set(),
    "boundaries": set(),
    "numerics": set(),
    "registry": {"findings"},
    "evidence": {"findings", "numerics"},
    "contract": {"boundaries"},
    "dialects": {"boundaries", "contract"},
    "drafter": {"contract"},
    "accuracy": {"contract", "drafter", "evidence"},
    "diagnosis": FOUNDATIONS | {"dialects", "drafter", "subjects"},
    "launchers": {"dialects"},
    "consumers": {"contract", "dialects"},
    "embedded": {"subjects"},
    "subjects": FOUNDATIONS | {"accuracy", "consumers", "dialects", "drafter", "embedded", "launchers"},
    "clauses": FOUNDATIONS | {"consumers", "dialects", "drafter", "registry", "launchers"},
    "run": {"contract", "findings", "registry", "subjects"},
    "writing": FOUNDATIONS | {"__init__", "consumers", "dialects", "registry", "run", "subjects"},
    "reports": {"findings", "registry", "run"},
    "guards": FOUNDATIONS | {"clauses", "consumers", "dialects", "launchers", "registry", "reports", "run", "subjects"},
    "recording": FOUNDATIONS | {"__init__", "accuracy", "drafter", "embedded", "subjects", "writing"},
    "faults": FOUNDATIONS | {"drafter", "embedded", "registry", "run", "subjects"},
    "testing": {"__init__", "contract", "embedded", "findings", "registry", "reports", "run", "subjects"},
    "plugin": {"contract", "findings", "registry", "subjects", "testing"},
    "suite": {"registry"},
    "commands": FOUNDATIONS
    | {
        "consumers",
        "diagnosis",
        "dialects",
        "faults",
        "recording",
        "registry",
        "reports",
        "run",
        "subjects",
        "testing",
        "writing",
    },
    "cli": {"__init__", "commands", "reports", "testing"},
    "__main__": {"cli"},
}
"""Each part of the package and the parts that it may import; ``run`` finds readers and checks by their stage's name."""

HEAVY = {"torch", "transformers", "pyarrow"}
LIGHT = ("plugin", "findings", "embedded", "suite", "testing", "registry")
"""What must load without any dependency but pytest; ``subjects/__init__`` comes along with them."""

LONG_MODULES: dict[str, int] = {}

LONG_FUNCTIONS: dict[str, int] = {}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in (ROOT, *parts) if part != "__init__")


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_in(nodes: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[str]:
    """Give the full name of everything imported: of ``from a import b`` both ``a`` and ``a.b``."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide who is meant"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_at_load(path: Path) -> set[str]:
    """Give what loading a module imports: not what its functions import, nor what is there for types alone."""
    return set(imports_in(list(_statements(tree_of(path).body))))


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.Try | ast.With | ast.ClassDef):
            yield from _statements(statement.body)
        if isinstance(statement, ast.If):
            yield from _statements(statement.orelse)
            if ast.unparse(statement.test) != "TYPE_CHECKING":
                yield from _statements(statement.body)


def parts_imported(path: Path) -> set[str]:
    own = {name for name in imports_in(ast.walk(tree_of(path))) if name == ROOT or name.startswith(f"{ROOT}.")}
    bare = {"__init__"} if {f"{ROOT}.__version__"} & own else set()
    return bare | {part_of(name) for name in own - {ROOT, f"{ROOT}.__version__"}}


def test_dependencies_go_one_way() -> None:
    beyond = {
        name_of(path): strange
        for path in MODULES
        if (strange := parts_imported(path) - MAY_IMPORT[part_of(name_of(path))] - {part_of(name_of(path))})
    }
    assert not beyond, "a module imports a part that MAY_IMPORT does not give to its own part"


def test_every_part_of_the_package_has_its_rule_and_no_part_that_is_gone() -> None:
    assert {part_of(name_of(path)) for path in MODULES} == set(MAY_IMPORT)


def test_nothing_but_plugin_and_suite_knows_pytest() -> None:
    others = [path for path in MODULES if part_of(name_of(path)) not in {"plugin", "suite"}]
    roots = {name_of(path): {name.partition(".")[0] for name in imports_in(ast.walk(tree_of(path)))} for path in others}
    assert not {name for name, known in roots.items() if known & {"pytest", "_pytest", "pluggy"}}


def test_what_is_slow_to_import_or_optional_is_imported_where_it_is_used() -> None:
    loaded = {name_of(path): {name.partition(".")[0] for name in imported_at_load(path)} for path in MODULES}
    assert not {name: roots & HEAVY for name, roots in loaded.items() if roots & HEAVY}


@pytest.mark.parametrize("part", LIGHT)
def test_the_light_parts_load_with_the_standard_library_and_pytest_alone(part: str) -> None:
    known = {name_of(path): path for path in MODULES}
    waiting = [name for name in known if part_of(name) == part]
    reached: set[str] = set()
    foreign: dict[str, set[str]] = {}
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        names = imported_at_load(known[name])
        waiting += [found for found in names if found in known]
        roots = {found.partition(".")[0] for found in names} - {ROOT, "pytest"}
        if outside := roots - sys.stdlib_module_names:
            foreign[name] = outside
    assert not foreign


def test_a_stage_has_the_same_name_everywhere() -> None:
    assert {clause.stage for clause in CLAUSES} == set(STAGES)
    for stage in STAGES:
        assert (PACKAGE / "clauses" / stage).is_dir() or (PACKAGE / "clauses" / f"{stage}.py").is_file()
        assert (PACKAGE / "registry" / f"{stage}.py").is_file()
    plural = {stage: f"{stage}es" if stage.endswith("ch") else f"{stage}s" for stage in STAGES if stage != "contract"}
    assert plural == READERS
    assert all((PACKAGE / "subjects" / folder / "__init__.py").is_file() for folder in READERS.values())
    for folder in (PACKAGE / "suite", REPOSITORY / "tests" / "contract"):
        assert {path.stem.removeprefix("test_") for path in folder.glob("test_*.py")} == set(STAGES)


def test_modules_stay_small() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in [*MODULES, *TESTS]}
    long = {str(path): lines for path, lines in lengths.items() if lines > LONG_MODULES.get(path.name, 300)}
    assert not long, "divide it by what it speaks of"


def test_functions_stay_small() -> None:
    functions = [
        (f"{name_of(path)}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [(name, lines) for name, lines in functions if lines > LONG_FUNCTIONS.get(name, 40)]
    assert not long, "give its parts names"


def test_modules_are_named_after_what_they_hold() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "stuff"}
    assert not [path for path in [*MODULES, *TESTS] if empty_words & set(path.with_suffix("").parts[-2:])]


def test_a_rule_that_is_broken_is_seen(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    text = "from eagle3_contracts import cli\nfrom eagle3_contracts.run import check\ndef f():\n    import torch\n"
    module.write_text(text + "if TYPE_CHECKING:\n    import numpy\ntry:\n    import pytest\nexcept ImportError: ...\n")
    assert parts_imported(module) == {"cli", "run"}
    assert {name.partition(".")[0] for name in imported_at_load(module)} == {ROOT, "pytest"}
