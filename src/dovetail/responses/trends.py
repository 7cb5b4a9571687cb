"""Answers about how the cluster was over time."""

from typing_extensions import TypedDict


class TrendSeries(TypedDict):
    """`unit`: share (0 to 1), cores, bytes, GPUs, pieces, workloads, s, ms, 1/s or 1/min. A value is null where nothing
    was recorded: the server did not run then, or there is no such thing."""

    title: str
    unit: str
    values: list[float | None]


TrendAnswer = TypedDict(
    "TrendAnswer",
    {
        "from": float,  # a time, as all of `times`: the beginning of each step
        "step_s": float,
        "times": list[float],
        "series": dict[str, TrendSeries],
        "groups": dict[str, dict[str, list[float | None]]],  # of `waiting_by_queue` and `use_by_domain`, by name
    },
)
