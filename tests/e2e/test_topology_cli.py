"""`dovetail topology` and `distance` against a real server: what is typed, printed, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.test_cli import Shell, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

NODES = "\n---\n".join(f"name: n{i}\ncapacity: {{cpu: 8, gpu: 8}}\n" for i in range(1, 5))
SLURM = "SwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n[3-4,9]\nSwitchName=s1 Switches=l[1-2]\n"


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("network")
    with serving(folder / "data") as (url, _):
        shell = Shell(url)
        (folder / "nodes.yaml").write_text(NODES)
        shell("nodes", "register", "-f", str(folder / "nodes.yaml"))
        yield shell


def test_a_topology_is_described_drawn_and_forgotten(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_text(SLURM)
    answer = dovetail("topology", "set", str(file))
    assert answer.stdout.splitlines()[1].split()[:2] == ["spine", "1"]
    assert "1 of the hosts described are no nodes (yet): n9" in answer.stderr
    tree = dovetail("topology", "--gpus", "4").stdout
    assert "leaf l1" in tree
    assert "16/16 GPUs free" in tree
    assert "fits 4 tasks" in tree
    assert "n3" in tree
    assert "n3" not in dovetail("topology", "--level", "leaf").stdout
    found = json.loads(dovetail("topology", "-o", "json").stdout)
    assert [domain["name"] for domain in found["domains"]] == ["s1", "l1", "l2"]
    again = tmp_path / "again.yaml"
    again.write_text(dovetail("topology", "show").stdout)
    assert dovetail("topology", "set", str(again)).stdout == answer.stdout
    assert "Levels: spine, leaf" in dovetail("topology", "--level", "row", rc=4).stderr
    assert dovetail("topology", "clear").stdout == "topology cleared\n"
    assert "leaf" not in dovetail("topology").stdout.splitlines()[0]


def test_a_mistake_in_a_file_is_named_with_its_line(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "bad.conf"
    file.write_text("SwitchName=l1 Nodes=n[1-2]\nSwitchName=l1 Nodes=n3\n")
    assert f"{file}:2: SwitchName: 'l1' is already in line 1" in dovetail("topology", "set", str(file), rc=2).stderr
    assert "cannot be read" in dovetail("topology", "set", str(tmp_path / "none.yaml"), rc=2).stderr


def test_distances_are_set_told_exported_and_imported(dovetail: Shell, tmp_path: Path) -> None:
    assert "set by hand" in dovetail("distance").stdout
    assert dovetail("distance", "set", "n1", "n2", "25").stdout == "n1 and n2: 25 apart\n"
    assert "25 (set by hand)" in dovetail("distance", "get", "n2", "n1").stdout
    table = tmp_path / "distances.csv"
    table.write_text(dovetail("distance", "export").stdout)
    assert table.read_text() == "from,to,distance\nn1,n2,25\n"
    listed = tmp_path / "distances.json"
    listed.write_text(dovetail("distance", "-o", "json").stdout)
    assert dovetail("distance", "clear", "n2", "n1").stdout == "1 distance cleared\n"
    for file in (table, listed):
        assert dovetail("distance", "import", str(file)).stdout == "1 distance set\n"
        assert dovetail("distance", "clear", "--all").stdout == "1 distance cleared\n"


def test_mistakes_in_files_that_the_server_reads_have_their_file_and_line(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "written"
    file.write_text("from,to,distance\nnode-1,node-2,5\nnode-1,node-3,far\n")
    assert f"{file}:3: distance: " in dovetail("distance", "import", str(file), rc=2).stderr
    file.write_text('[{"from": "node-1", "to": "node-2"}]')
    assert f"{file}:1: items[0].distance: is required" in dovetail("distance", "import", str(file), rc=2).stderr
    file.write_text("name: joins\ncapacity: {cpu: many}\n")
    assert f"{file}:2: capacity.cpu: " in dovetail("nodes", "register", "-f", str(file), rc=2).stderr


def test_distances_that_make_no_sense_are_refused(dovetail: Shell) -> None:
    assert "no node 'n77'" in dovetail("distance", "set", "n1", "n77", "25", rc=4).stderr
    dovetail("distance", "set", "n1", "n2", "101", rc=2)
    assert "name two nodes, or give --all" in dovetail("distance", "clear", rc=2).stderr
