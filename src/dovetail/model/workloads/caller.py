"""Who submits a workload, and from where: for workloads that do not say otherwise."""

from typing import Any

from dovetail.model.text.strict import MAX_NAME, NAME
from dovetail.model.workloads.workload import Workload


def submitted_by(workload: Workload, user: str | None, folder: str | None) -> Workload:
    """The workload with the user as its `user` and the folder as its `run.submit_dir`. Only commands without an image
    have the latter. A name that no workload can have and a path that is not absolute are left out."""
    changes: dict[str, Any] = {}
    run = workload.run
    if workload.user is None and user is not None and len(user) <= MAX_NAME and NAME.fullmatch(user):
        changes["user"] = user
    is_plain = run.command and run.image is None and run.workdir is None and run.submit_dir is None
    if is_plain and folder is not None and folder.startswith("/") and "\0" not in folder:
        changes["run"] = run.model_copy(update={"submit_dir": folder})
    return workload.model_copy(update=changes) if changes else workload
