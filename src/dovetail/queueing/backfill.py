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
        default="queue", description="the order in which work behind a waiting head is tried"
    )
    head: Literal["first", "sticky"] = Field(
        default="first",
        description="first: the workload that sorts first now; sticky: a head stays head until it starts",
    )
    spare: bool = Field(
        default=True, description="work may use capacity that the head leaves free after its start, not only before it"
    )
    run_times: Literal["declared", "expected"] = Field(
        default="declared", description="expected: declared run times corrected by the owner's past run times"
    )
    depth: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=100, description="the number of promises in conservative mode"
    )

    @property
    def strict(self) -> bool:
        return self.mode == "none"

    @property
    def promises(self) -> bool:
        return self.mode in ("easy", "conservative")
