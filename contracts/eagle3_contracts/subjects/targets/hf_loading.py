"""Loading a transformers model from a folder or a GGUF file: no network, no code of the folder, no random weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from eagle3_contracts.subjects import SubjectError

_REMEDY = "give a folder with config.json and *.safetensors, or a .gguf file"


def load_model(source: str, dtype: str = "float32") -> Any:
    """Give the causal language model in ``source``, in evaluation mode, on the GPU if there is one.

    A folder with config.json is read as it is (pickled weights with ``weights_only``); a ``.gguf`` file, or a
    folder that holds one and no config.json, is dequantised. Raises ``SubjectError`` if transformers does not know
    the architecture, if an optional package is missing, and if any weight is missing: transformers would draw
    it at random and go on.
    """
    folder, gguf = _locate(source)
    torch, transformers = _import_packages(source, gguf=gguf is not None)
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "local_files_only": True, "trust_remote_code": False}
    if gguf is not None:
        options |= {"gguf_file": gguf, "quantization_config": transformers.GgufConfig(dequantize=True)}
    if torch.cuda.is_available():
        options["device_map"] = "auto"
    try:
        with _without_progress(transformers):
            owner = transformers.AutoModelForCausalLM if gguf is not None else _model_class(transformers, folder)
            model, info = owner.from_pretrained(str(folder), output_loading_info=True, **options)
    except Exception as error:
        reason = f"transformers {transformers.__version__} cannot load it: {_first_line(error)}"
        raise SubjectError(source, reason, remedy=_REMEDY) from error
    lost = sorted(info["missing_keys"]) + [str(item) for item in info["mismatched_keys"]]
    if lost:
        reason = f"{len(lost)} weights are missing or of another shape, first {lost[0]}"
        raise SubjectError(source, reason, remedy="give the complete checkpoint; missing weights would be random")
    return model.eval()


def _locate(source: str) -> tuple[Path, str | None]:
    """Give the folder and, for a GGUF model, the name of its file."""
    path = Path(source)
    if path.is_file() and path.suffix == ".gguf":
        return path.parent, path.name
    if (path / "config.json").is_file():
        return path, None
    found = sorted(entry.name for entry in path.glob("*.gguf")) if path.is_dir() else []
    if len(found) == 1:
        return path, found[0]
    if found:
        raise SubjectError(source, f"holds several GGUF files: {', '.join(found)}", remedy="name one of them")
    what = "holds neither config.json nor a .gguf file" if path.exists() else "does not exist"
    raise SubjectError(source, what, remedy=_REMEDY)


def _import_packages(source: str, *, gguf: bool) -> tuple[Any, Any]:
    try:
        import torch
        import transformers

        if gguf:
            import_module("accelerate")
            import_module("gguf")
    except ImportError as error:
        extra = "pip install 'eagle3-contracts[transformers]'" + (" gguf accelerate" if gguf else "")
        raise SubjectError(source, f"reading it needs {error.name}, which is not installed", remedy=extra) from None
    return torch, transformers


def _model_class(transformers: Any, folder: Path) -> Any:
    """Give the class that config.json names, which for models with a text_config is not the causal one."""
    config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    named = (getattr(transformers, name, None) for name in config.architectures or ())
    return next((found for found in named if found is not None), transformers.AutoModelForCausalLM)


@contextmanager
def _without_progress(transformers: Any) -> Iterator[None]:
    """Keep progress bars and loading reports out of the user's terminal (the GGUF reader's bar has no switch)."""
    logging = transformers.utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
