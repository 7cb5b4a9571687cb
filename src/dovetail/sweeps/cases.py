"""The cases of a sweep: every combination of variant and seed, small enough to be sent to other processes.

Guarantees: a case and its source give the same figures wherever they run. `SweepCase.key` names the case, its source
and the version of this program: equal keys have equal figures, so what was run before need not be run again.
"""

import itertools
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson
from pydantic import ValidationError

from dovetail import __version__
from dovetail.engine.settings import EngineSettings
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.document import Document, Path
from dovetail.model.text.reading import check_documents, only_document
from dovetail.model.text.strict import closest
from dovetail.model.text.validation_errors import complaints_of
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.cases import CaseFile, SimulationCase, simulation_of_snapshot
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.policies import Backfill, policy_named
from dovetail.simulate.replay import Simulation
from dovetail.simulate.run_figures import RunFigures, figures_of_batch, figures_of_simulation
from dovetail.simulate.scenario import Scenario, read_scenario
from dovetail.simulate.swf import BatchLog, TooShort, read_swf, sequences
from dovetail.snapshots.document import SnapshotDocument
from dovetail.snapshots.file import read_snapshot
from dovetail.sweeps.definition import MOST_CASES, Sweep

QUOTE = '"'
FORMAT = 1  # of the figures: counts up when a figure changes its meaning


