"""What may happen to a cluster, by name, and playing a seeded sequence of it."""

from collections.abc import Callable, Mapping
from random import Random

from tests.simulation.faulty_world import BACKENDS, NODES, FaultyWorld, some_node, some_work

Deed = Callable[[FaultyWorld, Random], None]


def _a_node(world: FaultyWorld, chance: Random) -> str:
    return chance.choice(list(world.engine._state.cluster.rows) or ["nobody"])


def _submit(world: FaultyWorld, chance: Random) -> None:
    world.submit(some_work(chance, world.next_workload))


def _with_live(deed: Callable[[FaultyWorld, Random, str], None]) -> Deed:
    def done(world: FaultyWorld, chance: Random) -> None:
        if live := world.live():
            deed(world, chance, chance.choice(live))

    return done


def _say_again(world: FaultyWorld, chance: Random) -> None:
    if world.attempts:
        world.say_again(chance.choice(list(world.attempts)))


DEEDS: dict[str, Deed] = {
    "submit": _submit,
    "go on": _with_live(lambda world, _, key: world.go_on(key)),
    "end": _with_live(lambda world, chance, key: world.end(key, chance.choice([0, 1, None]))),
    "refuse": _with_live(lambda world, _, key: world.refuse(key)),
    "say again": _say_again,
    "cancel": lambda world, chance: world.cancel(chance.randrange(1, world.next_workload + 1)),
    "join": lambda world, chance: world.join(some_node(chance, chance.choice(NODES))),
    "leave": lambda world, chance: world.leave(_a_node(world, chance)),
    "health": lambda world, chance: world.health(_a_node(world, chance), online=chance.random() < 0.6),
    "cordon": lambda world, chance: world.cordon(_a_node(world, chance), on=chance.random() < 0.4),
    "drain": lambda world, chance: world.drain(_a_node(world, chance)),
    "backend": lambda world, chance: world.answers(chance.choice(BACKENDS), available=chance.random() < 0.6),
    "reserve": lambda world, chance: world.reserve(chance.choice(NODES), 1000, chance.choice([5.0, 500.0])),
    "release": lambda world, chance: world.release(chance.randrange(1, world.next_reservation + 1)),
    "time": lambda world, chance: world.pass_time(chance.choice([1.0, 60.0])),
    "restart": lambda world, _: world.restart(),
    "decide": lambda world, _: world.decide(),
}


def play(
    world: FaultyWorld,
    chance: Random,
    steps: int,
    weights: Mapping[str, int],
    before: Callable[[int], None] = lambda _: None,
) -> None:
    """`steps` deeds, each as likely as its weight says; `before` is called ahead of each."""
    for name in NODES[:5]:
        world.join(some_node(chance, name))
    for number in range(steps):
        before(number)
        deed = chance.choices(list(weights), list(weights.values()))[0]
        DEEDS[deed](world, chance)
