"""The machine of the control plane runs work only while there is no other backend, unless somebody asks for it."""

from pathlib import Path
from typing import Any

from tests.patience import wait_for
from tests.unit.api.server import serving

from dovetail.client import Client
from dovetail.control.settings import Settings

LAB = {"kind": "simulated", "forever": True, "groups": [{"prefix": "lab", "count": 1}]}
OTHER = {"kind": "simulated", "forever": True, "groups": [{"prefix": "other", "count": 1}]}


def settings_of(folder: Path, **more: Any) -> Settings:
    return Settings.model_validate({"data": str(folder), "logging": {"level": "error", "decisions": False}, **more})


def own_node(client: Client) -> dict[str, Any]:
    (found,) = [row for row in client.nodes() if row["backend"] == "local"]
    return dict(found)


def run_one(client: Client, name: str) -> str:
    """The backend of the node that a job goes to."""
    client.submit([{"name": name, "run": {"command": ["true"]}}])
    tasks = wait_for(lambda: found if (found := client.tasks(name))[0]["node"] else None, f"{name} to be placed")
    return next(row["backend"] for row in client.nodes() if row["name"] == tasks[0]["node"])


def test_it_steps_back_for_the_first_backend_that_is_added_and_says_so(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    with serving(settings) as url, Client(url) as client:
        assert run_one(client, "alone") == "local"
        (note,) = client.add_backend("lab", LAB)["notes"]
        node = own_node(client)
        assert note.startswith(
            f"{node['name']} takes no new work from now on: this is the machine of the control plane"
        )
        assert note.endswith(f"dovetail uncordon {node['name']} lets it take work too")
        assert node["status"] == "cordoned"
        assert run_one(client, "with-a-lab") == "lab"
    with serving(settings) as url, Client(url) as client:
        assert own_node(client)["status"] == "cordoned", "it holds after a restart"
        client.remove_backend("lab", force=True)
        assert own_node(client)["status"] == "online", "nothing else could run work"


def test_an_operator_who_uncordons_it_is_not_overruled(tmp_path: Path) -> None:
    with serving(settings_of(tmp_path)) as url, Client(url) as client:
        client.add_backend("lab", LAB)
        client.uncordon(own_node(client)["name"])
        assert client.add_backend("other", OTHER)["notes"] == []
        assert own_node(client)["status"] == "online"


def test_where_the_settings_name_it_it_takes_work_beside_others(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, backends={"local": {"kind": "local"}})
    with serving(settings) as url, Client(url) as client:
        assert client.add_backend("lab", LAB)["notes"] == []
        assert own_node(client)["status"] == "online"
