"""The dataset formats, one module for each tool's."""

from eagle3_contracts.subjects.datasets.formats.angelslim import ANGELSLIM
from eagle3_contracts.subjects.datasets.formats.hs_connectors_fp8 import HS_CONNECTORS_FP8
from eagle3_contracts.subjects.datasets.formats.modelopt import MODELOPT
from eagle3_contracts.subjects.datasets.formats.scheme import DatasetFormat, Expectation
from eagle3_contracts.subjects.datasets.formats.specforge import SPECFORGE
from eagle3_contracts.subjects.datasets.formats.speculators_arrow import SPECULATORS_ARROW
from eagle3_contracts.subjects.datasets.formats.speculators_v0 import SPECULATORS_V0
from eagle3_contracts.subjects.datasets.formats.speculators_v1 import SPECULATORS_V1
from eagle3_contracts.subjects.datasets.formats.tensorrt_llm import TENSORRT_LLM
from eagle3_contracts.subjects.datasets.formats.torchspec import TORCHSPEC
from eagle3_contracts.subjects.datasets.formats.vllm_connector import VLLM_CONNECTOR

FORMATS: tuple[DatasetFormat, ...] = (
    SPECULATORS_V0,
    SPECULATORS_V1,
    SPECULATORS_ARROW,
    HS_CONNECTORS_FP8,
    SPECFORGE,
    MODELOPT,
    TENSORRT_LLM,
    ANGELSLIM,
    TORCHSPEC,
    VLLM_CONNECTOR,
)
BY_ID = {item.id: item for item in FORMATS}

__all__ = ["BY_ID", "FORMATS", "HS_CONNECTORS_FP8", "SPECULATORS_ARROW", "DatasetFormat", "Expectation"]
