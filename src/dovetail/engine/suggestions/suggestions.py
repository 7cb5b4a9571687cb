"""Why work waits, and the smallest changes that would let it start: the unsatisfiable core, and tested suggestions.

Guarantees: the core consists of the workload's own requirements (and of policies, which are named), over the nodes that
take new work. Every suggestion was tried: with it the whole workload is placed on the cluster as it is now.
Candidates that fail, or that cost too much to try, are left out. Asking changes nothing. Work ahead in the queue
is ignored: it may be quicker. Left to others: sentences (`api.answers`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.cluster.views.view import View
from dovetail.engine.gangs.headroom import Headroom
from dovetail.engine.pieces import Pieces
from dovetail.engine.planning.plan import at_once, within_quota
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.engine.suggestions.changes import Draft, redefined
from dovetail.engine.suggestions.fit_trial import FitTrial
from dovetail.engine.suggestions.looser_layouts import LooserLayouts
from dovetail.engine.suggestions.measures import Measure, Measures, changing
from dovetail.engine.suggestions.remedies import Remedies
from dovetail.engine.suggestions.requirements import Examination, Findings, WorkloadRequirement, requirements_of
from dovetail.engine.suggestions.unsatisfiable_core import signatures, smallest_core
from dovetail.model.workloads.workload import Workload
from dovetail.queueing.quota import OverQuota

MOST_SUGGESTIONS = 5
_MOST_TRIED = 20
_MOST_OF_A_KIND = 2


@dataclass(frozen=True, slots=True)
class CoreMember:
    """A requirement of the core, where it was written, and how many nodes satisfy it if nothing else is asked for."""

    requirement: str
    field: str
    nodes_alone: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """In words; as a JSON merge patch of the definition, or as something to do that is none."""

    words: str
    kind: str
    patch: Draft | None
    action: dict[str, object] | None
    cost: float


@dataclass(frozen=True, slots=True)
class Impasse:
    """What keeps a workload from being placed whole. Without a core it waits for what `waits_for` says, if anything."""

    core: tuple[CoreMember, ...]
    core_exact: bool
    waits_for: str
    suggestions: tuple[Suggestion, ...]


def impasse(state: EngineState, spec: Workload, work: Work | None, now: float) -> Pieces[Impasse]:
    """Of a workload as it was defined; `work` if it is live and waits. Raises what routing raises."""
    trial = FitTrial(state, spec, work, now)
    if not trial.wanted:
        return Impasse((), True, "", ())
    requirements = requirements_of(trial.shape, spec)
    here = _Position(trial, requirements, trial.wanted)
    core = smallest_core(signatures(here.taking.fails))
    allowed, over = within_quota(state, spec, trial.wanted)
    may_fit = core is None and bool(len(here.taking.rows))
    fit = trial.how_many_fit(allowed) if may_fit else 0
    on_nodes = fit if over is None or not may_fit else trial.how_many_fit(trial.wanted)
    limit = over if on_nodes > allowed else None  # otherwise nodes stop it first
    layouts = LooserLayouts(trial)
    candidates: list[Measure] = []
    yield
    for measure in Measures(trial, over).candidates(here.closed, here.headroom, fit):
        candidates.append(measure)
        yield
    with trial.as_new():  # a changed definition is submitted again, and what the old one holds is free
        afresh = here if not trial.held else _Position(trial, requirements, at_once(spec))
        candidates += [changing(*changes) for changes in afresh.remedies.candidates()]
        if fit < trial.wanted and (core is None or _is_about_layout(here.taking, core.members)):
            candidates += map(changing, layouts.candidates())
    suggestions = yield from _tried(trial, candidates)
    return Impasse(
        core=() if core is None else tuple(_member(here.taking, position) for position in core.members),
        core_exact=core is None or core.exact,
        waits_for="" if core is not None else _waits_for(here.taking, on_nodes, trial.wanted, limit, layouts),
        suggestions=tuple(suggestions),
    )


def unsatisfied(state: EngineState, spec: Workload, work: Work | None, now: float) -> tuple[str, ...]:
    """The requirements that no node meets together, in words; none where some node meets all. Nothing is tried."""
    trial = FitTrial(state, spec, work, now)
    evaluator, view = state.pipelines[trial.shape.profile].evaluator, View(state.cluster)
    examination = Examination(evaluator, trial.request(trial.shape.least), view)
    taking, _ = examination.findings(requirements_of(trial.shape, spec))
    core = smallest_core(signatures(taking.fails))
    return () if core is None else tuple(taking.requirements[position].words for position in core.members)


class _Position:
    """What every node says to one more task, as the cluster is when this is made."""

    def __init__(self, trial: FitTrial, requirements: tuple[WorkloadRequirement, ...], wanted: int) -> None:
        request, view = trial.request(trial.shape.least), View(trial.state.cluster)
        evaluator = trial.state.pipelines[trial.shape.profile].evaluator
        self.taking, self.closed = Examination(evaluator, request, view).findings(requirements)
        self.headroom = Headroom(evaluator, request, view)
        self.remedies = Remedies(trial, request, self.taking, self.headroom, wanted)


def _is_about_layout(findings: Findings, members: Iterable[int]) -> bool:
    """Is it all about how its tasks lie to each other? Then no node carries the level that it requires."""
    return all(findings.requirements[position].path[:1] == ("topology",) for position in members)


def _member(findings: Findings, position: int) -> CoreMember:
    one = findings.requirements[position]
    return CoreMember(one.words, one.field, findings.satisfied_alone(position))


def _waits_for(taking: Findings, fit: int, wanted: int, over: OverQuota | None, layouts: LooserLayouts) -> str:
    if over is not None:
        return over.message
    if not len(taking.rows) or fit >= wanted:
        return ""
    if fit:
        return f"free capacity for more: {fit:,} of {wanted:,} tasks fit at once"
    return layouts.waits_for() or "capacity that is promised to others"


# --- trying ----------------------------------------------------------------------------------------------------


def _tried(trial: FitTrial, candidates: list[Measure]) -> Pieces[list[Suggestion]]:
    """The mildest first, up to MOST_SUGGESTIONS."""
    kinds: dict[str, int] = {}
    seen: set[str] = set()
    chosen: list[Suggestion] = []
    for measure in sorted(candidates, key=lambda one: one.cost)[:_MOST_TRIED]:
        if len(chosen) == MOST_SUGGESTIONS:
            break
        if measure.words in seen or kinds.get(measure.kind, 0) >= _MOST_OF_A_KIND:
            continue
        yield
        seen.add(measure.words)
        found = _try(trial, measure)
        if found is not None:
            kinds[measure.kind] = kinds.get(measure.kind, 0) + 1
            chosen.append(found)
    return chosen


def _try(trial: FitTrial, measure: Measure) -> Suggestion | None:
    patch: Draft | None = None
    if measure.changes:
        try:
            changed, patch = redefined(trial.spec, measure.changes)
        except ValueError:  # the definition would contradict itself
            return None
        # Who displaces others waits until they are gone, and is then placed as it is.
        fits = trial.fits_without(measure.tasks) if measure.tasks else bool(patch) and trial.fits_as(changed)
    elif measure.node is not None:
        fits = trial.fits_with(measure.node)
    else:
        fits = trial.fits_without(measure.tasks, measure.at)
    if not fits:
        return None
    return Suggestion(measure.words, measure.kind, patch, measure.action, round(measure.cost, 3))
