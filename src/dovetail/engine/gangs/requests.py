"""What a task of live work requests now, and the record of why refused work waits."""

from dataclasses import replace
from math import inf

import numpy as np

from dovetail.cluster.views.view import View
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import CheaperWait, Work
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.record import Decision
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.model.text.moment import show_time
from dovetail.placement.contract import Request, TooDear
from dovetail.placement.market.costs import expected_cost
from dovetail.placement.market.elsewhere import Elsewhere, cheapest_elsewhere
from dovetail.placement.market.timetable import OwnStart
from dovetail.placement.market.waiting import EQUAL, Patience, too_dear

BARRED_MARGINS = 10
"""For so many margins the timetable leaves work alone that could not start when it said so."""


def unpromised_request(state: EngineState, work: Work, shape: Shape | None = None) -> Request:
    """The request of one of its tasks, promises to others ignored. `shape`: its own with fewer preferences."""
    asked = state.asked(work.shape, work.identity)
    request = state.pipelines[work.shape.profile].for_task(asked, work.id, work.replicas)
    return request if shape is None or shape is work.shape else replace(request, shape=shape)


def request_of(state: EngineState, work: Work, now: float, shape: Shape | None = None) -> Request:
    """The same within what promises to others leave."""
    request = unpromised_request(state, work, shape)
    if state.promises:
        members = () if work.group is None else work.group.members
        promised = state.promises.left_for(work.id, work.namespace, state.expected_s(work), now, members)
        if promised is not None:
            request = replace(request, promised=promised)
    return request if work.terms.finish_within_s is None else waiting_for_cheaper(state, work, request, now)


def waiting_for_cheaper(state: EngineState, work: Work, request: Request, now: float) -> Request:
    """The request as it is now for work with a deadline: dear nodes are refused while it can wait for cheaper ones."""
    nominated = state.cluster.rows.get(work.nominated)
    goes_now = nominated is not None and not state.cluster.offers.running[nominated]
    within_s = work.terms.finish_within_s
    deadline = None if within_s is None else work.submitted_at + within_s
    found = refuse_dear(state, request, deadline, max(1, work.gang_short), now, waits=not goes_now)
    return _by_timetable(state, work, found, now) if is_timetabled(state, work, now) else found


def minds_cost(work: Work) -> bool:
    """Does it prefer low prices, with a deadline, and start by itself?"""
    asked = work.shape.market
    return asked is not None and asked.minds_price and work.terms.finish_within_s is not None and work.group is None


def is_timetabled(state: EngineState, work: Work, now: float) -> bool:
    """Does the timetable say whether and when it starts on an own node?"""
    if not state.settings.market.timetable or not minds_cost(work) or not state.cluster.offers.any_price:
        return False
    if work.at_once != 1 or not work.is_ready or state.accounts.limited[work.queue]:
        return False
    nominated, promise = state.cluster.rows.get(work.nominated), state.promises.of_work.get(work.id)
    is_expected = nominated is not None or (promise is not None and promise.clearing)
    return not is_expected and now >= state.timetable.barred.get(work.id, -inf)


def _by_timetable(state: EngineState, work: Work, request: Request, now: float) -> Request:
    """At its start it refuses all nodes but one, before that all; without a start all own nodes."""
    table, view, dear = state.timetable, View(state.cluster), request.too_dear
    start, last = table.starts.get(work.id), table.last.get(work.id)
    refused = np.ones(view.size, dtype=np.bool_)
    fallback, until = (None, now) if dear is None else (dear.fallback, dear.until)
    if start is not None and start.at <= now:
        refused[start.row] = False
    elif start is not None and last is not None and now < last:
        until = min(start.at, last)
    elif last is not None:
        refused = view.runs_already & (view.price_per_hour == 0)
        if dear is not None and (soon := _choice_at_risk(work, now)) is not None:
            refused |= dear.late | (dear.cost > soon.cost * EQUAL)
            until = min(until, now + state.settings.market.margin)
        elif dear is not None:
            refused |= dear.refused
    if dear is None:
        dear = TooDear(refused, np.zeros(view.size, dtype=np.bool_), expected_cost(request, view), None, now)
    return replace(request, too_dear=replace(dear, refused=refused, fallback=fallback, until=until))


