"""Notices that a cloud takes this machine back: spot interruption, preemption, eviction.

Azure announces an eviction inside the machine only; the others say it there first. Whose machine it is, its firmware
tells.
"""

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict

ANSWERED_WITHIN_S = 5.0
FIRMWARE = Path("/sys/class/dmi/id")
#: By cloud: a file of the firmware's description, and what it says.
_SIGNS = {
    "ec2": ("sys_vendor", "Amazon EC2"),
    "azure": ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
    "gcp": ("product_name", "Google Compute Engine"),
}

_log = logging.getLogger(__name__)


class InterruptionSettings(Strict):
    cloud: Literal["auto", "none", "ec2", "azure", "gcp"] = "auto"
    """Whose machine this is; `auto`: what its firmware says, `none`: nobody is asked."""
    url: Annotated[str, Field(pattern=r"^http://[^\s]+$", max_length=500)] = "http://169.254.169.254"
    """The metadata service of the cloud."""
    every: Annotated[Duration, Field(ge=0.1, le=300)] = 5.0
    """How often it is asked. AWS gives two minutes of notice, Azure and Google half a minute."""


def cloud_of_machine(firmware: Path = FIRMWARE) -> str:
    for cloud, (file, sign) in _SIGNS.items():
        with contextlib.suppress(OSError):
            if (firmware / file).read_text(errors="replace").strip() == sign:
                return cloud
    return "none"


async def next_interruption(settings: InterruptionSettings) -> str | None:
    """Returns with the notice when there is one, however long that takes and whatever the service answers until then;
    None: the machine is no cloud's."""
    cloud = cloud_of_machine() if settings.cloud == "auto" else settings.cloud
    if cloud == "none":
        return None
    import httpx  # machines that are no cloud's need not load it

    from dovetail.agent.metadata_services import METADATA_SERVICES

    silent = False
    async with httpx.AsyncClient(base_url=settings.url, timeout=ANSWERED_WITHIN_S, trust_env=False) as http:
        service = METADATA_SERVICES[cloud](http)
        while True:
            try:
                notice = await service.notice()
            except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
                if not silent:
                    words = "no sensible answer from the metadata service of %s at %s, goes on asking: %r"
                    _log.warning(words, cloud, settings.url, error)
                silent = True
            else:
                silent = False
                if notice is not None:
                    return notice
            await asyncio.sleep(settings.every)
