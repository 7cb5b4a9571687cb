"""Routes that answer on a copy of the live state: the snapshot itself, what-if, and the preview of a profile."""

from hashlib import blake2b
from typing import Annotated, cast

from fastapi import Request
from pydantic import Field

from dovetail.api.copies import jobs
from dovetail.api.copies.workers import CopyDesk
from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json, JsonText
from dovetail.control.plane import ControlPlane
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict, closest
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.responses.snapshots import ProfilePreview, SnapshotBody, WhatIfAnswer
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.what_if import DEFAULT_HORIZON_S

MONTH_S = 31 * 86400.0
MOST_DECISIONS = 10_000

router = Routes()
_desk = CopyDesk()


class WhatIfQuestion(ClusterChanges):
    """Changes, and how far to look ahead."""

    horizon: Annotated[Duration, Field(gt=0, le=MONTH_S)] = DEFAULT_HORIZON_S
    seed: int = 0


class PreviewQuestion(Strict):
    """Which profile, by name or defined here, and how many of the last decisions to look at."""

    profile: str | ProfileSettings
    last: Annotated[Count, Field(ge=1, le=MOST_DECISIONS)] = 100


@router.get("/snapshot", tags=["system"])
async def snapshot(request: Request) -> JsonText[SnapshotBody]:
    """Everything that a simulation needs to go on from here, without secrets: a file for `dovetail simulate`. It is
    as of one step, and is made beside the server."""
    return JsonText(await _desk.ask(_caller(request), jobs.snapshot_file, await plane_of(request).copy()))


@router.post("/what-if", tags=["questions"], openapi_extra=takes(WhatIfQuestion))
async def what_if(request: Request) -> Json[WhatIfAnswer]:
    """What would be different with these changes: both futures are simulated on a copy of the live state, with run
    times as they usually are. Nothing is changed."""
    asked = await model_in(request, WhatIfQuestion)
    plane = plane_of(request)
    _check(plane, asked)
    changes = ClusterChanges.model_construct(**{name: getattr(asked, name) for name in ClusterChanges.model_fields})
    work = (await plane.copy(), changes, asked.horizon, asked.seed)
    return Json(cast("WhatIfAnswer", await _desk.ask(_caller(request), jobs.differences, *work)))


@router.post("/profiles/preview", tags=["profiles"], openapi_extra=takes(PreviewQuestion))
async def preview(request: Request) -> Json[ProfilePreview]:
    """Which of the last decisions would have been others with this profile as the default one, and what would add up.
    Looked at are tasks that still hold their nodes."""
    asked = await model_in(request, PreviewQuestion)
    plane = plane_of(request)
    changes = ClusterChanges(profile=asked.profile)
    _check(plane, changes)
    found = await _desk.ask(_caller(request), jobs.other_choices, await plane.copy(), changes, asked.last)
    return Json(cast("ProfilePreview", found))


def _check(plane: ControlPlane, changes: ClusterChanges) -> None:
    """What can be seen at once is said at once. Raises Invalid."""
    nodes = plane.questions.nodes
    named = [(f"remove_nodes[{index}]", name) for index, name in enumerate(changes.remove_nodes)]
    named += [(f"add_nodes[{index}].like", one.like) for index, one in enumerate(changes.add_nodes) if one.like]
    complaints = [
        Complaint(jobs.SOURCE, None, field, f"there is no node {name!r}.{closest(name, nodes.names)}")
        for field, name in named
        if name not in nodes
    ]
    if isinstance(changes.profile, str):
        known = plane.settings.scheduling.all_profiles()
        if changes.profile not in known:
            words = f"unknown profile {changes.profile!r}.{closest(changes.profile, known)} Known: {', '.join(known)}"
            complaints.append(Complaint(jobs.SOURCE, None, "profile", words))
    if complaints:
        raise Invalid(complaints)


def _caller(request: Request) -> str:
    """Tells callers apart without keeping what they log in with."""
    given = request.headers.get("Authorization") or request.headers.get("Cookie") or ""
    return blake2b(given.encode(), digest_size=16).hexdigest()
