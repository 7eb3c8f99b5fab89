"""A server as a subject: named by its address, beside the embedded default, and never with a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.testing.selection import Selection, explain_absence, label_subjects, select
from eagle3_contracts.testing.settings import Places, SettingError, read_settings

URL = "http://10.0.0.1:30000"


def choose(ini: dict[str, str] | None = None, **options: object) -> Selection:
    written = {f"contract_{name}" if name else "contract": value for name, value in options.items()}
    return select(read_settings(Places(written.get, (ini or {}).get, {}, Path("/here"), Path("/here"))))


def stages(selection: Selection) -> set[str]:
    return {subject.stage for subject in selection.subjects}


@pytest.mark.parametrize(
    "value", ["http://me:hunter2@host:1", "https://hunter2@host", "http://h/?key=hunter2", "http://h#hunter2"]
)
def test_a_url_with_a_secret_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(SettingError, match="EAGLE3_SERVER_API_KEY") as caught:
        choose(server=[value])
    assert "hunter2" not in str(caught.value)


def test_servers_are_named_by_their_addresses() -> None:
    named = label_subjects("server", [URL, f"capture={URL}", "launch:plain", "https://other/"])
    assert [subject.label for subject in named] == [
        "10.0.0.1:30000", "capture=10.0.0.1:30000", "launch:plain", "other",
    ]  # fmt: skip
    alike = label_subjects("server", ["http://a", "https://a"])
    assert [subject.label for subject in alike] == ["http://a", "https://a"]


def test_a_server_joins_the_embedded_default_that_it_serves() -> None:
    for selection in (
        choose({"contract_subject": "embedded"}, server=["launch"]),
        choose(subject="embedded", server=["launch"]),
    ):
        assert selection.contract == CONTRACT
        assert stages(selection) >= {"capture", "dataset", "launch", "server"}


def test_a_server_of_another_contract_is_checked_alone() -> None:
    selection = choose({"contract_subject": "embedded", "contract": "kimi-k2.5-eagle3"}, server=[URL])
    assert stages(selection) == {"server"}


def test_a_server_beside_another_subject_is_no_embedded_default() -> None:
    selection = choose({"contract_subject": "embedded"}, server=[URL], hidden_states=["/states"])
    assert stages(selection) == {"dataset", "server"}


def test_the_checkpoint_that_was_given_is_the_drafter_to_launch() -> None:
    assert choose(server=["launch"], checkpoint=["/drafter"]).options.drafter == "/drafter"
    assert choose(server=["launch"], checkpoint=["/a", "/b"]).options.drafter is None


def test_what_is_missing_is_told_with_what_to_install() -> None:
    assert "tox -e sglang-cpu" in explain_absence("server")
    assert "tox" not in explain_absence("dataset")
