"""Flags of an engine's server, read from its source: names, how many values they take, and which are retired.

Parsed, never imported: what stands in calls of ``add_argument`` and in annotated fields of the argument classes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from support.wheels import Sources

SERVER_ARGS = "sglang/srt/server_args.py"
FIELDS = "sglang/srt/arg_groups/fields/"
RETIRING = {
    "DeprecatedAction": "gone",
    "DeprecatedStoreTrueAction": "retired",
    "DeprecatedStoreConstAction": "retired",
    "DeprecatedAliasStoreAction": "retired",
}


@dataclass(frozen=True, slots=True)
class FlagFact:
    """``kind``: switch, one, many or maybe (a value or none). ``of``: the name of the same setting that comes first."""

    kind: str
    of: str
    state: str = ""


def read_sglang_flags(sources: Sources, version: str) -> dict[str, FlagFact]:
    """Give every flag of SGLang's server by its name."""
    texts = [sources.text("sglang", version, SERVER_ARGS)]
    texts += [
        sources.text("sglang", version, FIELDS + name)
        for name in sources.names("sglang", version, FIELDS)
        if name.endswith(".py")
    ]
    found: dict[str, FlagFact] = {}
    for text in texts:
        for names, kind, state in _flags_of(ast.parse(text)):
            for name in names:
                found.setdefault(name, FlagFact(kind, names[0], state))
                if kind == "optional":
                    found[name] = FlagFact("switch", names[0], state)
                    found.setdefault("--no-" + name.removeprefix("--"), FlagFact("switch", names[0], state))
    return {name: fact for name, fact in found.items() if name.startswith("--")}


def _flags_of(tree: ast.Module) -> Iterator[tuple[list[str], str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            names = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            if names and names[0].startswith("-"):
                kind, state = _kind_of_call({item.arg: item.value for item in node.keywords if item.arg})
                yield _long_first(names), kind, state
        elif isinstance(node, ast.ClassDef):
            yield from _fields_of(node)


def _long_first(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: not name.startswith("--"))


def _kind_of_call(given: dict[str, ast.expr]) -> tuple[str, str]:
    action = ast.unparse(given["action"]).strip("'\"") if "action" in given else ""
    action = action.rpartition(".")[2]
    nargs = ast.unparse(given["nargs"]).strip("'\"") if "nargs" in given else ""
    state = RETIRING.get(action, "")
    if action == "BooleanOptionalAction":
        return "optional", ""
    if action in {"store_true", "store_false", "store_const", "help", "version"}:
        return "switch", state
    if state and action != "DeprecatedAliasStoreAction" and nargs in {"", "0"}:
        return "switch", state
    return {"+": "many", "*": "many", "?": "maybe", "0": "switch"}.get(nargs, "one"), state


def _fields_of(node: ast.ClassDef) -> Iterator[tuple[list[str], str, str]]:
    for item in node.body:
        if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
            continue
        annotation = item.annotation
        if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in {"A", "Annotated"}):
            continue
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        calls = [part for part in parts[1:] if isinstance(part, ast.Call) and ast.unparse(part.func) == "Arg"]
        plain = any(isinstance(part, ast.Constant | ast.JoinedStr | ast.BinOp) for part in parts[1:])
        if not calls and not plain:
            continue
        given = {word.arg: word.value for word in calls[0].keywords if word.arg} if calls else {}
        if "no_cli" in given and ast.unparse(given["no_cli"]) == "True":
            continue
        own = "--" + item.target.id.replace("_", "-")
        first = ast.literal_eval(given["cli_name"]) if "cli_name" in given else own
        aliases = ast.literal_eval(given["aliases"]) if "aliases" in given else []
        kind, state = _kind_of_field(ast.unparse(parts[0]), given)
        yield _long_first([first, *aliases]), kind, state


def _kind_of_field(annotation: str, given: dict[str, ast.expr]) -> tuple[str, str]:
    if "action" in given:
        settings = given.get("action_kwargs")
        extra: dict[str, ast.expr] = {"action": given["action"]}
        if isinstance(settings, ast.Dict):
            extra |= {
                ast.literal_eval(key): value for key, value in zip(settings.keys, settings.values, strict=True) if key
            }
        elif isinstance(settings, ast.Call):
            extra |= {word.arg: word.value for word in settings.keywords if word.arg}
        return _kind_of_call(extra)
    inner = annotation.removeprefix("Optional[").removesuffix("]") if annotation.startswith("Optional[") else annotation
    inner = inner.replace(" | None", "")
    nargs = ast.unparse(given["nargs"]).strip("'\"") if "nargs" in given else ""
    if inner.startswith(("List[", "list[")) and "type_parser" not in given:
        return "many", ""
    if inner == "bool":
        return "switch", ""
    return {"+": "many", "*": "many", "?": "maybe"}.get(nargs, "one"), ""


VLLM_PARSERS = (
    "vllm/engine/arg_utils.py",
    "vllm/entrypoints/openai/cli_args.py",
    "vllm/entrypoints/common/cli_args.py",
    "vllm/entrypoints/launchers/cli_args.py",
)


def read_vllm_flags(sources: Sources, version: str) -> dict[str, FlagFact]:
    """Give every flag of vLLM's server by its name; how many values it takes is left open (``loose``)."""
    found: dict[str, FlagFact] = {}
    for member in VLLM_PARSERS:
        text = sources.read("vllm", version, member)
        for node in ast.walk(ast.parse(text or "")):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
                names = [
                    item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)
                ]
                names = [name for name in names if name.startswith("-")]
                found |= {name: FlagFact("loose", _long_first(names)[0]) for name in names}
            elif isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):
                fields = [
                    item.target.id
                    for item in node.body
                    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                ]
                own = ["--" + name.replace("_", "-") for name in fields]
                found |= {name: FlagFact("loose", name) for name in own}
    return found


def write_table(read: dict[str, dict[str, FlagFact]]) -> list[str]:
    """Give the table's lines: name, kind, first and last release, the state, and the name that it is an alias of."""
    releases = list(read)
    first_names = _first_names(read)
    lines = []
    for name in sorted({name for flags in read.values() for name in flags}):
        runs: list[list[str]] = []
        for place, release in enumerate(releases):
            fact = read[release].get(name)
            if fact is None:
                continue
            said = [fact.kind, fact.state or "-", first_names[name]]
            if runs and runs[-1][:3] == said and releases.index(runs[-1][4]) == place - 1:
                runs[-1][4] = release
            else:
                runs.append([*said, release, release])
        for kind, state, of, first, last in runs:
            alias = [] if of == name else [of]
            lines.append(" ".join([name, kind, first, last, state, *alias]))
    return lines


def _first_names(read: dict[str, dict[str, FlagFact]]) -> dict[str, str]:
    """Give every name the newest release's first name of the same setting."""
    named: dict[str, str] = {}
    for flags in read.values():
        for name, fact in flags.items():
            named[name] = fact.of
    return {name: named.get(of, of) for name, of in named.items()}
