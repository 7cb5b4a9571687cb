"""The page about Kubernetes, as an extender: its example is what we deploy, and it names every setting and no other."""

import re
from pathlib import Path

import yaml

from dovetail.kubernetes.extender.refused_pods import CONDITION
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings

ROOT = Path(__file__).parents[3]
SECTION = (ROOT / "docs" / "kubernetes.md").read_text().partition("## As an extender")[2].partition("\n## ")[0]


def test_the_example_is_what_is_deployed() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
    manifest = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "kube-scheduler-with-extender.yaml").read_text())
    deployed = yaml.safe_load(manifest["data"]["config.yaml"])
    (extender,) = deployed["extenders"]
    shown = yaml.safe_load(example)
    assert shown["percentageOfNodesToScore"] == deployed["percentageOfNodesToScore"]
    assert shown["extenders"] == [{key: value for key, value in extender.items() if key != "httpTimeout"}]


def test_every_setting_of_its_own_stands_in_the_table() -> None:
    table = SECTION.partition("| setting | meaning |")[2].partition("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(named) == set(KubernetesExtenderSettings.model_fields) - set(KubernetesSchedulerSettings.model_fields)


def test_the_condition_that_it_mentions_is_that_of_the_code() -> None:
    assert f"`{CONDITION}`" in SECTION
