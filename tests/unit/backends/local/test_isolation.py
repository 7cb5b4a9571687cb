"""As whom commands run: users of namespaces, names of the settings, ranges of containers."""

import json
import os
import pwd
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.local.isolation import USERS_FILE, USUAL_UIDS, Isolation, TaskUsers, find_isolation, usable_uids
from dovetail.backends.local.settings import LocalSettings


def users(folder: Path, uids: range = USUAL_UIDS, **fields: object) -> TaskUsers:
    return TaskUsers(folder, LocalSettings.model_validate(fields), uids)


def test_a_namespace_keeps_its_user_after_a_restart_and_shares_it_with_no_other(tmp_path: Path) -> None:
    before = users(tmp_path)
    red, blue = before.of("red"), before.of("blue")
    assert red is not None
    assert blue is not None
    assert (red.uid, blue.uid) == (USUAL_UIDS[0], USUAL_UIDS[1])
    after = users(tmp_path)
    assert (after.of("blue"), after.of("red")) == (blue, red)


def test_namespaces_that_come_at_once_get_different_users(tmp_path: Path) -> None:
    for turn in range(20):
        folder = tmp_path / str(turn)
        folder.mkdir()
        asked = users(folder)
        names = [f"n{number}" for number in range(16)]
        together = threading.Barrier(len(names))

        def user(name: str, asked: TaskUsers = asked, together: threading.Barrier = together) -> int | None:
            together.wait()
            found = asked.of(name)
            return None if found is None else found.uid

        with ThreadPoolExecutor(len(names)) as threads:
            given = list(threads.map(user, names))
        assert len(set(given)) == len(names)
        assert json.loads((folder / USERS_FILE).read_text()) == dict(zip(names, given, strict=True))


def test_when_all_users_are_taken_the_error_says_what_to_do(tmp_path: Path) -> None:
    few = users(tmp_path, range(5000, 5001))
    few.of("red")
    with pytest.raises(OSError, match="all 1 users of uids are in use; widen uids"):
        few.of("blue")


def test_the_settings_name_users_for_namespaces(tmp_path: Path) -> None:
    known = pwd.getpwuid(0)
    found = users(tmp_path, run_as={"red": known.pw_name, "blue": 4711, "green": "server", "*": "12"})
    assert found.of("green") is None
    red, blue, other = found.of("red"), found.of("blue"), found.of("yellow")
    assert red is not None
    assert (red.uid, red.home) == (0, known.pw_dir)
    assert blue is not None
    assert (blue.uid, blue.gid) == (4711, 4711)
    assert other is not None
    assert other.uid == 12


def test_a_user_or_group_that_does_not_exist_is_an_error_of_its_setting(tmp_path: Path) -> None:
    with pytest.raises(UnusableSetting, match="no user 'nonesuch-1'"):
        users(tmp_path, run_as={"*": "nonesuch-1"}).of("red")
    with pytest.raises(UnusableSetting, match="no group 'nonesuch-1'"):
        users(tmp_path, groups=["nonesuch-1"])


@pytest.mark.parametrize(
    ("uid_map", "expected"),
    [
        ("0 0 4294967295\n", USUAL_UIDS),
        ("0 1000 1\n1 100000 65536\n", range(49153, 65537)),
        ("0 1000 1\n", range(1, 1)),
    ],
)
def test_a_container_with_few_users_gives_some_of_those(uid_map: str, expected: range) -> None:
    assert usable_uids(LocalSettings(), uid_map) == expected


def test_the_range_of_the_settings_counts() -> None:
    assert usable_uids(LocalSettings(uids="7000-7001"), "0 0 4294967295\n") == range(7000, 7002)


@pytest.mark.parametrize("uids", ["0-5", "7-5", "5", "a-b", "1-99999999999", ""])
def test_a_range_that_is_none_or_has_root_is_refused(uids: str) -> None:
    with pytest.raises(ValidationError):
        LocalSettings(uids=uids)


def test_only_root_can_run_commands_as_other_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UnusableSetting, match="only a server that is root"):
        find_isolation(LocalSettings.model_validate({"run_as": {"*": "nobody"}}), tmp_path, [])


def test_a_kernel_without_namespaces_is_said_to_be_one(tmp_path: Path) -> None:
    broken = tmp_path / "probe.py"
    broken.write_text(
        "print('user_namespace=needed'); print('own_proc=no'); print('namespaces=unshare: not permitted')"
    )
    found = find_isolation(LocalSettings(), broken, ["/data"])
    assert not found.namespaces
    assert found.missing["namespaces"] == "unshare: not permitted"
    assert [name for name, _ in found.orders()] == ["no_new_privs"]


def test_words_name_what_is_in_force() -> None:
    assert Isolation().words() == "none"
    assert Isolation(users=True, namespaces=True).words() == "users+processes+mounts"
