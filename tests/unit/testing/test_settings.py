from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.testing.settings import (
    PREFIX,
    SETTINGS,
    Places,
    SettingError,
    Source,
    read_settings,
    unknown_variables,
)

HERE, CONFIGURED = Path("/invoked"), Path("/configured")


def places(
    option: dict[str, Any] | None = None, environ: dict[str, str] | None = None, ini: dict[str, Any] | None = None
) -> Places:
    return Places((option or {}).get, (ini or {}).get, environ or {}, HERE, CONFIGURED)


def test_an_option_beats_its_variable_and_the_variable_its_ini_key() -> None:
    option, environ, ini = {"contract": "a"}, {"EAGLE3_CONTRACT": "b"}, {"contract": "c"}
    for given, value, source in (
        (places(option, environ, ini), "a", Source.OPTION),
        (places(None, environ, ini), "b", Source.VARIABLE),
        (places(None, None, ini), "c", Source.INI),
    ):
        found = read_settings(given)["--contract"]
        assert (found.value, found.source) == (value, source)
    assert read_settings(places()) == {}


def test_a_stronger_source_replaces_a_weaker_one_and_adds_nothing_to_it() -> None:
    found = read_settings(places({"contract_capture": ["a:b"]}, {"EAGLE3_CONTRACT_CAPTURE": "c:d\ne:f"}))
    assert found["--contract-capture"].values == ("a:b",)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_can_be_given_in_each_of_the_three_places(setting: Any) -> None:
    value = "7" if setting.count else setting.choices[0] if setting.choices else "x.json"
    written: Any = [value] if setting.many else value
    for given in (
        places({setting.key: written}),
        places(None, {setting.variable: value}),
        places(None, None, {setting.key: written}),
    ):
        (found,) = read_settings(given).values()
        assert found.setting is setting
        assert Path(found.value).name == value
    assert setting.variable.startswith(PREFIX)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (places({"contract": ""}), "--contract"),
        (places({"contract_target": "  "}), "--contract-target"),
        (places({"contract_hidden_states": ["a", ""]}), "--contract-hidden-states"),
        (places(None, {"EAGLE3_CONTRACT_HIDDEN_STATES": ""}), "EAGLE3_CONTRACT_HIDDEN_STATES"),
        (places(None, {"EAGLE3_CONTRACT_HIDDEN_STATES": " \n\t"}), "EAGLE3_CONTRACT_HIDDEN_STATES"),
        (places(None, {"EAGLE3_CONTRACT_STRICT": ""}), "EAGLE3_CONTRACT_STRICT"),
        (places(None, None, {"contract": ""}), "ini key contract"),
        (places(None, None, {"contract_hidden_states": []}), "ini key contract_hidden_states"),
    ],
)
def test_what_is_set_but_empty_is_refused_by_the_name_it_was_written_with(given: Places, name: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_settings(given)
    assert str(caught.value).startswith(f"{name} is set but empty, so it is not known what to check; give it a value")


def test_an_empty_variable_under_a_given_option_is_no_matter() -> None:
    found = read_settings(places({"contract": "a"}, {"EAGLE3_CONTRACT": ""}))
    assert found["--contract"].value == "a"


def test_several_values_stand_on_lines_of_their_own() -> None:
    found = read_settings(places(None, {"EAGLE3_CONTRACT_HIDDEN_STATES": "/a b\n\n  /c\n"}))
    assert found["--contract-hidden-states"].values == ("/a b", "/c")


def test_paths_are_relative_to_where_they_were_written() -> None:
    written = {"contract_hidden_states": ["data"], "contract": "own.toml", "contract_capture": ["module:function"]}
    by_option, by_ini = read_settings(places(written)), read_settings(places(None, None, written))
    assert by_option["--contract-hidden-states"].value == "/invoked/data"
    assert by_ini["--contract-hidden-states"].value == "/configured/data"
    assert by_ini["--contract"].value == "/configured/own.toml"
    assert by_ini["--contract-capture"].value == "module:function"


def test_a_choice_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(SettingError, match="--contract-scan: 'all' is no choice; write one of headers, sample, full"):
        read_settings(places({"contract_scan": "all"}))


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant() -> None:
    environ = {"EAGLE3_CONTRACT_HIDEN_STATES": "x", "EAGLE3_CONTRACTXQZ": "", "EAGLE3_CONTRACT": "a", "HOME": "/"}
    assert unknown_variables(environ) == {
        "EAGLE3_CONTRACTXQZ": "EAGLE3_CONTRACT",
        "EAGLE3_CONTRACT_HIDEN_STATES": "EAGLE3_CONTRACT_HIDDEN_STATES",
    }
    assert unknown_variables({setting.variable: "x" for setting in SETTINGS}) == {}


def test_a_command_line_is_kept_and_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("sglang serve m", encoding="utf-8")
    command = "sglang serve m \\\n  --tp 2"
    given = Places(
        {}.get, {"contract_launch": ["serve.sh"]}.get, {"EAGLE3_CONTRACT_LAUNCH": command}, tmp_path, tmp_path
    )
    assert read_settings(given)["--contract-launch"].values == ("sglang serve m    --tp 2",)
    given = Places({}.get, {"contract_launch": ["serve.sh"]}.get, {}, tmp_path, tmp_path)
    assert read_settings(given)["--contract-launch"].values == (str(tmp_path / "serve.sh"),)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "²"])
def test_a_count_is_a_whole_number_from_one_on(value: str) -> None:
    with pytest.raises(SettingError, match="is no count; write a whole number from 1 on"):
        read_settings(places({"contract_probes": value}))
