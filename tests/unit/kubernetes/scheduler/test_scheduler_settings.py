"""Settings of the scheduler of pods."""

import pytest

from dovetail.engine.engine import Engine
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document
from dovetail.model.text.reading import check_documents
from dovetail.placement.registry import POD_FILTERS


def read(**data: object) -> KubernetesSchedulerSettings:
    return check_documents(KubernetesSchedulerSettings, [Document(data, "test")])[0]


@pytest.mark.parametrize("profile", ["kubernetes", "gpu_packing", "mine", "own"])
def test_whatever_profile_places_pods_has_the_filters_that_pods_need(profile: str) -> None:
    own = {"mine": {"scores": {"gpu_packing": 1}}, "own": {"filters": ["pod_spread"], "scores": {}}}
    settings = read(names={"dovetail": profile}, profiles=own)
    engine = Engine(settings.engine())
    names = {plugin.name for plugin in engine._state.pipelines[profile].evaluator.filters}
    assert set(POD_FILTERS) <= names


def test_a_profile_that_there_is_not_is_refused_by_the_name_that_asks_for_it() -> None:
    with pytest.raises(Invalid, match=r"unknown profile 'kubernets'\. Did you mean 'kubernetes'") as failure:
        read(names={"dovetail": "kubernets"})
    assert failure.value.complaints[0].field == "names.dovetail"


def test_names_that_kubernetes_allows_make_lines_of_the_engine() -> None:
    settings = read(names={"my.scheduler-2": "kubernetes", "other": "gpu_packing"})
    assert len(settings.engine().schedulers) == 2
