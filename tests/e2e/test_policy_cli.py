"""`dovetail policy`, `constraint` and `affinity` against a real server: what is typed, printed, and the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.e2e.test_cli import Shell, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

RULES = """\
name: calm
description: keep off busy nodes
constraints:
  - prefer: node.load < 0.5
    weight: 0.8
    adjust:
      - when: cluster.nodes >= 1
        off: true
---
name: apart
conflicts: [licence]
"""


@pytest.fixture(scope="module")
def dovetail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with serving(tmp_path_factory.mktemp("policies") / "data") as (url, _):
        yield Shell(url)


@pytest.fixture(scope="module")
def node(dovetail: Shell) -> str:
    return str(json.loads(dovetail("nodes", "-o", "json").stdout)[0]["name"])


def test_a_policy_from_first_version_to_its_end(dovetail: Shell) -> None:
    assert dovetail("policy").stdout == "no policies; make one with dovetail policy set\n"
    command = ("policy", "set", "quiet", "--prefer", "node.load < 0.5", "--weight", "0.3", "-n", "team-*")
    assert dovetail(*command, "--by", "ada", "--note", "noise").stdout == "policy quiet: version 1\n"
    assert dovetail(*command).stdout == "policy quiet is like that already: version 1\n"
    assert "team-*" in dovetail("policy").stdout
    dovetail("policy", "attach", "quiet", "--service", "shop/cart", "--workload", "db")
    shown = dovetail("policy", "quiet").stdout
    assert "namespace team-*; service shop/cart; workload db" in shown
    dovetail("policy", "detach", "quiet", "--workload", "db")
    assert "is not attached to workload db" in dovetail("policy", "detach", "quiet", "--workload", "db", rc=5).stderr
    history = dovetail("policy", "history", "quiet").stdout
    assert "quiet: 3 versions" in history
    assert "noise" in history
    first = yaml.safe_load(dovetail("policy", "show", "quiet", "--version", "1", "-o", "yaml").stdout)
    assert first["definition"]["weight"] == 0.3
    assert dovetail("policy", "violations", "quiet").stdout == "nothing runs against it\n"
    assert dovetail("policy", "delete", "quiet").stdout == "policy quiet deleted\n"
    assert "no policy 'quiet'" in dovetail("policy", "quiet", rc=4).stderr
    assert "removed" in dovetail("policy", "history", "quiet").stdout


def test_a_file_sets_several_policies_and_what_is_adjusted_is_shown(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    assert dovetail("policy", "set", str(file)).stdout == "policy calm: version 1\npolicy apart: version 1\n"
    assert "adjusted" in dovetail("policy", "list").stdout
    shown = dovetail("policy", "calm").stdout
    assert "because" in shown
    assert "cluster.nodes is 1" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert json.loads(dovetail("get", "policies", "-o", "json").stdout)[1]["in_force"][0]["demand"] == "off"
    assert dovetail("policy", "set", "-", stdin=RULES.split("---")[0]).stdout.startswith("policy calm is like that")


def test_mistakes_are_named_with_file_line_and_caret(dovetail: Shell, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: bad\nconstraints:\n  - require: node.laod < 0.5\n")
    said = dovetail("policy", "set", str(file), rc=2).stderr.splitlines()
    assert said[0].startswith(f"{file}:3: constraints[0].require: column 6: node has no field 'laod'")
    assert said[2].index("^") == said[1].index("laod")
    file.write_text("name: bad\nrequire: 'true'\nwieght: 1\n")
    assert f"{file}:3: wieght" in dovetail("policy", "set", str(file), rc=2).stderr
    assert "cannot be read" in dovetail("policy", "set", str(tmp_path / "none.yaml"), rc=2).stderr
    assert "command line: prefer: " in dovetail("policy", "set", "bad", "--prefer", "1 +", rc=2).stderr
    assert "--namespace" in dovetail("policy", "attach", "calm", rc=2).stderr


def test_a_policy_that_work_names_stays_until_the_work_has_ended(dovetail: Shell) -> None:
    dovetail("policy", "set", "named", "--require", 'node.labels.no == "such"')
    dovetail("submit", "-f", "-", stdin="name: namer\npolicies: [named]\nrun: {command: [sleep, '1']}\n")
    assert "default/namer" in dovetail("policy", "delete", "named", rc=5).stderr
    assert "policy named" in dovetail("explain", "namer").stdout
    dovetail("cancel", "namer")
    dovetail("policy", "delete", "named")
    refused = dovetail("submit", "-f", "-", stdin="name: namer\npolicies: [named]\n", rc=2).stderr
    assert "standard input:2: policies[0]: no policy 'named'" in refused


def test_an_expression_is_checked_without_being_used(dovetail: Shell, node: str, tmp_path: Path) -> None:
    assert dovetail("constraint", "check", f'node.name == "{node}"').stdout == "✓ good: satisfied by 1 of 1 node\n"
    none = dovetail("constraint", "check", 'node.name == "nobody"', rc=1).stdout
    assert "0 of 1 node" in none
    assert node in none
    wrong = dovetail("constraint", "check", "node.nam == 1", rc=2)
    assert wrong.stdout == ""
    words, text, caret = wrong.stderr.splitlines()
    assert words.startswith("✗ column 6")
    assert caret.index("^") == text.index("nam")
    assert not json.loads(dovetail("constraint", "check", "node.nam == 1", "-o", "json", rc=2).stdout)["ok"]
    file = tmp_path / "structure.yaml"
    file.write_text(f"left: node.name\noperator: eq\nright: {node}\n")
    found = json.loads(dovetail("constraint", "check", "-f", str(file), "-o", "json").stdout)
    assert found["text"] == f'node.name == "{node}"'
    assert found["structure"]["operator"] == "eq"
    assert "good" in dovetail("constraint", "check", "-f", "-", stdin="node.load <= 1.0\n").stdout
    assert "give an expression" in dovetail("constraint", "check", rc=2).stderr


def test_a_service_gets_its_nodes_and_loses_them_again(dovetail: Shell, node: str) -> None:
    done = dovetail("affinity", "set", "cart", node, "mars")
    assert done.stdout == f"default/cart prefers {node}, mars\n"
    assert done.stderr == "note: no node is named 'mars' now\n"
    assert dovetail("affinity", "avoid", "cart", "venus", "--required").stdout == "default/cart must not be on venus\n"
    listed = dovetail("affinity").stdout
    assert listed.startswith("2 rules\n")
    assert "must not be on" in listed
    assert dovetail("affinity", "clear", "cart").stdout == "default/cart: affinity and anti-affinity cleared\n"
    assert "has no affinity" in dovetail("affinity", "clear", "cart", rc=4).stderr
    assert "no service has an affinity" in dovetail("affinity", "list").stdout
