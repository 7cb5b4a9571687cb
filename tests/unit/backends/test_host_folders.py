"""Which folders of their hosts workloads may see, whatever backend mounts them."""

import pytest
from pydantic import TypeAdapter, ValidationError

from dovetail.backends.contract import Refusal
from dovetail.backends.host_folders import AllowedFolders, refuse_other_folders
from dovetail.model.workloads.workload import Workload


def wanting(*sources: str) -> Workload:
    volumes = [{"source": source, "target": f"/seen/{number}"} for number, source in enumerate(sources)]
    return Workload.model_validate({"name": "w", "run": {"image": "tool", "volumes": volumes}})


@pytest.mark.parametrize("allowed", ["/data", "/data/", "/"])
@pytest.mark.parametrize("source", ["/data", "/data/", "/data/in/deep", "/data/./in"])
def test_an_allowed_folder_may_be_seen_with_all_that_is_below_it(allowed: str, source: str) -> None:
    refuse_other_folders(wanting(source), [allowed])


@pytest.mark.parametrize("source", ["/", "/database", "/etc", "/dat"])
def test_every_other_folder_is_refused_with_the_setting_that_would_allow_it(source: str) -> None:
    with pytest.raises(Refusal, match=f"'w' wants the host's folder {source}, which is not below any of allow_paths"):
        refuse_other_folders(wanting("/data/in", source), ["/srv", "/data"])


def test_volumes_with_a_name_need_no_leave() -> None:
    refuse_other_folders(wanting("data", "etc"), [])


@pytest.mark.parametrize("path", ["data", "/data/../etc", ""])
def test_only_absolute_paths_that_do_not_lead_upwards_can_be_allowed(path: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(AllowedFolders).validate_python([path])
