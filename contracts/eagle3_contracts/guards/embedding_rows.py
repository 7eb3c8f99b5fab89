"""Boundary 0 in a batch: R[0] is a function of the token alone, so that rows of one token are the same bits there.

At every later boundary they differ by their context. So one batch tells whether an embedding is fed, in which block,
and which token a state belongs to, without a target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.clauses.bounds import CONTEXT_SHARE, EMBEDDING_SHARE, LEAST_PAIRS
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clause

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract
    from eagle3_contracts.subjects.loaders.protocol import StepZero

SUBJECT = "first batch"
MOST_PAIRS = 64
SHIFTS = (0, 1, 2)
"""Offsets of the token beside a state that are tried: 0, not shifted; 2, shifted twice."""

Shares = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def check_embedding(contract: Contract, batch: StepZero) -> Iterator[Finding]:
    """Fail if R[0] stands in another block than declared, in none, or beside another token than it belongs to."""
    shares = measure_shares(contract, batch)
    planes = contract.input_planes()
    declared = tuple(index for index, plane in enumerate(planes) if plane.boundary == 0)
    if not shares:
        told = f"fewer than {LEAST_PAIRS} tokens come twice, so that boundary 0 cannot be told from others"
        hint = "give a larger batch"
        verdict = Verdict.ERRORED if declared else Verdict.SKIPPED
        yield clause("loader.fc-input").find(verdict, SUBJECT, observed=told, hint=hint)
        return
    found = {shift: _embeddings(share) for shift, share in shares.items()}
    seen = {block for blocks in found.values() for block in blocks}
    if declared and seen == set(declared):
        yield _check_shift(contract, found)
    yield _check_blocks(contract, declared, tuple(sorted(seen)), _nearest(shares, declared))


def measure_shares(contract: Contract, batch: StepZero) -> Mapping[int, Shares]:
    """Give, by the token's offset, the share of pairs of one token whose rows are bit-identical, block by block.

    Offsets with fewer than ``LEAST_PAIRS`` pairs are left out. Pairs stand at different places of their documents:
    documents that begin alike have the same rows at every boundary.
    """
    import torch

    from eagle3_contracts.guards.values import rows_of, states_of

    states = states_of(batch.fc_input)
    flat = states.reshape(-1, states.shape[-1])
    tokens = rows_of(batch.tokens).cpu().numpy()
    documents = _number(batch, tokens.shape)
    shares = {}
    for shift in SHIFTS:
        first, second = _pair(tokens, documents, shift)
        if len(first) >= LEAST_PAIRS:
            rows = [flat[torch.as_tensor(places).to(flat.device)] for places in (first, second)]
            shares[shift] = _share(rows[0], rows[1], contract.target.hidden_size)
    return shares


def _number(batch: StepZero, shape: tuple[int, ...]) -> Places:
    """Number the documents of all sequences, padding -1."""
    from eagle3_contracts.guards.values import rows_of

    sequence = np.repeat(np.arange(shape[0], dtype=np.int64)[:, None], shape[1], axis=1)
    if batch.documents is None:
        return sequence
    given = rows_of(batch.documents).cpu().numpy().astype(np.int64)
    return np.where(given < 0, -1, sequence * (int(given.max(initial=0)) + 1) + given)


def _pair(tokens: Places, documents: Places, shift: int) -> tuple[Places, Places]:
    """Pick rows whose state belongs to one token, if the token beside a state is ``shift`` later: flat places."""
    width = tokens.shape[1]
    beside = np.roll(tokens, shift, axis=1)
    same = (np.roll(documents, shift, axis=1) == documents) & (documents >= 0)
    if shift:
        same[:, : min(shift, width)] = False
    starts = np.maximum.accumulate(np.where(np.diff(documents, axis=1, prepend=-2) != 0, np.arange(width), 0), axis=1)
    place = (np.arange(width) - starts).ravel()
    rows = np.flatnonzero(same.ravel())
    order = rows[np.argsort(beside.ravel()[rows], kind="stable")]
    ids = beside.ravel()[order]
    pairs = np.flatnonzero((ids[1:] == ids[:-1]) & (place[order[1:]] != place[order[:-1]]))
    kept = pairs[:: max(1, len(pairs) // MOST_PAIRS)][:MOST_PAIRS]
    return order[kept], order[kept + 1]


def _share(first: Tensor, second: Tensor, hidden: int) -> Shares:
    blocks = (len(first), -1, hidden)
    same = (first.reshape(blocks) == second.reshape(blocks)).all(dim=-1)
    return np.asarray(same.double().mean(dim=0).cpu().numpy(), np.float64)


def _embeddings(share: Shares) -> tuple[int, ...]:
    return tuple(int(block) for block in np.flatnonzero(share >= EMBEDDING_SHARE))


def _nearest(shares: Mapping[int, Shares], declared: tuple[int, ...]) -> float:
    """Give the largest share that a declared embedding reaches at any offset."""
    return max((float(share[block]) for share in shares.values() for block in declared), default=0.0)


def _check_shift(contract: Contract, found: Mapping[int, tuple[int, ...]]) -> Finding:
    """Say beside which token the states stand, told by the embedding's rows."""
    accepted = contract.alignment.token
    shifts = tuple(shift for shift, blocks in found.items() if blocks)
    fits = any(shift in accepted for shift in shifts)
    told = " or ".join(f"x[t{f'+{shift}' if shift else ''}]" for shift in shifts)
    wanted = " or ".join(f"x[t{f'+{shift}' if shift else ''}]" for shift in accepted)
    return clause("loader.token-shift").find(
        Verdict.PASSED if fits else Verdict.FAILED,
        SUBJECT,
        observed=f"the token beside state t is {told}, by rows of repeated tokens",
        expected=wanted,
        measure=float(shifts[0]),
        bound=float(accepted[0]),
        hint="" if fits else "shift tokens once: by shift_batch (speculators) or TargetHead.preprocess (SpecForge)",
    )


def _check_blocks(contract: Contract, declared: tuple[int, ...], seen: tuple[int, ...], nearest: float) -> Finding:
    planes = contract.input_planes()
    fed = ", ".join("R[0]" if block in seen else "not R[0]" for block in range(len(planes)))
    unsure = not seen and bool(declared) and nearest > CONTEXT_SHARE
    verdict = Verdict.PASSED if seen == declared else Verdict.ERRORED if unsure else Verdict.FAILED
    names = ", ".join(f"{plane.name} ({plane.boundary})" for plane in planes)
    return clause("loader.fc-input").find(
        verdict,
        SUBJECT,
        observed=f"fc is fed cat({fed}), by rows of repeated tokens",
        expected=f"cat({names})",
        measure=float(len(set(seen) ^ set(declared))),
        bound=0.0,
        hint="" if verdict is Verdict.PASSED else _say_cause(contract, declared, seen),
    )


def _say_cause(contract: Contract, declared: tuple[int, ...], seen: tuple[int, ...]) -> str:
    if not declared:
        return (
            "the files store the embedding before the planes, and the loader feeds all planes but the last: capture "
            f"without it, or train for a contract that feeds it; `eagle3-contracts explain {contract.reference}`"
        )
    if not seen:
        return (
            "the capture took no embedding (id -1 in SGLang, 0 in transformers and vLLM), states stand beside other "
            "tokens, or noise was added before the guard looked"
        )
    return "the planes come in another order than drafter.input, or at another place on disk than storage.planes"
