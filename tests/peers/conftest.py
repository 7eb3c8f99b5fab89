"""What the tests of all peers share: states of a real target, peers' modules, and the judgement of a dataset.

These folders are collected by tox's peer environments alone, each of which holds one peer; a peer that cannot be
imported there fails, it is not skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract, Tolerance, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from support.wheels import WHEELS, Sources

LENGTHS = (48, 37, 61, 44, 52)
PROMPT = 6


@dataclass(frozen=True)
class Sample:
    """A text of the target and its states: ``boundaries`` [n + 1, T, H] and ``final`` [T, H], float32."""

    token_ids: Tensor
    loss_mask: Tensor
    boundaries: Tensor
    final: Tensor

    def planes(self, contract: Contract, dataset_format: str) -> list[Tensor]:
        """Give the planes that the contract stores in a format, in order, each [T, H]."""
        states = {"raw": self.boundaries, "pre_norm": self.boundaries}
        return [
            self.final if plane.state == "post_norm" else states[plane.state][plane.boundary]
            for plane in contract.stored_planes(dataset_format)
        ]


@pytest.fixture(scope="session")
def contract() -> Contract:
    """The embedded contract, told what two more tools keep as final state, and how far 8-bit states may be off."""
    embedded = load_contract(CONTRACT)
    formats = dict.fromkeys(("modelopt", "angelslim"), embedded.storage.formats["specforge"])
    eight_bit = Tolerance(
        relative_l2_median=0.06,
        logprob_max=0.4,
        origin="hs-connectors' quantiser on 3,840 tokens of the embedded target: median 0.026, log-probabilities 0.093",
    )
    storage = embedded.storage.model_copy(update={"formats": embedded.storage.formats | formats})
    tolerance = embedded.tolerance | {"float8_e4m3fn": eight_bit}
    return embedded.model_copy(update={"storage": storage, "tolerance": tolerance})


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    """Texts that the embedded target wrote itself, with its states as transformers' own Llama computes them."""
    transformers = importlib.import_module("transformers")
    model = transformers.LlamaForCausalLM.from_pretrained(embedded_target(), dtype=torch.float32).eval()
    torch.manual_seed(0)
    return [_capture(model, _write(model, length)) for length in LENGTHS]


@pytest.fixture
def judge(contract: Contract) -> Callable[[Path, str], list[Finding]]:
    """Check a dataset against the embedded contract with the whole target; its format must be the one expected."""

    def judge_dataset(path: Path, dataset_format: str, scan: str = "full") -> list[Finding]:
        subject = Subject("dataset", str(path), dataset_format)
        options = Options(target=str(embedded_target()), scan=scan)
        evidence = gather_evidence(contract, subject, options)
        assert evidence.format == dataset_format, evidence.problems
        return [finding for item in clauses_of("dataset") for finding in judge_clause(item, contract, evidence)]

    return judge_dataset


@pytest.fixture
def accept(judge: Callable[[Path, str], list[Finding]]) -> Callable[[Path, str], None]:
    """Demand that no clause finds fault with a dataset, none could not be checked, and the boundaries were decided."""

    def accept_dataset(path: Path, dataset_format: str) -> None:
        findings = judge(path, dataset_format)
        bad = [finding for finding in findings if finding.verdict in {Verdict.FAILED, Verdict.ERRORED}]
        assert not bad, "\n".join(f"{item.clause} {item.verdict}: {item.observed} ({item.expected})" for item in bad)
        passed = {finding.clause for finding in findings if finding.verdict is Verdict.PASSED}
        assert passed >= {"dataset.rows", "dataset.boundary", "dataset.order", "dataset.final-state"}

    return accept_dataset


@pytest.fixture(scope="session")
def sources(request: pytest.FixtureRequest) -> Iterator[Sources]:
    """The wheels: in the folder that PEER_WHEELS names, else in pytest's cache; what is missing is downloaded."""
    named = os.environ.get(WHEELS)
    found = Sources(Path(named) if named else Path(request.config.cache.mkdir("peer-wheels")))
    yield found
    found.close()


