"""What lies on disk: the stored planes in order, by format, and their dtype."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eagle3_contracts.contract.base import Name, Table
from eagle3_contracts.contract.formats import HABITS, DatasetFormat, Dtype

Order = Annotated[tuple[Name, ...], Field(min_length=1)]


class Storage(Table):
    """What lies on disk, in order.

    ``formats`` states another list for a format that cannot hold ``planes`` as they are: SpecForge and
    AngelSlim keep a post-norm final state where speculators keeps a pre-norm one. Formats that hold
    auxiliary planes and a last state apart are read as the auxiliary planes followed by the last state.
    ``dtypes`` does the same for ``dtype``; hs-connectors-fp8 is float8_e4m3fn without being told.
    """

    planes: Order = Field(description="plane names in the order on disk")
    formats: dict[DatasetFormat, Order] = Field(default_factory=dict, description="another order, by format")
    dtype: Dtype | None = Field(default=None, description="of the stored states; absent: the target's")
    dtypes: dict[DatasetFormat, Dtype] = Field(default_factory=dict, description="another dtype, by format")

    def order_for(self, dataset_format: str | None) -> tuple[str, ...]:
        """Give the plane names on disk for a format, or for any format that ``formats`` does not name."""
        for known, order in self.formats.items():
            if known == dataset_format:
                return order
        return self.planes

    def dtype_for(self, dataset_format: str | None) -> Dtype | None:
        """Give the dtype on disk for a format; None stands for the target's."""
        for known, dtype in self.dtypes.items():
            if known == dataset_format:
                return dtype
        for known, habit in HABITS.items():
            if known == dataset_format and habit.dtype is not None:
                return habit.dtype
        return self.dtype
