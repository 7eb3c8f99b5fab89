"""A reproducer as a program: 1 is said of a difference alone, 2 of all that keeps it from comparing."""

from __future__ import annotations

import base64
import importlib.abc
import sys
from pathlib import Path

import pytest

from eagle3_contracts.faults.reproducing.composing import _FIRST
from eagle3_contracts.faults.reproducing.recording import Sides
from eagle3_contracts.faults.reproducing.reducing import pack
from eagle3_contracts.faults.reproducing.standalone import reading, replaying, showing
from eagle3_contracts.faults.reproducing.standalone.comparing import MOST_SHOWN, compare_folders
from eagle3_contracts.faults.reproducing.standalone.reading import UNREAD, UnableError, make_table, read_folder
from eagle3_contracts.faults.reproducing.standalone.showing import show_difference

FAULTY = {"sound": {"a.json": b'{"a": 1}'}, "faulty": {"a.json": b'{"a": 2}'}}
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"


class Missing(importlib.abc.MetaPathFinder):
    """Finds no torch, as where none is installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


def run_program(sides: dict[str, dict[str, bytes]], *arguments: str) -> int:
    packed = base64.b85encode(pack(Sides(sides["sound"], sides["faulty"]))).decode()
    return showing.run_program(packed, list(arguments))


@pytest.mark.parametrize(("side", "arguments"), [("sound", []), ("sound", ["--sound"]), ("faulty", [])])
def test_a_missing_torch_shows_nothing(
    side: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    sides = {"sound": {"a.json": b"1"}, "faulty": {"a.json": b"2"}}
    sides[side]["b.pt"] = b""
    assert run_program(sides, *arguments) == 2
    assert capsys.readouterr() == ("", "b.pt: needs torch: pip install torch\n")


@pytest.mark.parametrize("error", [MemoryError("no room"), ImportError("a library is broken")])
def test_an_error_of_this_machine_is_none_of_the_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> dict[str, object]:
        raise error

    (tmp_path / "a.json").write_text("1")
    monkeypatch.setitem(reading.READERS, ".json", fail)
    with pytest.raises(UnableError, match=f"a.json: {type(error).__name__}: {error}"):
        read_folder(tmp_path, sound=False)


def test_a_side_that_is_in_order_must_be_readable(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    assert list(read_folder(tmp_path, sound=False)["a.json"]) == [UNREAD]
    with pytest.raises(UnableError, match=r"a\.json is in order, and cannot be read here: JSONDecodeError"):
        read_folder(tmp_path, sound=True)


def test_an_error_of_the_program_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    assert run_program(FAULTY) == 1
    monkeypatch.setattr(showing, "write_files", fail)
    assert run_program(FAULTY) == 2
    told = "this program failed, and shows nothing: OSError: [Errno 28] No space left on device\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 11, 0)])
def test_an_older_python_is_refused(
    version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    if version >= (3, 11):
        exec(_FIRST, {})  # noqa: S102 (the head of every reproducer)
        return
    with pytest.raises(SystemExit) as stopped:
        exec(_FIRST, {})  # noqa: S102 (the head of every reproducer)
    assert (stopped.value.code, capsys.readouterr().err) == (2, "needs Python 3.11 or later\n")


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("--snd", 2), ("--s", 2), ("sound", 2)])
def test_arguments_that_are_unknown_are_not_run(argument: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run_program(FAULTY, argument)
    told = capsys.readouterr()
    assert stopped.value.code == code
    assert "usage: " in (told.err if code else told.out)
    assert "difference\n" not in told.out


def test_silence_after_a_connection_was_closed_is_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "PATIENCE", 0.5)
    asked = b'{"method": "GET", "route": "/", "body": "", "end": "%s"}\n'
    for end in (b"open", b"close"):
        (tmp_path / f"{end.decode()}.exchange").write_bytes(asked % end + ENDLESS)
    assert replaying.read_exchange(tmp_path / "open.exchange") == {UNREAD: "nothing came for 0.5 s"}
    cut = replaying.read_exchange(tmp_path / "close.exchange")
    assert cut[UNREAD] == "the answer ends 9 bytes before what was announced"
    monkeypatch.setattr(replaying, "read_answer", time_out)
    with pytest.raises(UnableError, match=r"the recorded bytes did not arrive in 0\.5 s"):
        replaying.read_exchange(tmp_path / "close.exchange")


def time_out(_: object) -> None:
    raise TimeoutError


@pytest.mark.parametrize("count", [1, MOST_SHOWN, MOST_SHOWN + 28])
def test_differences_are_counted_and_not_lines(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    sides = {
        name: {"a.json": str({f"p{at}": value for at in range(count)}).replace("'", '"').encode()}
        for name, value in (("sound", 1), ("faulty", 2))
    }
    assert show_difference(sides, "faulty") == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{count} {'difference' if count == 1 else 'differences'}"
    assert len(lines) == min(count, MOST_SHOWN) + (count > MOST_SHOWN)
    assert (f"a.json: ... and {count - MOST_SHOWN} more" in lines) == (count > MOST_SHOWN)


def test_what_explains_a_difference_is_none() -> None:
    one, other = (make_table((2, 2), "F32", [1.0, number, 3.0, 4.0]) for number in (2.0, 0.5))
    lines, count = compare_folders({"f": {"a": one, "b": other}}, {"f": {"a": other, "b": other}})
    assert (len(lines), count) == (2, 1)
    assert lines[1] == "f: a: it is what should stand at b"