@dataclass(frozen=True, slots=True)
class SweepSource:
    """A file as it was read. Sent once to each process, however many cases it runs."""

    kind: str  # "scenario", "snapshot" or "swf"
    name: str
    data: bytes

    @property
    def digest(self) -> str:
        return blake2b(self.data, digest_size=16, person=self.kind.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SweepCase:
    """`variant`: the name of everything but the seed. `weights`: of scores of the profile, by name. `values`: of
    fields of the scenario, by path; JSON, because they may be mappings."""

    variant: str
    seed: int
    source: str  # the digest of its source
    profile: str | None = None
    weights: tuple[tuple[str, float], ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    policy: str | None = None
    backfill: Backfill | None = None
    sequences: int = 1
    length: int = 0

    @property
    def key(self) -> str:
        said = orjson.dumps([asdict(self), FORMAT, __version__], option=orjson.OPT_SORT_KEYS)
        return blake2b(said, digest_size=16).hexdigest()


def cases_of(sweep: Sweep, document: Document, source: SweepSource) -> list[SweepCase]:
    """In the order of the file, the seeds of a variant together. Raises Invalid for a combination that cannot be
    played, with the line in the sweep file."""
    if source.kind == "swf":
        found = list(_batch_cases(sweep, document, source))
    else:
        found = list(_scenario_cases(sweep, document, source))
    return found


def run_case(case: SweepCase, source: SweepSource) -> RunFigures:
    """A pure function: no clock, no files, nothing shared."""
    if case.policy is not None:
        return _run_batch(case, source)
    return _run_snapshot(case, source) if source.kind == "snapshot" else _run_scenario(case, source)


# --- scenarios -------------------------------------------------------------------------------------------------


def _scenario_cases(sweep: Sweep, document: Document, source: SweepSource) -> Iterator[SweepCase]:
    if source.kind == "snapshot":
        settings_of_source, first_seed = _snapshot_of(source).settings, 0
    else:
        scenario = read_scenario(source.data, source.name)
        settings_of_source, first_seed = scenario.settings, scenario.seed
    profiles = sweep.profiles or list(sweep.weights) or [settings_of_source.default_profile]
    known = settings_of_source.all_profiles()
    for index, profile in enumerate(profiles):
        if profile not in known:
            words = f"unknown profile {profile!r}.{closest(profile, known)} Known: {', '.join(known)}"
            path: Path = ("profiles", index) if sweep.profiles else ("weights", profile)
            raise _wrong(document, path, words)
    seeds = sweep.seed_list(first_seed)
    weighted = [(p, weights) for p in dict.fromkeys(profiles) for weights in _combinations(sweep.weights.get(p, {}))]
    settings = list(_combinations(sweep.grid))
    _check_count(document, len(weighted) * len(settings) * len(seeds))
    _check_values(sweep, document, source)
    checked: set[tuple[str, tuple[Any, ...]]] = set()
    for profile, weights in weighted:
        for values in settings:
            texts = tuple((path, orjson.dumps(value).decode()) for path, value in values)
            case = SweepCase(_named(sweep, profile, weights, texts), 0, source.digest, profile, weights, texts)
            if (profile, weights) not in checked:
                checked.add((profile, weights))
                _check_weights(case, known, document)
            for seed in seeds:
                yield SweepCase(case.variant, seed, case.source, profile, weights, texts)


def _combinations(choices: Mapping[str, list[Any]]) -> Iterator[tuple[tuple[str, Any], ...]]:
    return (tuple(zip(choices, chosen, strict=True)) for chosen in itertools.product(*choices.values()))


def _named(
    sweep: Sweep, profile: str, weights: tuple[tuple[str, float], ...], texts: tuple[tuple[str, str], ...]
) -> str:
    """The profile, and what else differs from variant to variant."""
    varied = sweep.weights.get(profile, {})
    parts = [f"{score} {weight:g}" for score, weight in weights if len(varied[score]) > 1]
    parts += [f"{path} {text.strip(QUOTE)}" for path, text in texts if len(sweep.grid[path]) > 1]
    return f"{profile} ({', '.join(parts)})" if parts else profile


def _check_count(document: Document, cases: int) -> None:
    if cases > MOST_CASES:
        raise _wrong(document, (), f"has {cases} cases; the most is {MOST_CASES}: vary less, or take fewer seeds")


def _check_values(sweep: Sweep, document: Document, source: SweepSource) -> None:
    """Each value alone: a wrong one is named with its line, and there are far fewer than combinations."""
    complaints: list[Complaint] = []
    for path, values in sweep.grid.items():
        for index, value in enumerate(values):
            place: Path = ("grid", path, index)
            try:
                data = _with_values(source, [(path, value)])
                check_documents(Scenario, [Document(data, source.name)])
            except NoSuchField as error:
                complaints.append(_complaint(document, ("grid", path), str(error)))
                break
            except Invalid as invalid:
                words = "; ".join(f"{one.field}: {one.message}" for one in invalid.complaints[:3])
                complaints.append(_complaint(document, place, f"the scenario cannot have this value: {words}"))
    if complaints:
        raise Invalid(complaints)


def _check_weights(case: SweepCase, known: Mapping[str, ProfileSettings], document: Document) -> None:
    assert case.profile is not None
    profile = known[case.profile]
    for score, _ in case.weights:
        if score not in profile.scores:
            words = (
                f"is no score of {case.profile}.{closest(score, profile.scores)} It has: {', '.join(profile.scores)}"
            )
            raise _wrong(document, ("weights", case.profile, score), words)


def _run_scenario(case: SweepCase, source: SweepSource) -> RunFigures:
    scenario = _scenario_of(source, case.values)
    scenario = scenario.model_copy(update={"settings": _weighted(scenario.settings, case)})
    return figures_of_simulation(Simulation.of(scenario, case.seed, case.profile, measured=True).run())


def _weighted(settings: EngineSettings, case: SweepCase) -> EngineSettings:
    """With the weights of the case in its profile."""
    assert case.profile is not None
    if not case.weights:
        return settings
    profile = settings.all_profiles()[case.profile]
    weighted = profile.model_copy(update={"scores": {**profile.scores, **dict(case.weights)}})
    return settings.model_copy(update={"profiles": {**settings.profiles, case.profile: weighted}})


def _run_snapshot(case: SweepCase, source: SweepSource) -> RunFigures:
    """The cluster goes on from the snapshot: the seed decides how long work runs that does not say so."""
    document = _snapshot_of(source)
    document = document.model_copy(update={"settings": _weighted(document.settings, case)})
    played = SimulationCase(CaseFile(source.name), "snapshot", seed=case.seed)
    simulation, _ = simulation_of_snapshot(document, played, ClusterChanges(profile=case.profile))
    return figures_of_simulation(simulation.run())


@lru_cache(maxsize=2)
def _snapshot_of(source: SweepSource) -> SnapshotDocument:
    return read_snapshot(source.data, source.name)


@lru_cache(maxsize=8)
def _scenario_of(source: SweepSource, texts: tuple[tuple[str, str], ...]) -> Scenario:
    values = [(path, orjson.loads(text)) for path, text in texts]
    data = _with_values(source, values)
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise Invalid(complaints_of(error, Scenario, Document(data, source.name))) from None


class NoSuchField(ValueError):
    """A path leads nowhere in the scenario."""


def _with_values(source: SweepSource, values: list[tuple[str, Any]]) -> Any:
    """The data of the scenario, with other values at these paths. Raises NoSuchField."""
    data = deepcopy(only_document(source.data, source.name).data)
    for path, value in values:
        *way, last = path.split(".")
        place: Any = data
        for depth, step in enumerate(way):
            place = _step(place, step, way[: depth + 1], create=True)
        if isinstance(place, list):
            _step(place, last, [*way, last], create=False)
            place[int(last)] = value
        elif isinstance(place, dict):
            place[last] = value
        else:
            raise NoSuchField(f"{'.'.join(way)} is a single value in the scenario; it has no field {last!r}")
    return data


def _step(place: Any, step: str, so_far: list[str], *, create: bool) -> Any:
    where = ".".join(so_far)
    if isinstance(place, list):
        if not step.isdecimal() or int(step) >= len(place):
            raise NoSuchField(f"{where}: the scenario has {len(place)} of them; count from 0")
        return place[int(step)]
    if not isinstance(place, dict):
        raise NoSuchField(f"{where}: there is no such field in the scenario")
    return place.setdefault(step, {}) if create else place[step]


# --- batch logs ------------------------------------------------------------------------------------------------


def _batch_cases(sweep: Sweep, document: Document, source: SweepSource) -> Iterator[SweepCase]:
    log = _log_of(source)
    seeds = sweep.seed_list(1)
    policies, backfills = sweep.batch_policies(), sweep.batch_backfills()
    _check_count(document, len(policies) * len(backfills) * len(seeds))
    wanted = sweep.source
    try:
        sequences(log, wanted.sequences, wanted.length, seeds[0])
    except TooShort as error:
        raise _wrong(document, ("source", "length"), str(error)) from None
    for policy, backfill in itertools.product(policies, backfills):
        name = policy if len(backfills) == 1 else f"{policy} {backfill}"
        for seed in seeds:
            yield SweepCase(
                *(name, seed, source.digest),
                policy=policy,
                backfill=backfill,
                sequences=wanted.sequences,
                length=wanted.length,
            )


@lru_cache(maxsize=2)
def _log_of(source: SweepSource) -> BatchLog:
    return read_swf(source.data, source.name)


def _run_batch(case: SweepCase, source: SweepSource) -> RunFigures:
    log = _log_of(source)
    assert case.policy is not None
    assert case.backfill is not None
    policy = policy_named(case.policy)
    played = []
    digest = blake2b(digest_size=16)
    for jobs in sequences(log, case.sequences, case.length, case.seed):
        replay = BatchReplay(jobs, log.processors, policy.settings(case.backfill), by_moment=policy.by_moment)
        starts = replay.run()
        digest.update(orjson.dumps(starts))
        played.append((jobs, starts))
    return figures_of_batch(played, log.processors, digest.hexdigest())


def _wrong(document: Document, path: Path, words: str) -> Invalid:
    return Invalid([_complaint(document, path, words)])


def _complaint(document: Document, path: Path, words: str) -> Complaint:
    return Complaint(document.source, document.line_of(path), field_name(path), words)
