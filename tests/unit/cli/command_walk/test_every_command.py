"""Every command of the table runs against a live server, and does what it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.every_command import every_command
from tests.unit.api.server import serving, settings_in
from tests.unit.cli.command_walk import uses
from tests.unit.cli.command_walk.walk import USES, CommandWalk

from dovetail.cli.command_table import COMMANDS, CommandEntry
from dovetail.client import Client

ROOT = Path(__file__).parents[4]

#: Commands that run until they are stopped, or need more than a server: the file that runs them as a process.
TESTED_IN = {
    "serve": "tests/e2e/test_cli.py",
    "agent": "tests/e2e/test_agent.py",
    "dns": "tests/e2e/test_dns.py",
    "demo": "tests/unit/simulate/test_demo.py",
    "mcp": "tests/e2e/test_mcp.py",
    "kubernetes scheduler": "tests/contract/kubernetes/scheduler_process.py",
    "kubernetes extender": "tests/contract/kubernetes/extending.py",
    "kubernetes check": "tests/unit/kubernetes/checking/test_check.py",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as url, Client(url) as found:
        yield found


@pytest.mark.parametrize("name", USES)
def test_the_commands_do_what_they_say(client: Client, tmp_path: Path, name: str) -> None:
    one, walk = USES[name], CommandWalk(client, tmp_path)
    one.use(walk)
    assert set(one.commands) - walk.ran == set(), f"{name} says that it runs these, and did not"
    assert (walk.answers > 0) is one.asks_server


def check_that_every_command_has_a_use() -> None:
    used = {command for one in USES.values() for command in one.commands} | set(TESTED_IN)
    without = sorted(set(every_command()) - used)
    assert not without, (
        f"no test runs {', '.join(f'`dovetail {one}`' for one in without)} against a live server; add a function under "
        f'@uses("{without[0]}") to {Path(uses.__file__).relative_to(ROOT)}'
    )
    assert used <= set(every_command()), "uses of commands that do not exist"


def test_every_command_has_a_use() -> None:
    check_that_every_command_has_a_use()


def test_a_new_command_without_a_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "brand-new", CommandEntry("Work", "workloads.cancel", "A copy under another name."))
    with pytest.raises(AssertionError, match=r'no test runs `dovetail brand-new` .* @uses\("brand-new"\) to tests/'):
        check_that_every_command_has_a_use()


@pytest.mark.parametrize("command", TESTED_IN)
def test_the_file_that_is_named_runs_the_command(command: str) -> None:
    words = ", ".join(f'"{word}"' for word in command.split())
    assert words in (ROOT / TESTED_IN[command]).read_text()
