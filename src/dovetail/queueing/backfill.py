"""Settings of backfilling: which work may start while the head of the queue has to wait.

off           everything that fits starts
none          no work overtakes the head
easy          the head is promised its earliest start; work that does not delay it may start before
conservative  the first `depth` pending workloads are promised a start, and no work may delay them
"""

from typing import Annotated, Literal

from pydantic import Field

from dovetail.model.text.strict import Strict


class BackfillSettings(Strict):
    mode: Literal["off", "none", "easy", "conservative"] = "easy"
    candidates: Literal["queue", "arrival"] = Field(
        default="queue", description="the order in which work is tried behind a head that waits"
    )
    head: Literal["first", "sticky"] = Field(
        default="first", description="first: whoever sorts first now; sticky: who was head stays it until it starts"
    )
    spare: bool = Field(
        default=True, description="room that the head leaves over may be used beyond its start, not only until then"
    )
    run_times: Literal["declared", "expected"] = Field(
        default="declared", description="expected: declared run times corrected by what the owner's work took before"
    )
    depth: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="promises made when conservative")

    @property
    def strict(self) -> bool:
        return self.mode == "none"

    @property
    def promises(self) -> bool:
        return self.mode in ("easy", "conservative")
