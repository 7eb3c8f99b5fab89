"""Faults of training loaders."""

from eagle3_contracts.faults.fault import Fault, Kind
from eagle3_contracts.registry.loader import LOADER


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"loader.{name}" for name in names)


_ALL_BUT_RUNS = tuple(clause.id for clause in LOADER if clause.id not in _of("runs", "read-only"))

LOADER_FAULTS: tuple[Fault, ...] = (
    Fault(
        "loader-attribute-unset",
        Kind.RUNTIME,
        "A default argument leaves an attribute unset, and the first sample raises.",
        "vllm-project/speculators PR #528",
        "loader.runs",
        unchecked=_ALL_BUT_RUNS,
    ),
    Fault(
        "loader-all-planes-but-last",
        Kind.LAYER,
        "fc is fed every stored plane but the last, and the embedding output is stored first.",
        "vllm-project/speculators issue #705: the last plane is stripped, whatever it is",
        "loader.fc-input",
    ),
    Fault(
        "loader-planes-permuted",
        Kind.LAYER,
        "Planes are concatenated in the reverse of the declared order.",
        "vllm-project/vllm PR #50514",
        "loader.fc-input",
    ),
    Fault(
        "loader-planes-averaged",
        Kind.CONTENT,
        "A plane is the mean of two stored ones.",
        "no public case: what a mixing step ahead of fc leaves behind",
        "loader.fc-input",
    ),
    Fault(
        "loader-one-plane-shifted",
        Kind.ALIGN,
        "One plane is moved by a token against the others.",
        "same kind: sgl-project/SpecForge PR #448, a shift too many in offline training",
        "loader.row-identity",
    ),
    Fault(
        "loader-wrong-last-plane",
        Kind.LAYER,
        "Targets are computed from the last auxiliary plane.",
        "vllm-project/speculators issue #705",
        "loader.last-hidden",
    ),
    Fault(
        "loader-tokens-not-shifted",
        Kind.ALIGN,
        "State t stands beside token t: neither loader nor model shifts.",
        "SpecForge 0.2.0, data/preprocessing.py, OfflineEagle3Dataset in a script written for 0.1.0",
        "loader.token-shift",
    ),
    Fault(
        "loader-tokens-shifted-twice",
        Kind.ALIGN,
        "State t stands beside token t + 2: loader and model both shift.",
        "sgl-project/SpecForge PR #448",
        "loader.token-shift",
    ),
    Fault(
        "loader-targets-not-shifted",
        Kind.ALIGN,
        "The row's final state is that of its own token, so that it learns what it is told.",
        "same kind: sgl-project/SpecForge issue #455, labels at another offset in training alone",
        "loader.target-shift",
    ),
    Fault(
        "loader-mask-shifted-twice",
        Kind.ALIGN,
        "The mask is moved by two tokens.",
        "same kind: sgl-project/SpecForge issue #885, a mask that is not shifted",
        "loader.mask-shift",
    ),
    Fault(
        "loader-mask-all-zero",
        Kind.DATA,
        "Every entry of the mask is zero: the template has no marks of what is generated.",
        "NVIDIA/Model-Optimizer PR #1965",
        "loader.mask-shift",
        unchecked=_of("padding", "truncation", "neighbours", "draft-vocabulary"),
    ),
    Fault(
        "loader-positions-run-on",
        Kind.ROPE,
        "Positions count through a pack and do not begin anew with every sample.",
        "same kind: huggingface/nanoVLM issue #201, packs of a trainer of whole models",
        "loader.position-shift",
    ),
    Fault(
        "loader-documents-joined",
        Kind.DATA,
        "All samples of a pack carry one document id and attend to one another.",
        "same kind: huggingface/nanoVLM PR #204, packs of a trainer of whole models",
        "loader.packing",
    ),
    Fault(
        "loader-padding-trained",
        Kind.DATA,
        "The mask is padded with ones.",
        "sgl-project/SpecForge issue #885",
        "loader.padding",
    ),
    Fault(
        "loader-states-cut-in-front",
        Kind.DATA,
        "Of a sample that is too long the first token ids and the last states are kept.",
        "same kind: NVIDIA/Model-Optimizer PR #300, token ids that are not those of the states",
        "loader.truncation",
    ),
    Fault(
        "loader-last-sample-dropped",
        Kind.DATA,
        "The last, incomplete batch is dropped.",
        "SpecForge 0.2.0, runtime/data_plane/feature_dataloader.py, FeatureDataLoader: drop_last = True",
        "loader.coverage",
    ),
    Fault(
        "loader-cast-to-float16",
        Kind.QUANT,
        "States stored in bfloat16 are cast to float16.",
        "vllm-project/vllm issue #55250",
        "loader.dtype",
    ),
    Fault(
        "loader-scales-left-out",
        Kind.QUANT,
        "Quantised states are read without their scales.",
        "hs-connectors 0.9.0, FileTransfer: it reads float8 files without their scales",
        "loader.values",
    ),
    Fault(
        "loader-nan-unchecked",
        Kind.DATA,
        "Nobody looks whether states are finite.",
        "sgl-project/SpecForge issue #104",
        "loader.nonfinite",
    ),
    Fault(
        "loader-nan-to-zero",
        Kind.DATA,
        "Values that are no numbers become zeros, and the sample is trained.",
        "sgl-project/SpecForge issue #104",
        "loader.nonfinite",
    ),
    Fault(
        "loader-rows-filled-up",
        Kind.DATA,
        "A sample with too few rows of states is filled up with zeros, one with too many is cut.",
        "SpecForge 0.2.0, data/utils.py, DataCollatorWithPadding",
        "loader.row-count",
    ),
    Fault(
        "loader-rows-uncounted",
        Kind.DATA,
        "Samples are joined part by part, and nobody counts rows.",
        "speculators 0.4.0 to 0.9.0, train/data.py: create_collate_fn, later CollateFn",
        "loader.neighbours",
        companions=_of("row-count"),
    ),
    Fault(
        "loader-tokens-uncompared",
        Kind.DATA,
        "The token ids beside the states are not compared with those of the dataset.",
        "speculators 0.4.0, train/data.py, Eagle3SampleFileDataset",
        "loader.stored-tokens",
    ),
    Fault(
        "loader-first-sample-instead",
        Kind.DATA,
        "In the place of a file that cannot be read stands the first one, with a line printed.",
        "SpecForge 0.2.0, data/preprocessing.py, OfflineEagle3Dataset.__getitem__",
        "loader.unreadable",
    ),
    Fault(
        "loader-silent-about-files",
        Kind.DATA,
        "A file that cannot be read is passed over without a word.",
        "same kind: vllm-project/speculators PR #994, samples with NaN are skipped with a warning",
        "loader.unreadable",
    ),
    Fault(
        "loader-mask-written-back",
        Kind.DATA,
        "The zero at the end of a mask is written into the file.",
        "SpecForge 0.2.0, data/preprocessing.py, process_data: loss_mask[0, -1] = 0 in a mapped tensor",
        "loader.read-only",
    ),
    Fault(
        "loader-vocabulary-ignored",
        Kind.VOCAB,
        "Rows are trained whatever their target, in the draft vocabulary or not.",
        "vllm-project/speculators 0.9, models/eagle3: no filter by t2d",
        "loader.draft-vocabulary",
    ),
)
