"""Route of profiles and schedulers: how this server can place work."""

from fastapi import Request

from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.placement.pipeline.profiles import BUILT_IN
from dovetail.responses.system import Profiles

router = Routes(prefix="/profiles", tags=["profiles"])


@router.get("")
async def profiles(request: Request) -> Json[Profiles]:
    """Profiles with their weights, and the schedulers that use them with the work that each may place."""
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
                    "filters": list(profile.all_filters),
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
