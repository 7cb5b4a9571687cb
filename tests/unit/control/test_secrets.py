"""Secrets in settings: sealed where they are kept, masked where they are shown, taken out of what others say."""

import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError
from tests.unit.control.secretive import ENTRY, PASSWORD, TOKEN, SecretiveSettings, offer

from dovetail.backends.registry import BackendEntry
from dovetail.control.settings.secret_box import FILE, VARIABLE, SecretBox, SecretError
from dovetail.control.settings.secret_settings import MASK, cleaner, masked, secrets_in
from dovetail.model.text.validation_errors import complaints_of

GIVEN = {name: value for name, value in ENTRY.items() if name != "kind"}
SETTINGS = SecretiveSettings.model_validate(GIVEN)


def test_what_is_sealed_holds_no_secret_and_opens_to_the_same_settings(tmp_path: Path) -> None:
    box = SecretBox(tmp_path, {})
    sealed = box.seal(SETTINGS)
    assert TOKEN not in sealed
    assert PASSWORD not in sealed
    assert '"user":"ann"' in sealed
    again = SecretBox(tmp_path, {}).open(sealed)
    assert SecretiveSettings.model_validate(again) == SETTINGS
    assert again["patience"] == "2m"


def test_the_key_file_is_made_at_the_first_secret_and_for_nobody_else_to_read(tmp_path: Path) -> None:
    box = SecretBox(tmp_path, {})
    assert not (tmp_path / FILE).exists()
    first = box.seal(SETTINGS)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    key = (tmp_path / FILE).read_text()
    box.seal(SETTINGS)
    assert (tmp_path / FILE).read_text() == key
    assert key.strip() not in first


def test_a_key_from_the_environment_needs_no_file(tmp_path: Path) -> None:
    env = {VARIABLE: Fernet.generate_key().decode()}
    sealed = SecretBox(tmp_path, env).seal(SETTINGS)
    assert not (tmp_path / FILE).exists()
    assert SecretBox(tmp_path, env).open(sealed)["key"] == TOKEN


def test_a_new_key_before_the_old_one_opens_and_seals_again_until_the_old_one_can_go(tmp_path: Path) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    sealed = SecretBox(tmp_path, {VARIABLE: old}).seal(SETTINGS)
    both = SecretBox(tmp_path, {VARIABLE: f"{new},{old}"})
    renewed = both.resealed(sealed)
    assert renewed != sealed
    assert both.resealed(renewed) == renewed
    assert SecretBox(tmp_path, {VARIABLE: new}).open(renewed)["login"]["word"] == PASSWORD
    with pytest.raises(SecretError, match="sealed with another key than DOVETAIL_SECRET_KEY"):
        SecretBox(tmp_path, {VARIABLE: new}).open(sealed)


def test_what_is_no_key_is_said_without_saying_it(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="holds something that is no key") as caught:
        SecretBox(tmp_path, {VARIABLE: "my-passphrase"}).seal(SETTINGS)
    assert "my-passphrase" not in str(caught.value)


def test_a_lost_key_is_said_and_no_new_one_made(tmp_path: Path) -> None:
    sealed = SecretBox(tmp_path, {}).seal(SETTINGS)
    (tmp_path / FILE).unlink()
    with pytest.raises(SecretError, match="there is no key: set DOVETAIL_SECRET_KEY, or bring back"):
        SecretBox(tmp_path, {}).open(sealed)
    assert not (tmp_path / FILE).exists()


def test_masked_settings_are_as_they_were_given_but_for_the_secrets() -> None:
    shown = masked(SETTINGS)
    assert shown["key"] == MASK
    assert shown["login"] == {"user": "ann", "word": MASK}
    assert shown["others"] == {"b": {"user": "bob", "word": MASK}}
    assert (shown["patience"], shown["forever"], "speed" in shown) == ("2m", True, False)
    assert sorted(secrets_in(SETTINGS)) == sorted([TOKEN, PASSWORD, PASSWORD + "-too"])


def test_a_cleaned_text_holds_no_secret() -> None:
    clean = cleaner(SETTINGS)
    assert clean(f"401 for {TOKEN}, {PASSWORD}-too and {PASSWORD}") == f"401 for {MASK}, {MASK} and {MASK}"
    assert cleaner(None)(TOKEN) == TOKEN


@pytest.mark.parametrize(
    "wrong",
    [{"key": 77777777}, {"login": PASSWORD}, {"login": {"user": "ann", "word": [PASSWORD]}}, {"others": [PASSWORD]}],
)
def test_a_complaint_about_a_secret_does_not_tell_it(wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)
    assert isinstance(wrong, dict)
    with pytest.raises(ValidationError) as caught:
        BackendEntry.model_validate({**ENTRY, **wrong})
    told = f"{caught.value} {caught.value.errors()} {[str(one) for one in complaints_of(caught.value, BackendEntry)]}"
    assert "77777777" not in told
    assert PASSWORD not in told
    assert TOKEN not in told