def refuse_dear(
    state: EngineState, request: Request, deadline: float | None, together: int, now: float, *, waits: bool = True
) -> Request:
    """The same for any request. Without `waits` only what would be late is refused."""
    asked = request.shape.market
    if deadline is None or asked is None or not asked.minds_price or not state.cluster.offers.any_price:
        return request
    view = View(state.cluster)
    filtered = state.pipelines[request.shape.profile].evaluator.run_filters(request, view)
    patience = Patience(deadline, state.settings.market.margin if waits else inf, together)
    found = too_dear(request, view, filtered.feasible_ignoring_capacity, filtered.alive, patience, now)
    return request if found is None else replace(request, too_dear=found)


def wait_in_words(state: EngineState, found: TooDear) -> str:
    """Until when it waits for cheaper nodes, and where it goes then; empty if it does not wait."""
    if found.fallback is None:
        return ""
    offer = state.cluster.offers.by_row[found.fallback]
    then = f"then {state.cluster.names[found.fallback]} at {offer.price_per_hour:.4g} {offer.currency}/h"
    return f"waits for cheaper nodes until {show_time(found.until)}; {then}"


def _choice_at_risk(work: Work, now: float) -> Elsewhere | None:
    """The cheapest that is left elsewhere, if it may be taken away: the sooner work goes there, the more often it can
    try."""
    first = None if work.choices is None else cheapest_elsewhere(work.choices[1], now)
    return first if first is not None and first.rate > 0 else None


def waits_on(state: EngineState, work: Work, now: float) -> bool:
    """Does it still wait for cheaper nodes, and has none of those that run enough room? Told by amounts alone, so that
    work which waits for long costs little whenever something ends."""
    waits, offers = work.waits, state.cluster.offers
    if waits is None or now >= waits.until or waits.kinds_offered != offers.kinds_offered:
        return False
    if is_timetabled(state, work, now):
        return not state.timetable.starts_now(work.id, now)
    column, width = state.request(work.shape).column, state.cluster.width
    needed = column.nonzero()[0]
    free = state.cluster.resources.free[needed, :width]
    return not ((free >= column[needed, None]).all(axis=0) & offers.running[:width]).any()


def _waits_in_words(state: EngineState, work: Work, refusal: Explanation, now: float) -> Explanation:
    """The refusal of work that waits for cheaper nodes says so, until when, and where it goes then: a timer has it
    tried again at that time."""
    found, work.waits = request_of(state, work, now).too_dear, None
    if is_timetabled(state, work, now):
        _ask_for_start(state, work, now)
    if found is None:
        return refusal
    if found.until > now:
        state.timers.set(TimerKind.LATEST_START, work.id, found.until)
    start = state.timetable.starts.get(work.id)
    if found.fallback is None and start is None:
        return refusal
    if state.settings.market.preempt == "savings" and work.id not in state.waits_for_cheaper:
        state.waits_for_cheaper[work.id] = None
        state.look_for_savings_at(now)
    work.waits = CheaperWait(found.until, state.cluster.offers.kinds_offered)
    words = wait_in_words(state, found) if start is None else _start_in_words(state, start)
    return replace(refusal, outcome=Outcome.WAITS_FOR_CHEAPER, message=words)


def _start_in_words(state: EngineState, start: OwnStart) -> str:
    return f"has a start on {state.cluster.names[start.row]} at {show_time(start.at)}, by the timetable of own nodes"


def _ask_for_start(state: EngineState, work: Work, now: float) -> None:
    table = state.timetable
    if table.starts_now(work.id, now):  # it could not: for a while it is work like any other
        table.bar(work.id, now + BARRED_MARGINS * state.settings.market.margin)
        return
    if work.id not in table.asked:
        table.asked[work.id] = None
        table.as_of = -1


def record_refusal(state: EngineState, work: Work, refusal: Explanation, now: float) -> None:
    """Record why the work waits, unless that was its reason before."""
    if work.terms.finish_within_s is not None and refusal.outcome not in (Outcome.OVER_QUOTA, Outcome.PREEMPTING):
        refusal = _waits_in_words(state, work, refusal, now)
    if not work.reason:
        state.learned.parked_since_sample += 1
    if (work.reason, work.message) != (refusal.outcome, refusal.message):
        work.reason, work.message = str(refusal.outcome), refusal.message
        state.changes.workloads[work.id] = None
        task = TaskId(work.id, work.waiting[0])
        state.changes.decisions.append(Decision(task, work.task(task.replica).attempt + 1, now, None, refusal))
