"""Route of profiles and schedulers: the ways to decide that this server knows."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api.body import plane_of
from dovetail.api.replies import Json
from dovetail.placement.pipeline.profiles import BUILT_IN

router = APIRouter(prefix="/profiles", tags=["profiles"])


@router.get("")
async def profiles(request: Request) -> Response:
    """Profiles with their weights, and the schedulers that use them with what each may decide about."""
    settings = plane_of(request).settings.scheduling
    return Json(
        {
            "default": settings.default_profile,
            "profiles": [
                {
                    "name": name,
                    "default": name == settings.default_profile,
                    "built_in": profile is BUILT_IN.get(name),
                    "order": profile.order,
                    "select": profile.select,
                    "filters": profile.all_filters,
                    "scores": profile.scores,
                }
                for name, profile in settings.all_profiles().items()
            ],
            "schedulers": [
                {
                    "name": name,
                    "profile": scheduler.profile or settings.default_profile,
                    "namespaces": scheduler.namespaces,
                    "node_selector": scheduler.node_selector,
                }
                for name, scheduler in settings.all_schedulers().items()
            ],
        }
    )
