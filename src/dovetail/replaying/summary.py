"""Everything a replay found, as plain data, and in a few sentences."""

from dataclasses import asdict, dataclass
from typing import Any

from dovetail.model.text.listing import count
from dovetail.placement.pipeline.profiles import UnknownProfile
from dovetail.replaying.alternative import Alternative, Progress, play_alternative
from dovetail.replaying.day import RecordedDay
from dovetail.replaying.differences import DayDifferences, compare_days
from dovetail.replaying.reproduction import Reproduction
from dovetail.replaying.run_facts import RunFacts
from dovetail.simulate.run_figures import RunFigures, figures_of_simulation

RECORDED = "recorded"


class NoSuchProfile(ValueError):
    """The settings of the day have no profile of that name: lists those that it has."""


@dataclass(frozen=True, slots=True)
class OtherProfile:
    """`baseline`: the day's own profile, played in the same way as the other one."""

    profile: str
    own_profile: str
    baseline: Alternative
    other: Alternative
    differences: DayDifferences


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    day: RecordedDay
    found: Reproduction
    compared: OtherProfile | None = None

    def figures(self) -> dict[str, RunFigures]:
        """By column: recorded, the own profile played again, the other one."""
        assert self.found.outcome is not None
        columns = {RECORDED: figures_of_simulation(self.found.outcome)}
        if self.compared is not None:
            one = self.compared
            columns[f"{one.own_profile} again"] = figures_of_simulation(one.baseline.outcome)
            columns[one.profile] = figures_of_simulation(one.other.outcome)
        return columns

    def sentences(self) -> list[str]:
        found = self.found
        all_of = "All" if found.equal == found.decisions else f"{found.equal:,} of"
        said = [f"{all_of} {count(found.decisions, 'recorded decision')} came out the same when decided again."]
        if self.compared is not None:
            differs = self.compared.differences
            part = f"{len(differs.elsewhere):,} of {count(differs.placements, 'placement')}"
            said.append(f"{self.compared.profile} would have made {part} differently.")
            said.append(_changed(self.compared))
        return said

    def to_dict(self) -> dict[str, Any]:
        found = self.found
        answer: dict[str, Any] = {
            "begins": self.day.begins,
            "ends": self.day.ends,
            "answer": " ".join(self.sentences()),
            "decisions": found.decisions,
            "equal": found.equal,
            "restarts": found.restarts,
            "unlike": [
                {
                    "at": one.at,
                    "recorded": None if one.recorded is None else one.recorded._asdict(),
                    "replayed": None if one.replayed is None else one.replayed._asdict(),
                    "why": one.why,
                }
                for one in found.unlike
            ],
            "profile": None,
            "placements": len(found.placements),
            "totals": {name: figures["numbers"] for name, figures in self.figures().items()},
        }
        if self.compared is not None:
            differs = self.compared.differences
            answer |= {
                "profile": self.compared.profile,
                "own_profile": self.compared.own_profile,
                "placements": differs.placements,
                "same": differs.same,
                "by_model": differs.by_model,
                "assumed_run_times": self.compared.other.assumed,
                "elsewhere": [asdict(one) for one in differs.elsewhere],
            }
        return answer


def _changed(compared: OtherProfile) -> str:
    """Against the own profile played in the same way: `wait 12.0 s instead of 14.1 s, …`."""
    was, now = compared.baseline.outcome, compared.other.outcome
    parts = []
    if was.waits.mean_s is not None and now.waits.mean_s is not None:
        parts.append(f"the mean wait {now.waits.mean_s:.3g} s instead of {was.waits.mean_s:.3g} s")
    for name in ("gpu", "cpu"):
        before, after = was.utilisation.get(name), now.utilisation.get(name)
        if before is not None and after is not None and before.peak:
            parts.append(f"{name} use {after.mean:.1%} instead of {before.mean:.1%}")
            break
    parts.append(f"{now.preemptions} preemptions instead of {was.preemptions}")
    return f"That would have made {', '.join(parts)}."


def with_profile(
    day: RecordedDay, found: Reproduction, profile: str, progress: Progress | None = None
) -> ReplaySummary:
    """Raises NoSuchProfile."""
    settings = day.settings
    known = settings.all_profiles()
    if profile not in known:
        raise NoSuchProfile(str(UnknownProfile(profile, list(known))))
    facts = RunFacts.of(day)
    baseline = play_alternative(day, settings, facts, progress)
    other = play_alternative(day, settings.model_copy(update={"default_profile": profile}), facts, progress)
    differences = compare_days(found, baseline, other)
    return ReplaySummary(day, found, OtherProfile(profile, settings.default_profile, baseline, other, differences))
