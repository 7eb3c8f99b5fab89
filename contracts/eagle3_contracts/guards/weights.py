"""Which stored tensors of a draft a server reads, and which parameters nothing is written to, seen while it loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from eagle3_contracts.consumers import is_harmless
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import clause

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

SUBJECT = "draft in memory"
_LENT = ("embed_tokens.weight",)
_SHOWN = 8
_WATCHED: WeakSet[Any] = WeakSet()


@dataclass(slots=True)
class Span:
    """A tensor's place in memory."""

    start: int
    end: int

    def holds(self, address: int) -> bool:
        """Tell whether an address lies in it; nothing lies in a tensor without values."""
        return self.start <= address < self.end


@dataclass(slots=True)
class WeightWatch:
    """What was seen. ``stored``: every tensor that the loader gave, kept alive so that no address is used twice.

    ``read``: names of those that any operation but a view took in. ``written``: parameters that were written to.
    ``trouble``: why it may have missed something.
    """

    parameters: dict[str, Span] = field(default_factory=dict)
    stored: dict[str, tuple[Span, Any]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    trouble: str = ""

    def follow(self, weights: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Pass stored tensors on, and remember where they lie."""
        for name, tensor in weights:
            try:
                self.stored[name] = (_span(tensor), tensor)
            except Exception as error:  # noqa: BLE001 - loading goes on, and what was missed is told
                self.trouble = f"{name} has no place in memory ({type(error).__name__})"
            yield name, tensor

    def note(self, operation: Any, arguments: Iterable[Any]) -> None:
        """Take down what one operation reads and writes."""
        if getattr(operation, "is_view", False):
            return
        told = operation._schema.arguments  # noqa: SLF001 - there is no public name for what an operation writes to
        for argument, value in zip(told, arguments, strict=False):
            writes = argument.alias_info is not None and argument.alias_info.is_write
            for tensor in value if isinstance(value, list | tuple) else (value,):
                if hasattr(tensor, "data_ptr"):
                    self._note_tensor(tensor.data_ptr(), writes=writes)

    def _note_tensor(self, address: int, *, writes: bool) -> None:
        if writes:
            self.written |= {name for name, span in self.parameters.items() if span.holds(address)}
        else:
            self.read |= {name for name, (span, _) in self.stored.items() if span.holds(address)}

    def settle(self, model: Any) -> None:
        """See which parameters were exchanged as a whole, let the tensors go, and remember the model as watched."""
        for name, parameter in model.named_parameters():
            before = self.parameters.get(name)
            if before is None or before.start != parameter.data_ptr():
                self.written.add(name)
        self.stored = {name: (span, None) for name, (span, _) in self.stored.items()}
        _WATCHED.add(model)


def _span(tensor: Any) -> Span:
    start = tensor.data_ptr()
    return Span(start, start + tensor.numel() * tensor.element_size())


def is_draft(model: Any) -> bool:
    """Tell an EAGLE-3 draft by its class, as SGLang names them, or by what only a draft has: a table of hot tokens."""
    return "Eagle3" in type(model).__name__ or hasattr(model, "get_hot_token_id")


def was_watched(model: Any) -> bool:
    """Tell whether a model's weights came in under watch."""
    return model in _WATCHED


def watch_loading(model: Any) -> tuple[WeightWatch, AbstractContextManager[Any]]:
    """Give a watch, and the context in which a model is to be loaded: it sees every operation on stored tensors.

    Nothing is changed. What goes wrong in watching is kept as ``trouble``, and loading goes on. Call
    ``WeightWatch.settle`` behind it.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    watch = WeightWatch({name: _span(parameter) for name, parameter in model.named_parameters()})

    class Ledger(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            try:
                watch.note(func, args)
            except Exception as error:  # noqa: BLE001 - loading goes on, and what was missed is told
                watch.trouble = f"{func} could not be followed ({type(error).__name__})"
            return result

    return watch, Ledger()  # type: ignore[no-untyped-call]


def check_weights(contract: Contract, model: Any, watch: WeightWatch) -> list[Finding]:
    """Fail for stored tensors that are not read, parameters that are left as they were, and another fc."""
    return [_check_tensors(model, watch), *_check_fc(contract, model)]


def _check_tensors(model: Any, watch: WeightWatch) -> Finding:
    rule = clause("checkpoint.engine-tensors")
    unread = [name for name in watch.stored if name not in watch.read and not is_harmless(name.rpartition("model.")[2])]
    lent = (*_LENT, *(("lm_head.weight",) if getattr(model, "load_lm_head_from_target", False) else ()))
    unfilled = [
        name
        for name in watch.parameters
        if name not in watch.written and name.endswith(("weight", "bias")) and not name.endswith(lent)
    ]
    if watch.trouble or not watch.stored:
        told = watch.trouble or "the loader gave no tensor at all"
        return rule.find(Verdict.ERRORED, SUBJECT, observed=told, hint="serve with --load-format auto")
    seen = [f"{len(watch.stored)} stored tensors, {len(watch.stored) - len(unread)} of them read or not needed"]
    seen += [f"not read: {_list(unread)}"] if unread else []
    seen += [f"left as they were allocated: {_list(unfilled)}"] if unfilled else []
    return rule.find(
        Verdict.FAILED if unread or unfilled else Verdict.PASSED,
        SUBJECT,
        observed="; ".join(seen),
        expected="every stored tensor read, every parameter filled",
        where=Where(tensor=(unread or unfilled)[0]) if unread or unfilled else None,
        measure=float(len(unread) + len(unfilled)),
        bound=0.0,
        hint=""
        if not unread and not unfilled
        else "export in the form that this class reads (SpecForge's "
        "export_to_sglang); `eagle3-contracts explain NAME --checkpoint DIR` tells what it reads",
    )


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _check_fc(contract: Contract, model: Any) -> Iterator[Finding]:
    """Compare fc's input with the declared planes; it is skipped in silence where that is as wide as the drafter."""
    rule, plane = clause("checkpoint.fc-width"), contract.target.hidden_size
    if not contract.drafter.fc.present:
        yield rule.find(Verdict.SKIPPED, SUBJECT, observed="the declared drafter has no fc")
        return
    width, wanted = find_fc_width(model), plane * len(contract.drafter.input)
    if width is None:
        told, hint = f"no fc was found in {type(model).__name__}", "report it: this is another SGLang than was read"
        yield rule.find(Verdict.ERRORED, SUBJECT, observed=told, hint=hint)
        return
    planes = f"{width // plane} planes of {plane}" if width % plane == 0 else f"no whole number of planes of {plane}"
    yield rule.find(
        Verdict.PASSED if width == wanted else Verdict.FAILED,
        SUBJECT,
        observed=f"fc takes {width} channels, {planes}",
        expected=f"{wanted} channels: {', '.join(contract.drafter.input)}",
        where=Where(tensor="fc.weight"),
        measure=float(width),
        bound=float(wanted),
        hint="" if width == wanted else "serve the drafter that was trained on these planes, or its own contract",
    )
    if wanted == contract.drafter.hidden_size:
        told = f"fc's input is as wide as the drafter, {wanted}, and SGLang passes it on without fc"
        yield clause("checkpoint.fc-applied").find(Verdict.FAILED, SUBJECT, observed=told, expected="fc is applied")


def find_fc_width(model: Any) -> int | None:
    """Give the channels that a draft's fc takes in, None if it has none."""
    for name, part in model.named_modules():
        if name.rpartition(".")[2] == "fc":
            return getattr(part, "in_features", None) or getattr(part, "input_size", None)
    return None
