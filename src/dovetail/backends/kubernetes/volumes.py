"""What a pod mounts for the volumes of its workload: folders of its node, and claims of its namespace by name.

A source that is mounted in several places is one volume of the pod: a node rejects a claim that is listed twice.
Allowed folders are checked by `backends/host_folders`, claims by `claims`.
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
    """The mounts of the container."""
    names = _names(volumes)
    return [
        {"name": names[volume.source], "mountPath": volume.target, "readOnly": volume.read_only} for volume in volumes
    ]


def claims_of(volumes: Sequence[Volume]) -> list[str]:
    """The names of claims, each once."""
    return list(dict.fromkeys(volume.source for volume in volumes if not is_folder(volume)))


def _names(volumes: Sequence[Volume]) -> dict[str, str]:
    """Volume names by source, in the order of first use. Sources are not valid names in the API."""
    sources = dict.fromkeys(volume.source for volume in volumes)
    return {source: f"volume-{number}" for number, source in enumerate(sources)}


def _source(source: str, uses: Sequence[Volume]) -> dict[str, Any]:
    if is_folder(uses[0]):
        # With a type, a missing folder is an error; otherwise the node would create an empty one.
        return {"hostPath": {"path": source, "type": "Directory"}}
    # Read-only if every use is: some volumes can be shared by nodes only that way.
    return {"persistentVolumeClaim": {"claimName": source, "readOnly": all(use.read_only for use in uses)}}
