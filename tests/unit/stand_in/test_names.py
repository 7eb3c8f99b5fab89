"""The stand-in has the names that SGLang asks for, says what it is, and hides what it is not."""

from __future__ import annotations

import pytest
import torch

from support.sgl_kernel_stand_in import sgl_kernel


def test_it_says_that_it_is_a_stand_in() -> None:
    assert "stand.in" in sgl_kernel.__version__
    assert "STAND-IN" in str(sgl_kernel.__doc__)


def test_unused_operations_can_be_imported_and_refuse_to_be_called() -> None:
    with pytest.raises(NotImplementedError, match=r"sgl_kernel\.rotate_input_ids_cpu is not part of this stand-in"):
        sgl_kernel.rotate_input_ids_cpu(torch.zeros(1))
    with pytest.raises(AttributeError, match="has no 'silu_and_mul'"):
        _ = sgl_kernel.silu_and_mul


def test_sglang_finds_the_attention_operations_and_no_amx_kernels() -> None:
    assert torch.ops.sgl_kernel.extend_attention_cpu is sgl_kernel.extend_attention_cpu
    assert torch.ops.sgl_kernel.decode_attention_cpu is sgl_kernel.decode_attention_cpu
    assert not hasattr(torch.ops.sgl_kernel, "convert_weight_packed")
