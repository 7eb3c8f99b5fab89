"""Every reader gives back what was written: any length, any number of planes, every dtype, every bit pattern."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.torch import save_file

from eagle3_contracts.numerics import bfloat16_to_float32, float32_to_bfloat16
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset, read_sample
from eagle3_contracts.subjects.datasets.stored import Sample, float8_table
from support.formats import ALL_WRITERS, GoodSample

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def good_samples(draw: st.DrawFn, least_planes: int = 1) -> list[GoodSample]:
    """Draw samples of one shape and different lengths."""
    planes, hidden = draw(st.integers(least_planes, 5)), draw(st.integers(1, 12))
    samples = []
    for _ in range(draw(st.integers(1, 2))):
        length = draw(st.integers(1, 24))
        ids = draw(st.lists(st.integers(0, 200_000), min_size=length, max_size=length))
        mask = draw(st.lists(st.integers(0, 1), min_size=length, max_size=length))
        states = draw(arrays.arrays(np.float32, (planes, length, hidden), elements=FLOATS, fill=st.just(0.5)))
        samples.append(GoodSample(tuple(ids), states, tuple(mask)))
    return samples


def _read_all(folder: Path) -> tuple[str | None, list[Sample]]:
    reading = read_dataset(open_source("drawn", str(folder), None, Options(scan="full")))
    assert reading.evidence.problems == ()
    assert reading.evidence.samples == len(reading.samples)
    return reading.evidence.format, [read_sample(open_file(file)[at], reading) for file, at, _ in reading.samples]


@pytest.mark.parametrize("name", [name for name in ALL_WRITERS if name != "hs-connectors-fp8"])
@given(data=st.data())
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    format_id, write = ALL_WRITERS[name]
    stacked = format_id in {"speculators-v1", "speculators-arrow", "vllm-connector", "tensorrt-llm"}
    samples = data.draw(good_samples(1 if stacked else 2))
    dtype = data.draw(st.sampled_from(["float32", "bfloat16", "float16", "float64"]))
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), samples, dtype)
        found, read = _read_all(Path(folder))
        assert found == format_id
        assert len(read) == len(samples)
        for sample, written in zip(read, samples, strict=True):
            assert sample.token_ids is not None
            assert sample.token_ids.bits.tolist() == list(written.token_ids)
            assert sample.mask is None or sample.mask.bits.tolist() == list(written.mask)
            expected = torch.from_numpy(written.planes).to(getattr(torch, dtype)).float().numpy()
            got = np.stack([plane.read_float32(plane.rows) for plane in sample.planes])
            assert {plane.dtype for plane in sample.planes} == {dtype}
            np.testing.assert_array_equal(got, expected)


@given(samples=good_samples())
def test_fp8_states_come_back_as_hs_connectors_gives_them(samples: list[GoodSample]) -> None:
    _, write = ALL_WRITERS["hs-connectors-fp8"]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), samples)
        found, read = _read_all(Path(folder))
        assert found == "hs-connectors-fp8"
        for sample, written in zip(read, samples, strict=True):
            states = torch.from_numpy(written.planes).transpose(0, 1)
            scales = (states.abs().amax(dim=(1, 2), keepdim=True) / 448.0).clamp(min=1e-12)
            expected = ((states / scales).to(torch.float8_e4m3fn).float() * scales).transpose(0, 1).numpy()
            got = np.stack([plane.read_float32(plane.rows) for plane in sample.planes])
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("container", ["torch", "safetensors"])
def test_all_65536_bfloat16_patterns_are_read_bit_by_bit(container: str, tmp_path: Path) -> None:
    patterns = torch.arange(65536, dtype=torch.int32).to(torch.int16).reshape(256, 1, 256)
    states, ids = patterns.view(torch.bfloat16), torch.arange(256)
    if container == "safetensors":
        save_file({"hidden_states": states, "token_ids": ids}, tmp_path / "r.safetensors")
    else:
        torch.save({"hidden_states": [states[:, 0]], "input_ids": ids, "loss_mask": ids % 2}, tmp_path / "data_0.pt")
    reading = read_dataset(open_source("drawn", str(tmp_path), None, Options(scan="full")))
    (file, at, _), *_ = reading.samples
    (plane,) = read_sample(open_file(file)[at], reading).planes
    np.testing.assert_array_equal(plane.bits.view(np.uint16).ravel(), np.arange(65536, dtype=np.uint16))
    widened = plane.read_float32(256).view(np.uint32).ravel()
    np.testing.assert_array_equal(widened, states.float().numpy().view(np.uint32).ravel())
    finite = states[:, 0].float().isfinite().all(dim=1)
    assert reading.evidence.planes[0].nonfinite.count == int((~finite).sum())


def test_all_bfloat16_patterns_survive_widening_and_rounding() -> None:
    patterns = np.arange(65536, dtype=np.uint16)
    back = float32_to_bfloat16(bfloat16_to_float32(patterns))
    nan = np.isnan(bfloat16_to_float32(patterns))
    np.testing.assert_array_equal(back[~nan], patterns[~nan])
    assert np.isnan(bfloat16_to_float32(back[nan])).all()


@given(bits=arrays.arrays(np.uint32, st.integers(1, 300), elements=st.integers(0, 2**32 - 1)))
def test_rounding_to_bfloat16_is_torchs(bits: np.ndarray) -> None:  # type: ignore[type-arg]
    values = bits.view(np.float32)
    ours = bfloat16_to_float32(float32_to_bfloat16(values))
    theirs = torch.from_numpy(values.copy()).bfloat16().float().numpy()
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_all_256_float8_patterns_have_torchs_values(dtype: str) -> None:
    patterns = torch.arange(256, dtype=torch.int16).to(torch.uint8)
    theirs = patterns.view(getattr(torch, dtype)).float().numpy()
    np.testing.assert_array_equal(float8_table(dtype), theirs)
    signs = np.signbit(float8_table(dtype))
    np.testing.assert_array_equal(signs[~np.isnan(theirs)], np.signbit(theirs)[~np.isnan(theirs)])
