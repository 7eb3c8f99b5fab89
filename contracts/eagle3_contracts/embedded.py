"""The embedded default: a tiny trained target and datasets captured from it, which the package brings along.

Standard library only, so that the plugin can list what it would check without opening anything.
"""

from __future__ import annotations

from pathlib import Path

from eagle3_contracts.subjects import Need, Subject

NAME, VERSION = "tiny-llama-eagle3", "1.1.0"

CONTRACT = f"{NAME}@{VERSION}"
"""The contract that the embedded subjects are checked against."""


PEERS = ("speculators", "specforge")
"""Trainers whose own loaders are checked where they are installed, by the name of module and loader alike."""


def golden_root() -> Path:
    """Find the recordings: inside the package when installed from a wheel, at the top of a source tree."""
    package = Path(__file__).resolve().parent
    inside = package / "golden"
    return inside if inside.is_dir() else package.parent.parent / "golden"


def embedded_target() -> Path:
    """Give the folder of the embedded target: its config.json and weights."""
    return golden_root() / NAME / VERSION / "target"


def embedded_launch() -> Path:
    """Give the launch command of the embedded default, a file that is read and never run."""
    return Path(__file__).resolve().parent / "launchers" / "embedded" / "serve.sh"


def embedded_subjects() -> tuple[Subject, ...]:
    """List the embedded subjects: capture, each recorded dataset, loaders, drafter, launch command, the recording.

    The reference loader always runs. The peers' loaders are the real ones, and are skipped where they are absent.
    """
    folder = golden_root() / NAME / VERSION / "datasets"
    datasets = sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    return (
        Subject("capture", "embedded", "embedded"),
        *(Subject("dataset", str(path), path.name) for path in datasets),
        Subject("loader", "embedded", "embedded"),
        *(Subject("loader", name, name, need=_need(name)) for name in PEERS),
        Subject("checkpoint", str(golden_root() / NAME / VERSION / "drafter"), "drafter"),
        Subject("launch", str(embedded_launch()), "serve.sh"),
        Subject("golden", str(golden_root() / NAME / VERSION), VERSION),
    )


def _need(name: str) -> Need:
    remedy = f"run `tox -e peers-{name}`, or install {name} with what it needs (pyproject.toml, peer-{name})"
    return Need(name, remedy)
