"""Nodes are called what their systems call them, from the file that describes one to the database and back: addresses,
fully qualified names, names of the greatest length."""

import json
from pathlib import Path

import pytest
from tests.e2e.test_cli import Shell, serving
from tests.patience import wait_for

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

LONGEST = ".".join(["0" * 60] * 4) + ".example"
NAMES = {"address": "10.0.0.7", "digits-first": "0a.b-c.example", "longest": LONGEST}  # by the workload that runs there


def made(dovetail: Shell, folder: Path, work: str, name: str) -> None:
    """Registered, labelled, with work on it, some of it kept free, and its distance to another set."""
    file = folder / "node.yaml"
    file.write_text(f"name: {name}\ncapacity: {{cpu: 8, memory: 8GiB}}\n")
    assert dovetail("nodes", "register", "-f", str(file)).stdout == f"{name}: registered\n"
    dovetail("nodes", "label", name, "pool=x")
    dovetail("reserve", "add", name, "--cpu", "1", "--for", "1h")
    dovetail("distance", "set", name, "other", "12.5")
    workload = folder / "work.yaml"
    there = f"[{{require: 'node.name == \"{name}\"'}}]"
    workload.write_text(f"name: {work}\nresources: {{cpu: 1}}\nconstraints: {there}\nrun: {{command: [x]}}\n")
    dovetail("submit", "-f", str(workload))
    with Client(dovetail.url) as client:
        wait_for(lambda: client.node_tasks(name))


def looked_at(dovetail: Shell, work: str, name: str) -> None:
    assert name in dovetail("nodes", "-o", "wide").stdout
    shown = json.loads(dovetail("nodes", name, "-o", "json").stdout)
    assert (shown["name"], shown["labels"]["pool"], [task["name"] for task in shown["running"]]) == (name, "x", [work])
    for question in (("explain", work), ("why-not", work, name)):
        assert name in dovetail(*question).stdout.replace("\n", ""), "the longest is folded"
    with Client(dovetail.url) as client:
        assert client.distance(name, "other")["distance"] == 12.5
        assert [name] in [list(reservation["nodes"]) for reservation in client.reservations()]
        assert client.heartbeat(name)["run"][0]["name"] == work
        assert {line["node"] for line in client.past_events(node=name)} == {name}


def test_nodes_with_such_names_work_everywhere_and_are_there_after_a_restart(tmp_path: Path) -> None:
    assert len(LONGEST) <= 253
    data = tmp_path / "data"
    with serving(data) as (url, _):
        dovetail = Shell(url)
        other = tmp_path / "other.yaml"
        other.write_text("name: other\ncapacity: {cpu: 1}\n")
        dovetail("nodes", "register", "-f", str(other))
        for work, name in NAMES.items():
            made(dovetail, tmp_path, work, name)
            looked_at(dovetail, work, name)
    with serving(data) as (url, _):
        dovetail = Shell(url)
        for work, name in NAMES.items():
            looked_at(dovetail, work, name)
            dovetail("cordon", name)
            assert json.loads(dovetail("nodes", name, "-o", "json").stdout)["cordoned"]
            dovetail("uncordon", name)
            dovetail("drain", name)
            assert dovetail("nodes", "remove", name).stdout == f"{name}: removed\n"
            assert "no node" in dovetail("nodes", name, rc=4).stderr
