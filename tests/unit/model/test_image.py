"""Images have many names and one spelling; volumes say where they go."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.image import canonical, image_label, registry_of
from dovetail.model.workloads.workload import Workload


@pytest.mark.parametrize(
    "name",
    ["busybox", "busybox:latest", "library/busybox", "docker.io/busybox", "index.docker.io/library/busybox:latest"],
)
def test_names_of_one_image_have_one_spelling(name: str) -> None:
    assert canonical(name) == "busybox:latest"
    assert registry_of(name) == "docker.io"


@pytest.mark.parametrize(
    ("name", "spelled", "registry"),
    [
        ("team/tool:2", "team/tool:2", "docker.io"),
        ("localhost/tool", "localhost/tool:latest", "localhost"),
        ("r.example:5000/tool", "r.example:5000/tool:latest", "r.example:5000"),
        ("r.example/library/tool@sha256:ab", "r.example/library/tool@sha256:ab", "r.example"),
    ],
)
def test_other_images_keep_theirs(name: str, spelled: str, registry: str) -> None:
    assert canonical(name) == spelled
    assert registry_of(name) == registry


def test_a_name_that_is_no_label_has_none() -> None:
    assert image_label("tool") == "image/tool:latest"
    assert image_label("x" * 300) is None
    assert image_label("odd name") is None


@pytest.mark.parametrize(
    ("volumes", "words"),
    [
        ([{"source": "../x", "target": "/d"}], "leads upwards"),
        ([{"source": "/a/../x", "target": "/d"}], "leads upwards"),
        ([{"source": "a b", "target": "/d"}], "neither an absolute path nor a name"),
        ([{"source": "a", "target": "d"}], "not a folder of the container"),
        ([{"source": "a", "target": "/"}], "not a folder of the container"),
        ([{"source": "a", "target": "/d"}, {"source": "b", "target": "/d/"}], "is given twice"),
    ],
)
def test_volumes_that_make_no_sense_are_refused(volumes: list[dict[str, Any]], words: str) -> None:
    assert words in _complaint({"image": "tool", "volumes": volumes})


def test_volumes_need_a_container() -> None:
    assert "run.image" in _complaint({"command": ["true"], "volumes": [{"source": "a", "target": "/d"}]})


def _complaint(run: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        Workload.model_validate({"name": "w", "run": run})
    (complaint,) = complaints_of(caught.value, Workload)
    return str(complaint)
