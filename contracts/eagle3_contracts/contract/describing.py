"""Contracts in words and in JSON-ready values, for ``list`` and ``show``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from eagle3_contracts.boundaries import describe_boundary
from eagle3_contracts.contract.document import Contract
from eagle3_contracts.contract.formats import HABITS, DatasetFormat
from eagle3_contracts.contract.loading import list_catalog, load_contract
from eagle3_contracts.contract.planes import Plane


def describe_catalog() -> list[dict[str, Any]]:
    """Describe every version in the catalog, oldest first within a name."""
    rows = []
    for name, versions in list_catalog().items():
        for version in versions:
            contract = load_contract(f"{name}@{version}")
            rows.append(
                {
                    "contract": contract.reference,
                    "name": name,
                    "version": version,
                    "latest": version == versions[-1],
                    "target": contract.target.model,
                    "summary": contract.summary,
                    "digest": contract.digest,
                }
            )
    return rows


def describe_contract(contract: Contract) -> dict[str, Any]:
    """Describe a contract as JSON-ready values, with what the document leaves to defaults written out.

    ``planes`` says each boundary in words, ``storage`` what every format holds, ``drafter`` the width of fc and
    whether the final norm stands before the head. ``document`` is the document itself, every key present.
    """
    return {
        "contract": contract.reference,
        "digest": contract.digest,
        "planes": [_describe_plane(contract, plane) for plane in contract.planes],
        "storage": {
            "planes": [plane.name for plane in contract.stored_planes()],
            "dtype": contract.stored_dtype(),
            "formats": {name: _describe_format(contract, name) for name in get_args(DatasetFormat)},
        },
        "drafter": {
            "input": list(contract.drafter.input),
            "input_boundaries": [plane.boundary for plane in contract.input_planes()],
            "input_width": len(contract.drafter.input) * contract.target.hidden_size,
            "last_hidden": contract.drafter.last_hidden,
            "last_hidden_normed": contract.norms_last_hidden() if contract.last_hidden_plane() else None,
            "embedding": contract.drafter.embedding,
            "lm_head": contract.drafter.lm_head,
        },
        "document": contract.model_dump(mode="json", by_alias=True),
    }


def render_contract(contract: Contract) -> list[str]:
    """Say a contract in lines of text: the wiring first, then what surrounds it."""
    drafter, target = contract.drafter, contract.target
    lines = [f"{contract.reference}  {contract.summary}", f"digest {contract.digest}", ""]
    quantization = "" if target.quantization == "none" else f", weights {target.quantization}"
    lines.append(
        f"target   {target.model}: {target.architecture}, {target.num_hidden_layers} layers, hidden "
        f"{target.hidden_size}, vocabulary {target.vocab_size}, {target.dtype}{quantization}"
    )
    lines += [f"plane    {line}" for line in _render_planes(contract)]
    lines.append(f"stored   {', '.join(contract.storage.planes)} ({contract.stored_dtype()})")
    lines += [f"         {name}: {', '.join(order)}" for name, order in contract.storage.formats.items()]
    norms = {"none": "", "joint": "a norm over all, ", "per_plane": "a norm for each, "}[drafter.fc.input_norm]
    through = f"{norms}fc to {drafter.hidden_size}" if drafter.fc.present else "no fc"
    lines.append(f"fed      {', '.join(drafter.input)} ({len(drafter.input)} x {target.hidden_size}), {through}")
    lines.append(f"targets  {_render_targets(contract)}")
    lines.append(
        f"drafter  {drafter.layers} layer{'s' if drafter.layers > 1 else ''}, {drafter.attention.kind}, vocabulary "
        f"{drafter.draft_vocab_size} (d2t {drafter.d2t}), embedding {drafter.embedding}, lm_head {drafter.lm_head}"
    )
    engines = contract.serving.engines if contract.serving is not None else {}
    lines.append(f"served   {', '.join(f'{name} {versions}' for name, versions in engines.items()) or 'nowhere'}")
    return lines


def _describe_plane(contract: Contract, plane: Plane) -> dict[str, Any]:
    return {
        "name": plane.name,
        "boundary": plane.boundary,
        "state": plane.state,
        "place": _place(contract, plane),
        "norm_median": None if plane.norm is None else list(plane.norm.median),
        "norm_origin": None if plane.norm is None else plane.norm.origin,
    }


def _describe_format(contract: Contract, name: DatasetFormat) -> dict[str, Any]:
    return {
        "planes": [plane.name for plane in contract.stored_planes(name)],
        "dtype": contract.stored_dtype(name),
        "declared": name in contract.storage.formats,
        "final_state_by_habit": HABITS[name].final_state,
    }


def _render_planes(contract: Contract) -> Iterator[str]:
    wide = max(len(plane.name) for plane in contract.planes)
    for plane in contract.planes:
        norm = "" if plane.norm is None else f", norm {plane.norm.median[0]:g} to {plane.norm.median[1]:g}"
        yield f"{plane.name.ljust(wide)}  {_place(contract, plane)}{norm}"


def _place(contract: Contract, plane: Plane) -> str:
    place = describe_boundary(plane.boundary, contract.target.num_hidden_layers)
    return place.replace("before the final norm", "after the final norm") if plane.state == "post_norm" else place


def _render_targets(contract: Contract) -> str:
    plane = contract.last_hidden_plane()
    if plane is None:
        return "no last hidden state"
    inner = f"final_norm({plane.name})" if contract.norms_last_hidden() else plane.name
    return f"head({inner})"
