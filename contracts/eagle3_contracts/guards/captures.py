"""Which boundaries a server will tap: the layers that its target model marks, read off the model itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import Dialect, Inverse, NotVerified, find_dialect, invert
from eagle3_contracts.dialects.installed import verify_installed
from eagle3_contracts.dialects.wanted import wanted_of
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.guards.sizes import TARGET_SIZES, find_other_target
from eagle3_contracts.guards.weights import is_draft, was_watched
from eagle3_contracts.registry import clause

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

SUBJECT = "target in memory"
_KEY = "eagle_config.eagle_aux_hidden_state_layer_ids"


def check_capture(contract: Contract, model: Any, configured: Mapping[str, Any], installed: str) -> list[Finding]:
    """Fail if the target is another one, or marks other layers than the contract feeds to fc.

    ``configured``: what SGLang passed on, among it the ids. Nothing is said of a draft model, except where its
    weights came in by a way that was not watched, and of ranks of a pipeline that capture nothing.
    """
    if is_draft(model):
        return [] if was_watched(model) else [_unwatched(model)]
    if not _captures_here(model):
        return []
    config = getattr(model, "config", None)
    config = getattr(config, "text_config", None) or config
    strange = find_other_target(contract, {name: getattr(config, name, None) for name in TARGET_SIZES})
    if strange:
        return [_fail(strange, f"the target of the contract, {contract.target.model}", "serve the contract's target")]
    if not configured.get("eagle_use_aux_hidden_state"):
        told = "no auxiliary state is captured: the algorithm is not EAGLE3, or use_aux_hidden_state is false"
        return [_fail(told, _expected(contract), "write --speculative-algorithm EAGLE3, and no use_aux_hidden_state")]
    return [_check_marks(contract, marked_layers(model), configured.get("eagle_aux_hidden_state_layer_ids"), installed)]


def marked_layers(model: Any) -> tuple[int, ...] | None:
    """Give the layers on whose entry the model captures, in the order in which it keeps them; None: no telling.

    Every model class of SGLang keeps them as ``layers_to_capture`` somewhere below it.
    """
    found = {tuple(value) for part in model.modules() if (value := getattr(part, "layers_to_capture", None))}
    return next(iter(found)) if len(found) == 1 else None


def _check_marks(contract: Contract, marked: tuple[int, ...] | None, given: Any, installed: str) -> Finding:
    layers = contract.target.num_hidden_layers
    ids = None if given is None else tuple(given)
    dialect = _find_dialect(contract, installed)
    source = f"ids {list(ids)} of the draft's {_KEY}" if ids is not None else f"no ids in the draft's {_KEY}"
    if marked is None:
        return _open(f"{source}: which layers the target marks could not be read off it", "report it")
    if isinstance(dialect, NotVerified):
        told = f"{source}: layers {list(marked)} are marked, and what that captures is {dialect}"
        return _open(told, f"serve with sglang {dialect.last_read} or older, which was read")
    resolution = dialect.resolve(ids, layers)
    if resolution.runs and set(resolution.boundaries) != set(marked):
        told = f"{source}: layers {list(marked)} are marked, where {dialect.label} was read to mark "
        return _open(told + str(list(resolution.boundaries)), "report it: this is another SGLang than was read")
    wanted = wanted_of(contract, dialect).taps
    tapped = f"{source}: layers {list(marked)} are marked, which taps {_say(contract, resolution.taps)}"
    if not resolution.runs:
        return _fail(
            f"{tapped}: {resolution.outcome}, {resolution.note}", _expected(contract), _mend(dialect, wanted, layers)
        )
    if resolution.taps != wanted:
        return _fail(tapped, _expected(contract), _mend(dialect, wanted, layers))
    return clause("launch.taps").find(Verdict.PASSED, SUBJECT, observed=tapped, expected=_expected(contract))


def _find_dialect(contract: Contract, installed: str) -> Dialect | NotVerified:
    """Give the rule of this version: the one that was read, or one that the installed source itself confirms."""
    architecture = contract.target.architecture
    known = find_dialect("sglang", installed, architecture) if installed else None
    return known if isinstance(known, Dialect) else verify_installed(architecture)


def write_ids(contract: Contract, installed: str) -> str:
    """Write the line of the draft's config.json that this version wants, empty for one whose rule was not read."""
    dialect = _find_dialect(contract, installed)
    if isinstance(dialect, NotVerified):
        return ""
    return _mend(dialect, wanted_of(contract, dialect).taps, contract.target.num_hidden_layers)


def _mend(dialect: Dialect, wanted: tuple[Tap, ...], layers: int) -> str:
    found = invert(dialect, wanted, layers)
    if not isinstance(found, Inverse):
        return f"no list gives the contract's boundaries in {dialect.label}: {found.reason}"
    if found.ids is None:
        return f"leave {_KEY} out of the draft's config.json"
    ids = ", ".join(map(str, found.ids))
    line = f'"eagle_config": {{"eagle_aux_hidden_state_layer_ids": [{ids}]}}'
    return f"write into the draft's config.json: {line} (right for {dialect.label}), if it was trained as declared"


def _say(contract: Contract, taps: Iterable[Tap]) -> str:
    """Name taps with the planes that they are: ``R[3] (low), R[31] (mid)``."""
    names: dict[tuple[int, str], str] = {(plane.boundary, plane.state): plane.name for plane in contract.planes}
    told = [f"{tap} ({names.get((tap.boundary, tap.state), 'no plane of the contract')})" for tap in taps]
    return ", ".join(told) or "nothing"


def _expected(contract: Contract) -> str:
    planes = contract.input_planes()
    told = ", ".join(f"{plane.boundary} ({plane.name})" for plane in planes)
    return f"boundaries {told}, in this order"


def _captures_here(model: Any) -> bool:
    """Tell whether this process holds the last part of a pipeline: only that captures."""
    groups = [group for part in model.modules() if (group := getattr(part, "pp_group", None)) is not None]
    return all(getattr(group, "is_last_rank", True) for group in groups[:1])


def _unwatched(model: Any) -> Finding:
    told = f"the weights of {type(model).__name__} came in by another loader than DefaultModelLoader"
    hint = "serve with --load-format auto, so that it can be seen which stored tensors are read"
    return clause("checkpoint.engine-tensors").find(Verdict.ERRORED, "draft in memory", observed=told, hint=hint)


def _fail(observed: str, expected: str, hint: str) -> Finding:
    rule, where = clause("launch.taps"), Where(file="config.json", flag=_KEY)
    return rule.find(
        Verdict.FAILED, SUBJECT, observed=observed, expected=expected, where=where, measure=1.0, bound=0.0, hint=hint
    )


def _open(observed: str, hint: str) -> Finding:
    return clause("launch.taps").find(Verdict.ERRORED, SUBJECT, observed=observed, hint=hint)
