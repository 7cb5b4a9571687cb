"""The page about Kubernetes: its examples are accepted, and it names every setting of the backend and no other."""

import re
from pathlib import Path

import yaml

from dovetail.backends.kubernetes.naming import FINALIZER
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.kubernetes.objects.annotations import asked_in, own_of
from dovetail.kubernetes.objects.gangs import gang_in
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.workloads.reading import read_workloads
from dovetail.placement.registry import POD_FILTERS

PAGE = (Path(__file__).parents[3] / "docs" / "kubernetes.md").read_text()
SECTION = PAGE.partition("## As an execution backend")[2].partition("\n## ")[0]
EXAMPLES = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)


def test_the_settings_and_the_workload_are_accepted() -> None:
    entry = yaml.safe_load(EXAMPLES[0])["backends"]["cluster"]
    assert entry.pop("kind") == "kubernetes"
    KubernetesSettings.model_validate(entry)
    for example in EXAMPLES[1:3]:
        (workload,) = read_workloads(example, "kubernetes.md")
        assert workload.run.image is not None


def test_every_setting_stands_in_the_table() -> None:
    table = SECTION.partition("| setting | meaning |")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1] if line else "")}
    assert named == set(KubernetesSettings.model_fields)


def test_names_that_it_mentions_are_those_of_the_code() -> None:
    assert FINALIZER in SECTION


def test_the_settings_of_the_scheduler_are_accepted_and_place_by_the_profile_they_name() -> None:
    section = PAGE.partition("## As a scheduler")[2].partition("\n## ")[0]
    _, example, label, annotations = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert gang_in(yaml.safe_load(label)["metadata"]["labels"]) == "training"
    asked = asked_in(own_of(yaml.safe_load(annotations)["metadata"]["annotations"]))
    assert (asked.gang, asked.gang_min, len(asked.wants), asked.traffic) == ("training", 8, 2, (("db", 4000),))
    settings = KubernetesSchedulerSettings.model_validate(yaml.safe_load(example))
    profiles = {name: scheduler.profile for name, scheduler in settings.engine().schedulers.items()}
    assert profiles == {"k-dovetail": "kubernetes", "k-dovetail-packed": "packed"}
    assert settings.engine().profiles["packed"].filters == list(POD_FILTERS)
