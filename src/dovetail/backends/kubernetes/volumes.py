"""What a pod mounts for the volumes of its workload: folders of its node, and claims of its namespace by their name.

A source that is mounted in several places is one volume of the pod: a node does not mount a claim that stands twice
among them. Whether a folder may be seen at all is said by `backends/host_folders`, whether a claim is of use by
`claims`.
"""

from collections.abc import Sequence
from typing import Any

from dovetail.backends.host_folders import is_folder
from dovetail.model.workloads.workload import Volume


def pod_volumes(volumes: Sequence[Volume]) -> list[dict[str, Any]]:
    return [
        {"name": name, **_source(source, [volume for volume in volumes if volume.source == source])}
        for source, name in _names(volumes).items()
    ]


def mounts(volumes: Sequence[Volume]) -> list[dict[str, Any]]:
    """Of the container."""
    names = _names(volumes)
    return [
        {"name": names[volume.source], "mountPath": volume.target, "readOnly": volume.read_only} for volume in volumes
    ]


def claims_of(volumes: Sequence[Volume]) -> list[str]:
    """The names of claims, each once."""
    return list(dict.fromkeys(volume.source for volume in volumes if not is_folder(volume)))


def _names(volumes: Sequence[Volume]) -> dict[str, str]:
    """By source, in the order in which they are first mounted. Sources themselves are no names that the API takes."""
    sources = dict.fromkeys(volume.source for volume in volumes)
    return {source: f"volume-{number}" for number, source in enumerate(sources)}


def _source(source: str, uses: Sequence[Volume]) -> dict[str, Any]:
    if is_folder(uses[0]):
        # With its type said, a folder that is not there is an error; the node would make an empty one otherwise.
        return {"hostPath": {"path": source, "type": "Directory"}}
    # Read only as a whole where every use of it is: several nodes may have some volumes in no other way.
    return {"persistentVolumeClaim": {"claimName": source, "readOnly": all(use.read_only for use in uses)}}
