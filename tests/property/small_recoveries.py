"""Small random clusters on which gangs lost tasks, and the fewest moves that make them whole, by CP-SAT."""

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1
from dovetail.placement.recovery.problem import LOST, BrokenGang, Movables, RecoveryGroup, RecoveryPlan, RecoveryProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Amounts = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


def random_problem(
    seed: int, nodes: int | None = None, gangs: int | None = None, fail: int | None = None
) -> RecoveryProblem:
    """Racks in halves, a few gangs, singles on most of what they leave; then some nodes fail."""
    chance = random.Random(seed)
    count = nodes or chance.randint(5, 10)
    racks = np.arange(count) // chance.randint(2, 4)
    capacity = np.array([[chance.choice((4, 8)), chance.choice((8, 12))] for _ in range(count)], dtype=float).T
    free = capacity.copy()
    wanted = gangs or chance.randint(2, 4)
    found = [_gang(chance, free, racks, racks // 2) for _ in range(wanted)]
    rows, movables = _singles(chance, free, count)
    failed = chance.sample(range(count), fail or chance.choice((1, 1, 2)))
    stays = [at for at, row in enumerate(rows) if row not in failed]
    free[:, failed] = 0.0
    soon, spare = free.copy(), np.zeros(count, dtype=np.bool_)
    if chance.random() < 0.2 and (row := chance.randrange(count)) not in failed:
        spare[row] = True
        soon[:, row] += capacity[:, row] / 2
    return RecoveryProblem(
        free,
        soon,
        [_broken(gang, failed) for gang in found if gang is not None and not set(failed).isdisjoint(gang.rows)],
        replace(movables, rows=movables.rows[stays], kinds=movables.kinds[stays]),
        spare,
    )


def crowded_problem(seed: int) -> RecoveryProblem:
    """Hardly a node has room for a task of a gang as it is: singles stand on all that gangs leave. There is room for
    singles on a node where no gang may be; one fails that holds some of a gang."""
    chance = random.Random(f"crowded {seed}")
    count = chance.randint(6, 9)
    racks = np.arange(count) // 3
    free = np.array([[chance.choice((6, 8)), 12] for _ in range(count)], dtype=float).T
    free[:, -1] = 0.0
    found = [gang for gang in (_gang(chance, free, racks, racks // 2) for _ in range(3)) if gang is not None]
    for gang in found:
        gang.allowed[-1] = False
    columns = np.array([[chance.choice((1, 2)), chance.choice((0, 1))] for _ in range(3)], dtype=float)
    allowed = np.array([[chance.random() < 0.9 for _ in range(count)] for _ in columns])
    rows, kinds = [], []
    for row in range(count):
        while free[0, row] > 1:  # less is left than any gang asks for
            kind = chance.randrange(len(columns))
            if (free[:, row] < columns[kind]).any():
                break
            free[:, row] -= columns[kind]
            rows.append(row)
            kinds.append(kind)
    held = [row for gang in found for row in gang.rows] or list(range(count))
    failed = [chance.choice(held)]
    stays = [at for at, row in enumerate(rows) if row not in failed]
    free[:, failed] = 0.0
    free[:, -1] = chance.choice((2, 4, 8))
    movables = Movables(np.array(rows, dtype=np.intp)[stays], np.array(kinds, dtype=np.intp)[stays], columns, allowed)
    gangs = [_broken(gang, failed) for gang in found if not set(failed).isdisjoint(gang.rows)]
    return RecoveryProblem(free, free.copy(), gangs, movables, np.zeros(count, dtype=np.bool_))


def _singles(chance: random.Random, free: Amounts, count: int) -> tuple[list[int], Movables]:
    columns = np.array([[chance.choice((1, 1, 2, 2, 3)), chance.choice((0, 1, 1, 2))] for _ in range(4)], dtype=float)
    allowed = np.array([[chance.random() < 0.85 for _ in range(count)] for _ in columns])
    rows, kinds = [], []
    full = chance.uniform(0.75, 1.0)
    for row in range(count):
        while chance.random() < full:
            kind = chance.randrange(len(columns))
            if (free[:, row] < columns[kind]).any():
                break
            free[:, row] -= columns[kind]
            rows.append(row)
            kinds.append(kind)
    return rows, Movables(np.array(rows, dtype=np.intp), np.array(kinds, dtype=np.intp), columns, allowed)


def _gang(chance: random.Random, free: Amounts, racks: Codes, halves: Codes) -> BrokenGang | None:
    size = chance.choice((2, 3, 4, 4, 6))
    column = np.array([chance.choice((2, 3, 4)), chance.choice((1, 2))], dtype=float)
    level = chance.choice((None, halves, racks))
    sliced = chance.choice((0, 2)) if size % 2 == 0 and level is not racks else 0
    rows: list[int] = []
    region: B1 = np.ones(len(racks), dtype=np.bool_)
    if level is not None:
        region = level == chance.choice(np.unique(level).tolist())
    alone = chance.random() < 0.2
    home = None
    for task in range(size):
        if sliced and task % sliced == 0:
            home = chance.choice(np.unique(racks[region]).tolist())
        fits = region & (free >= column[:, None]).all(axis=0)
        if home is not None:
            fits &= racks == home
        if alone:
            fits[rows] = False
        if not fits.any():
            free[:, :] += column[:, None] * np.bincount(rows, minlength=len(racks))
            return None
        rows.append(chance.choice(np.flatnonzero(fits).tolist()))
        free[:, rows[-1]] -= column
    groups = [] if level is None else [RecoveryGroup(level, tuple(range(size)))]
    if sliced:
        groups += [RecoveryGroup(racks, tuple(range(at, at + sliced))) for at in range(0, size, sliced)]
    allowed = np.array([chance.random() < 0.9 for _ in range(len(racks))])
    return BrokenGang(column, allowed, tuple(rows), tuple(groups), alone)


def _broken(gang: BrokenGang, failed: list[int]) -> BrokenGang:
    allowed = gang.allowed.copy()
    allowed[failed] = False
    return replace(gang, allowed=allowed, rows=tuple(LOST if row in failed else row for row in gang.rows))


def optimum(problem: RecoveryProblem, limit_s: float = 60.0) -> tuple[list[int], int, bool]:
    """Which gangs can be whole, the most urgent first, the fewest moves for that, and whether that is proved."""
    from ortools.sat.python import cp_model  # imports pandas, which takes a second

    if not problem.gangs:
        return [], 0, True
    model, whole, _ = _model(problem)
    model.maximize(sum(2 ** (len(whole) - 1 - at) * one for at, one in enumerate(whole)))
    solver, first = _solved(model, limit_s)
    chosen = [at for at, one in enumerate(whole) if first != cp_model.UNKNOWN and solver.value(one)]
    model, whole, moved = _model(problem)
    for at, one in enumerate(whole):
        model.add(one == int(at in chosen))
    model.minimize(sum(moved))
    solver, second = _solved(model, limit_s)
    return chosen, round(solver.objective_value), first == second == cp_model.OPTIMAL


def _solved(model: "cp_model.CpModel", limit_s: float) -> "tuple[cp_model.CpSolver, Any]":
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = limit_s
    return solver, solver.solve(model)


def _model(problem: RecoveryProblem) -> "tuple[cp_model.CpModel, list[Any], list[Any]]":  # noqa: C901 (one constraint after the other)
    """Every task of every gang and every other task by itself: what makes a gang whole, and who moves."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    width = problem.now.shape[1]
    used: list[list[tuple[Amounts, Any]]] = [[] for _ in range(width)]  # by row: (column, how often)
    moved: list[Any] = []
    wholes: list[Any] = []
    for at, gang in enumerate(problem.gangs):
        whole = model.new_bool_var(f"{at} whole")
        wholes.append(whole)
        on = [[model.new_bool_var(f"{at}.{t} on {row}") for row in range(width)] for t in range(len(gang.rows))]
        inside: list[list[Any]] = [[] for _ in gang.rows]  # by task: its row is in the domains of its groups
        for g, group in enumerate(gang.groups):
            names = np.unique(group.codes).tolist()
            lies = {name: model.new_bool_var(f"{at} group {g} in {name}") for name in names}
            model.add_exactly_one(lies.values())
            for task in group.members:
                for row in range(width):
                    model.add_implication(on[task][row], lies[int(group.codes[row])])
                if gang.rows[task] != LOST:
                    inside[task].append(lies[int(group.codes[gang.rows[task]])])
        for task, row in enumerate(gang.rows):
            model.add_exactly_one([*on[task], ~whole])  # a gang that is not whole stays as it is
            for other in np.flatnonzero(~gang.allowed).tolist():
                if other != row:
                    model.add(on[task][other] == 0)
            if row == LOST:
                continue
            leaves = model.new_bool_var(f"{at}.{task} leaves")
            model.add(leaves == sum(on[task]) - on[task][row])
            moved.append(leaves)
            # Who lies where its groups will be stays; who does not cannot.
            model.add_bool_or([~leaves, *[~one for one in inside[task]]])
            # A task that leaves gives back what it had.
            used[row].append((-gang.column, whole))
        for row in range(width):
            for task in range(len(gang.rows)):
                used[row].append((gang.column, on[task][row]))
            if gang.alone:
                model.add(sum(on[task][row] for task in range(len(gang.rows))) <= 1)
    movables = problem.movables
    arriving: list[list[tuple[Amounts, Any]]] = [[] for _ in range(width)]
    for one in range(len(movables)):
        row, column = int(movables.rows[one]), movables.columns[movables.kinds[one]]
        to = [model.new_bool_var(f"movable {one} to {other}") for other in range(width)]
        model.add_exactly_one(to)
        moved.append(~to[row])
        used[row].append((-column, ~to[row]))
        for other in range(width):
            if other == row:
                continue
            if not movables.allowed[movables.kinds[one], other]:
                model.add(to[other] == 0)
            arriving[other].append((column, to[other]))
    for row in range(width):
        for k in range(len(problem.now)):
            coming = sum(int(column[k]) * times for column, times in arriving[row])
            model.add(coming <= int(problem.now[k, row]))
            model.add(coming + sum(int(c[k]) * times for c, times in used[row]) <= int(problem.soon[k, row]))
    return model, wholes, moved


def faults(problem: RecoveryProblem, plan: RecoveryPlan) -> list[str]:
    """What is wrong with a plan, from the definition, in plain Python."""
    found: list[str] = []
    end, now = problem.soon.copy(), problem.now.copy()
    movables = problem.movables
    for one, row in plan.moves.items():
        column = movables.columns[movables.kinds[one]]
        now[:, row] -= column
        end[:, row] -= column
        end[:, movables.rows[one]] += column
        if not movables.allowed[movables.kinds[one], row] or row == movables.rows[one]:
            found.append(f"{one} cannot go to {row}")
    for at, (gang, places) in enumerate(zip(problem.gangs, plan.places, strict=True)):
        if places is None:
            continue
        for before, row in zip(gang.rows, places, strict=True):
            if before != LOST and before != row:
                end[:, before] += gang.column
            if before != row:
                end[:, row] -= gang.column
                if not gang.allowed[row]:
                    found.append(f"gang {at} may not be on {row}")
        torn = [group for group in gang.groups if len({int(group.codes[places[m]]) for m in group.members}) > 1]
        found += [f"gang {at}: a group is torn" for _ in torn]
        if gang.alone and len(set(places)) < len(places):
            found.append(f"gang {at}: two on one node")
    if (now < 0).any() or (end < 0).any():
        found.append("a row is overfull")
    return found
