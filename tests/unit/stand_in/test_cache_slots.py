"""The stand-in's bookkeeping of cache slots, against loops over single positions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from support.sgl_kernel_stand_in import sgl_kernel

REQUESTS, POOL = 5, 40
SHAPES = [((3, 0, 4), ((7, 12), (0, 3), (30, 30))), ((2,), ((5, 6),)), ((1, 4), ((0, 0), (0, 0)))]


@pytest.fixture
def table() -> Tensor:
    """Slots of five requests, all different: what lies where can be read off the value."""
    order = torch.randperm(REQUESTS * POOL, generator=torch.Generator().manual_seed(3))
    return order.to(torch.int32).view(REQUESTS, POOL)


def offsets(spans: tuple[tuple[int, int], ...]) -> tuple[Tensor, Tensor]:
    return torch.tensor([start for start, _ in spans]), torch.tensor([end for _, end in spans])


@pytest.mark.parametrize(("requests", "spans"), SHAPES)
def test_new_slots_are_written_where_they_belong(
    table: Tensor, requests: tuple[int, ...], spans: tuple[tuple[int, int], ...]
) -> None:
    new = torch.arange(1000, 1000 + sum(end - start for start, end in spans))
    expected, left = table.clone(), iter(new.tolist())
    for request, (start, end) in zip(requests, spans, strict=True):
        for position in range(start, end):
            expected[request, position] = next(left)
    sgl_kernel.assign_req_to_token_pool_cpu(torch.tensor(requests), table, *offsets(spans), new, POOL)
    assert torch.equal(table, expected)


@pytest.mark.parametrize(("requests", "spans"), SHAPES)
def test_slots_are_read_request_after_request(
    table: Tensor, requests: tuple[int, ...], spans: tuple[tuple[int, int], ...]
) -> None:
    expected = [
        int(table[request, position])
        for request, (start, end) in zip(requests, spans, strict=True)
        for position in range(start, end)
    ]
    room = torch.full((len(expected) + 3,), -7)
    sgl_kernel.assign_extend_cache_locs_cpu(torch.tensor(requests), table, *offsets(spans), room, POOL)
    assert room.tolist() == [*expected, -7, -7, -7]


@pytest.mark.parametrize(("topk", "steps"), [(1, 3), (2, 3), (4, 2)])
def test_the_drafters_slots_follow_the_committed_ones(table: Tensor, topk: int, steps: int) -> None:
    requests, lengths = (4, 1), (9, 0)
    expected = [
        int(table[request, length + place])
        for request, length in zip(requests, lengths, strict=True)
        for place in range(topk * steps)
    ]
    found = torch.empty(len(expected), dtype=torch.int64)
    sgl_kernel.assign_draft_cache_locs_contiguous_cpu(
        torch.tensor(requests), table, torch.tensor(lengths), found, POOL, topk, steps
    )
    assert found.tolist() == expected


@pytest.mark.parametrize(("topk", "steps"), [(1, 3), (2, 3), (4, 2)])
def test_each_candidate_sees_the_prefix_and_its_own_chain(table: Tensor, topk: int, steps: int) -> None:
    requests, lengths = (4, 1, 2), (9, 1, 20)
    rows = sgl_kernel.build_draft_decode_metadata_cpu(
        table, torch.tensor(requests), torch.tensor(lengths), topk, steps, POOL
    )
    assert rows.shape == (len(requests) * topk, POOL)
    assert rows.dtype == table.dtype
    row = 0
    for request, length in zip(requests, lengths, strict=True):
        for candidate in range(topk):
            read = rows[row, : length + steps].tolist()
            own = length + candidate * steps
            assert read[:length] == table[request, :length].tolist()
            assert read[length:] == table[request, own : own + steps].tolist()
            row += 1


def test_the_slots_of_accepted_tokens_are_packed() -> None:
    index = torch.tensor([[0, 2, -1], [4, -1, -1], [8, 9, 11]], dtype=torch.int32)
    slots = torch.arange(100, 112)
    packed = torch.full((9,), -7)
    sgl_kernel.fill_accept_out_cache_loc_cpu(index, slots, packed)
    assert packed.tolist() == [100, 102, 104, 108, 109, 111, -7, -7, -7]


@pytest.mark.parametrize("moves", [((3, 7), (5, 1)), ((2, 3, 4), (1, 2, 3)), ((1, 2, 3), (2, 3, 4)), ((), ())])
def test_rows_of_all_layers_are_moved_as_if_all_were_read_first(moves: tuple[tuple[int, ...], ...]) -> None:
    made = torch.Generator().manual_seed(0)
    buffers = [torch.randn((8, 2, 4), generator=made), torch.randn((8, 3), generator=made).to(torch.bfloat16)]
    before = [buffer.clone() for buffer in buffers]
    addresses = torch.tensor([buffer.data_ptr() for buffer in buffers], dtype=torch.uint64)
    widths = torch.tensor([buffer[0].numel() * buffer.element_size() for buffer in buffers])
    to, source = (torch.tensor(places, dtype=torch.int64) for places in moves)
    sgl_kernel.copy_all_layer_kv_cache_cpu(addresses, widths, to, source)
    for buffer, old in zip(buffers, before, strict=True):
        expected = old.clone()
        for target, origin in zip(*moves, strict=True):
            expected[target] = old[origin]
        assert torch.equal(buffer, expected)
