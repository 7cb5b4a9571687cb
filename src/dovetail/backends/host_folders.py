"""Which folders of the host a workload may mount: those that the backend's settings allow, and all below them.

One rule for every backend that mounts folders. It checks the path as it is written, which the model keeps free of
`..`. Symbolic links are followed at mount time, so allowing a folder also allows everything its links lead to. Named
volumes, and how a volume is mounted, are left to the backend.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from dovetail.backends.contract import WorkloadRefusal
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY
from dovetail.model.text.strict import shown
from dovetail.model.workloads.run import Volume
from dovetail.model.workloads.workload import Workload


def _check_folder(path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        raise ValueError(f"{shown(path)} is not an absolute path without '..'")
    return path


#: The type of the setting `allow_paths`. An empty list allows no folder.
AllowedFolders = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=3000), AfterValidator(_check_folder)]],
    Field(max_length=100),
    SETTINGS_FILE_ONLY,
]


def is_folder(volume: Volume) -> bool:
    """Whether it is a folder of the host and not a named volume."""
    return volume.source.startswith("/")


def refuse_other_folders(spec: Workload, allow_paths: Sequence[str]) -> None:
    """Raises WorkloadRefusal for the first folder of the host that is not below an allowed one."""
    for volume in spec.run.volumes:
        if is_folder(volume) and not _is_below(volume.source, allow_paths):
            raise WorkloadRefusal(
                f"workload {spec.name!r} wants the host's folder {volume.source}, which is not below any of "
                "allow_paths of this backend; use a named volume, or let the folder be added there"
            )


def _is_below(source: str, paths: Sequence[str]) -> bool:
    return any(f"{source.rstrip('/')}/".startswith(f"{path.rstrip('/')}/") for path in paths)
