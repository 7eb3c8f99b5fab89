"""The stand-in's attention, against torch's own scaled dot product on keys and values gathered by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from support.sgl_kernel_stand_in import sgl_kernel

HEADS, KV_HEADS, DIM, SLOTS, SCALE = 6, 2, 16, 64, 0.21
LENGTHS, NEW = (9, 1, 14), (4, 1, 14)
ROUNDING = {torch.float32: 1e-5, torch.bfloat16: 2**-7}
"""Both compute in float32; what is stored in bfloat16 may be rounded to the neighbour."""
PLAIN: dict[str, Any] = {
    "logit_cap": 0.0,
    "is_cross_attn": False,
    "sliding_window": 0,
    "encoder_lens": None,
    "sinks": None,
}


class Cache:
    """Keys and values of three requests, in slots without any order."""

    def __init__(self, dtype: torch.dtype, seed: int = 0) -> None:
        self.made = torch.Generator().manual_seed(seed)
        self.keys, self.values = (self.random(SLOTS, KV_HEADS, DIM).to(dtype) for _ in range(2))
        slots = torch.randperm(SLOTS, generator=self.made)[:60]
        self.table = slots.to(torch.int32).view(4, 15)
        self.requests = torch.tensor([2, 0, 3])
        self.lengths = torch.tensor(LENGTHS)

    def random(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.made)

    def held(self, row: int) -> tuple[Tensor, Tensor]:
        """Give one request's keys and values [length, kv heads, dim], in the order of its positions."""
        slots = [int(self.table[self.requests[row], position]) for position in range(LENGTHS[row])]
        return self.keys[slots].clone(), self.values[slots].clone()


def reference(queries: Tensor, keys: Tensor, values: Tensor, sees: Tensor | None) -> Tensor:
    parts = (part.float().transpose(0, 1)[None] for part in (queries, keys, values))
    return scaled_dot_product_attention(*parts, attn_mask=sees, scale=SCALE, enable_gqa=True)[0].transpose(0, 1)


def extend(cache: Cache, queries: Tensor, *, tree: Tensor | None = None, causal: bool = True, **changed: Any) -> Tensor:
    new = torch.tensor(NEW, dtype=torch.int32)
    out = torch.full_like(queries, 9.0)
    sgl_kernel.extend_attention_cpu(
        *(queries, None, None, out, cache.keys, cache.values),
        *(changed.pop("k_scale", 1.0), changed.pop("v_scale", 1.0)),
        *(cache.table, cache.requests, cache.lengths, new, new.cumsum(0) - new, max(NEW), SCALE),
        *(PLAIN | changed).values(),
        *(tree, causal),
    )
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["causal", "all", "tree"])
def test_new_tokens_attend_as_torch_does(dtype: torch.dtype, kind: str) -> None:
    cache = Cache(dtype)
    queries = cache.random(sum(NEW), HEADS, DIM).to(dtype)
    blocks = [torch.rand((new, new), generator=cache.made) < 0.5 for new in NEW]
    for block in blocks:
        block.fill_diagonal_(1)
    tree = torch.cat([block.flatten() for block in blocks]) if kind == "tree" else None
    out = extend(cache, queries, tree=tree, causal=kind != "all")
    start = 0
    for row, (length, new) in enumerate(zip(LENGTHS, NEW, strict=True)):
        sees = torch.ones((new, length), dtype=torch.bool)
        for query in range(new):
            for key in range(new):
                among = {"causal": key <= query, "all": True, "tree": bool(blocks[row][query, key])}
                sees[query, length - new + key] = among[kind]
        expected = reference(queries[start : start + new], *cache.held(row), sees)
        torch.testing.assert_close(out[start : start + new], expected.to(dtype), rtol=ROUNDING[dtype], atol=1e-5)
        start += new


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("flat", [True, False])
def test_the_newest_token_is_stored_and_attends_to_all(dtype: torch.dtype, *, flat: bool) -> None:
    cache = Cache(dtype)
    queries = cache.random(3, HEADS, DIM).to(dtype)
    keys, values = (cache.random(3, KV_HEADS, DIM).to(dtype) for _ in range(2))
    newest = torch.tensor([int(cache.table[cache.requests[row], LENGTHS[row] - 1]) for row in range(3)])
    expected_keys = cache.keys.clone()
    expected_keys[newest] = keys
    out = decode(cache, queries, keys.flatten(1) if flat else keys, values.flatten(1) if flat else values, newest)
    assert torch.equal(cache.keys, expected_keys)
    for row in range(3):
        held_keys, held_values = cache.held(row)
        assert torch.equal(held_keys[-1], keys[row])
        assert torch.equal(held_values[-1], values[row])
        expected = reference(queries[row : row + 1], held_keys, held_values, None)
        torch.testing.assert_close(out[row : row + 1], expected.to(dtype), rtol=ROUNDING[dtype], atol=1e-5)


def test_without_a_new_token_the_cache_stays_as_it_is() -> None:
    cache = Cache(torch.float32)
    before = cache.keys.clone(), cache.values.clone()
    queries = cache.random(3, HEADS, DIM)
    out = decode(cache, queries, None, None, torch.empty(0, dtype=torch.int64))
    assert torch.equal(before[0], cache.keys)
    assert torch.equal(before[1], cache.values)
    torch.testing.assert_close(out[2:], reference(queries[2:], *cache.held(2), None), rtol=1e-5, atol=1e-5)


def decode(
    cache: Cache, queries: Tensor, keys: Tensor | None, values: Tensor | None, newest: Tensor, **changed: Any
) -> Tensor:
    out = torch.full_like(queries, 9.0)
    sgl_kernel.decode_attention_cpu(
        *(queries, cache.keys, cache.values, 1.0, 1.0, out, keys, values, newest, torch.zeros(1)),
        *(cache.table, cache.requests, cache.lengths, SCALE),
        *(PLAIN | changed).values(),
    )
    return out


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"logit_cap": 30.0}, "capped logits"),
        ({"is_cross_attn": True}, "cross attention"),
        ({"sliding_window": 5}, "a sliding window"),
        ({"sinks": torch.zeros(HEADS)}, "sinks"),
        ({"k_scale": 0.5}, "a scaled cache"),
    ],
)
def test_what_is_not_stood_in_is_refused(changed: dict[str, Any], name: str) -> None:
    cache = Cache(torch.float32)
    with pytest.raises(NotImplementedError, match=name):
        extend(cache, cache.random(sum(NEW), HEADS, DIM), **changed)
    if name != "a scaled cache":
        with pytest.raises(NotImplementedError, match=name):
            decode(cache, cache.random(3, HEADS, DIM), None, None, torch.empty(0, dtype=torch.int64), **changed)
