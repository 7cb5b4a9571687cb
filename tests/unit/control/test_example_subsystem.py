"""The example of a subsystem does what its README says: found through the entry point of its own pyproject.toml, run
by a real server, with its table, route, metric, command and settings."""

import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, serving, settings_in

from dovetail.cli import command_table
from dovetail.cli.main import app
from dovetail.control.settings import load_settings
from dovetail.model.text.complaint import Invalid

EXAMPLE = Path(__file__).parents[3] / "examples" / "dovetail-placement-counts"
NAME = "placement_counts"


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `pip install` would leave it, for the length of a test."""
    project: dict[str, Any] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "installed" / "dovetail_placement_counts-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["dovetail.subsystems"].items()
    (info / "entry_points.txt").write_text("[dovetail.subsystems]\n" + "".join(f"{k} = {v}\n" for k, v in points))
    for folder in (info.parent, EXAMPLE / "src"):
        monkeypatch.syspath_prepend(str(folder))
    command_table.installed.cache_clear()
    yield
    monkeypatch.undo()
    command_table.installed.cache_clear()


def submit(url: str, name: str, replicas: int) -> None:
    body = {"name": name, "replicas": replicas, "resources": {"cpu": 1}}
    assert httpx.post(f"{url}{API}/workloads", auth=OWN_TOKEN, json=body, timeout=60).status_code == 201


def counts(url: str) -> dict[str, int]:
    def answer() -> httpx.Response | None:
        found = httpx.get(f"{url}{API}/subsystems/{NAME}", auth=OWN_TOKEN, timeout=60)
        assert found.status_code in (200, 503), found.text
        return found if found.status_code == 200 else None

    found: dict[str, int] = wait_for(answer, "its tables are open").json()
    return found


def test_table_route_metric_command_and_event_against_a_live_server(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data", subsystems={NAME: {"cordon_after": 5}})
    with serving(settings) as url:
        submit(url, "a", 4)
        wait_for(lambda: sum(counts(url).values()) == 4, "four placements are counted")
        node, count = max(counts(url).items(), key=lambda item: item[1])
        metrics = httpx.get(f"{url}/metrics", auth=OWN_TOKEN, timeout=60).text
        assert f'placement_counts_total{{node="{node}"}} {count:.1f}' in metrics
        assert f'dovetail_subsystem_up{{subsystem="{NAME}"}} 1.0' in metrics
        printed = CliRunner().invoke(app, ["placement-counts", "--url", url])
        assert f"{node}  {count}" in printed.stdout
        assert f"{API}/subsystems/{NAME}" in httpx.get(f"{url}/openapi.json", auth=OWN_TOKEN, timeout=60).text
        submit(url, "b", 24)
        wait_for(lambda: any(n["cordoned"] for n in nodes(url)), "its event cordons a node")
    with serving(settings) as url:
        assert sum(counts(url).values()) == 28, "the table is there after a restart"
    with sqlite3.connect(tmp_path / "data" / "subsystems" / NAME / "tables.db") as database:
        assert database.execute(f"select * from {NAME}_version").fetchall() == [("placement_counts_0001",)]


def nodes(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{url}{API}/nodes", auth=OWN_TOKEN, timeout=60).json()["items"]
    return found


def test_its_settings_file_is_valid_and_its_settings_are_checked_at_start(tmp_path: Path) -> None:
    assert load_settings(EXAMPLE / "dovetail.yaml", {}).subsystems == {NAME: {"cordon_after": 1000}}
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(f"subsystems: {{{NAME}: {{cordon_after: soon}}}}\n")
    with pytest.raises(Invalid) as refused:
        load_settings(wrong, {})
    assert refused.value.complaints[0].field == f"subsystems.{NAME}"
    assert "cordon_after" in refused.value.complaints[0].message


def test_its_command_is_listed_and_found() -> None:
    listed = CliRunner().invoke(app, ["--help"]).stdout
    assert "How many tasks were placed on each node." in listed
    assert CliRunner().invoke(app, ["placement-counts", "--help"]).exit_code == 0


def test_tables_of_a_newer_version_fail_the_subsystem_and_nothing_else(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data", subsystems={NAME: {}})
    with serving(settings) as url:
        counts(url)
    with sqlite3.connect(tmp_path / "data" / "subsystems" / NAME / "tables.db") as database:
        database.execute(f"update {NAME}_version set version_num = 'from_the_future'")
    with serving(settings) as url:
        detail = wait_for(
            lambda: httpx.get(f"{url}/health", auth=OWN_TOKEN, timeout=60).json()["detail"], "health says what is wrong"
        )
        assert "was written by a newer version" in detail
        submit(url, "a", 1)