@pytest.fixture(scope="session")
def unpack_wheel(sources: Sources, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Unpack a released wheel by name and version; nothing in it is run by that."""

    @cache
    def unpack(name: str, version: str) -> Path:
        return sources.unpack(name, version, tmp_path_factory.mktemp(f"{name}-{version}"))

    return unpack


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put modules, by name, in the place of what a peer imports and no CPU machine has, until the test ends."""

    def install(modules: Mapping[str, Mapping[str, object]], root: Path | None = None) -> None:
        for name, attributes in modules.items():
            for package in [*_parents(name), name]:
                if package not in sys.modules:
                    monkeypatch.setitem(sys.modules, package, _hollow(package, root))
            sys.modules[name].__dict__.update(attributes)

    return install


@pytest.fixture
def import_from(stand_in: Callable[..., None]) -> Iterator[Callable[..., ModuleType]]:
    """Import one module of a package without running the ``__init__`` of any package above it.

    ``root``: the folder that holds the package; an installed version of it is set aside until the test ends.
    """
    aside: dict[str, ModuleType] = {}
    tops: set[str] = set()

    def import_module(root: Path, name: str, stand_ins: Mapping[str, Mapping[str, object]] | None = None) -> ModuleType:
        top = name.partition(".")[0]
        if top not in tops:
            tops.add(top)
            aside.update(_forget(top))
        stand_in(stand_ins or {}, root)
        for package in _parents(name):
            sys.modules.setdefault(package, _hollow(package, root))
        return import_quietly(name)

    yield import_module
    for top in tops:
        _forget(top)
    sys.modules.update(aside)


@pytest.fixture(scope="session")
def peer() -> Callable[[str], ModuleType]:
    """Import a module of an installed peer."""
    return import_quietly


def import_quietly(name: str) -> ModuleType:
    """Import a module; a peer's own warnings are not ours to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def _forget(top: str) -> dict[str, ModuleType]:
    """Take a package and all its modules out of ``sys.modules``."""
    names = [name for name in sys.modules if name.partition(".")[0] == top]
    return {name: sys.modules.pop(name) for name in names}


def _hollow(package: str, root: Path | None) -> ModuleType:
    """Make a package whose ``__init__`` never ran; its modules can be imported from under ``root``, if given."""
    module = ModuleType(package)
    module.__path__ = [] if root is None else [str(root / package.replace(".", "/"))]
    return module


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@torch.no_grad()
def _write(model: torch.nn.Module, length: int) -> Tensor:
    """Let the model write a text: tokens drawn from its own distribution after the first one."""
    tokens = torch.zeros(1, 1, dtype=torch.long)
    while tokens.shape[1] < length:
        shares = model(tokens).logits[:, -1].softmax(-1)
        tokens = torch.cat((tokens, torch.multinomial(shares, 1)), dim=1)
    return tokens


@torch.no_grad()
def _capture(model: torch.nn.Module, tokens: Tensor) -> Sample:
    """Take the residual stream at every boundary with forward hooks (never from ``hidden_states``, whose last entry
    is the state after the final norm)."""
    taken: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook(_module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
            taken[name] = inputs[0][0].clone()

        return hook

    core = model.model
    hooks = [layer.register_forward_pre_hook(keep(str(index))) for index, layer in enumerate(core.layers)]
    hooks.append(core.norm.register_forward_pre_hook(keep(str(len(core.layers)))))
    final = core(tokens).last_hidden_state[0]
    for hook in hooks:
        hook.remove()
    mask = torch.ones_like(tokens[0])
    mask[:PROMPT] = 0
    boundaries = torch.stack([taken[str(index)] for index in range(len(core.layers) + 1)])
    return Sample(tokens[0], mask, boundaries, final)
