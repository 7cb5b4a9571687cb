"""The files for Prometheus and Grafana in deploy/: checked by promtool, and about metrics that the server has."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.servers.prometheus import promtool
from tools import grafana
from tools.metric_families import families

from dovetail.cli.command_table import COMMANDS

PROMETHEUS = Path(__file__).parents[3] / "deploy" / "prometheus"
DASHBOARD: dict[str, Any] = json.loads(grafana.FILE.read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SUFFIXES = ("_bucket", "_sum", "_count")


def rules(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = rules("alerts.yaml")
RECORDED = {rule["record"] for rule in rules("recording.yaml")}
EXPRESSIONS = [
    *(target["expr"] for panel in PANELS for target in panel["targets"]),
    *(rule["expr"] for rule in (*ALERTS, *rules("recording.yaml"))),
]


def test_promtool_accepts_the_rules_and_the_scrape_configuration(tmp_path: Path) -> None:
    promtool("check", "rules", "recording.yaml", "alerts.yaml", folder=PROMETHEUS)
    for name in ("prometheus.yaml", "recording.yaml", "alerts.yaml"):
        (tmp_path / name).write_text((PROMETHEUS / name).read_text())
    (tmp_path / "dovetail.token").write_text("a token")
    promtool("check", "config", "prometheus.yaml", folder=tmp_path)


def test_every_alert_fires_and_is_quiet_when_it_should_be() -> None:
    promtool("test", "rules", "alerts_test.yaml", folder=PROMETHEUS)
    tests = yaml.safe_load((PROMETHEUS / "alerts_test.yaml").read_text())["tests"]
    tried = [one for test in tests for one in test["alert_rule_test"]]
    named = {rule["alert"] for rule in ALERTS}
    assert {one["alertname"] for one in tried if one.get("exp_alerts")} == named, "one that is never seen to fire"
    assert {one["alertname"] for one in tried if not one.get("exp_alerts")} == named, "one that is never seen quiet"


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description"}
    for command in re.findall(r"dovetail ([a-z-]+)", rule["annotations"]["description"]):
        assert command in COMMANDS, f"there is no command dovetail {command}"


def test_every_expression_is_about_metrics_that_the_server_has() -> None:
    known = {one.name for one in families()} | RECORDED
    for expression in EXPRESSIONS:
        for name in re.findall(r"[a-z_:]*(?:dovetail|topology)_[a-z0-9_:]+", expression):
            plain = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)
            assert name in known or plain in known, f"{name} in {expression}"


def test_the_dashboard_is_as_the_panels_are_written() -> None:
    assert grafana.FILE.read_text() == grafana.text(), "run: make docs"


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for one, other in combinations([panel["gridPos"] for panel in DASHBOARD["panels"]], 2):
        apart = any(
            first[start] + first[size] <= second[start]
            for first, second in ((one, other), (other, one))
            for start, size in (("x", "w"), ("y", "h"))
        )
        assert apart, f"{one} and {other} overlap"
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in PANELS)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_the_chosen_data_source_about_the_chosen_servers(panel: dict[str, Any]) -> None:
    assert panel["description"]
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == panel["datasource"]["uid"] == "${datasource}"
        selectors = re.findall(r"\{([^}]*)\}", target["expr"])
        assert selectors
        assert all(one.startswith('job="$job", instance=~"$instance"') for one in selectors), target["expr"]
