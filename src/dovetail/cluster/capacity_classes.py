"""Nodes of equal capacity form a class: what follows from capacity alone is computed once a class, not once a node.

Fleets have few kinds of machines. Where every node differs, there are as many classes as nodes and nothing is lost.
Classes that no node is in any more are used again.

    of_node  intp[node]: the class of each node; vacant rows are in class 0, which has nothing
    inverse  float64[resource, class]: 1 / capacity, 0 where there is none
"""

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.arrays import F8, FIRST_CAPACITY, Rows, grown

NOTHING = 0


class CapacityClasses:
    """Written by `ResourceTable` only."""

    def __init__(self, resources: int) -> None:
        self.of_node: Rows = np.zeros(FIRST_CAPACITY, dtype=np.intp)
        self.inverse: F8 = np.zeros((resources, FIRST_CAPACITY))
        self._classes: dict[bytes, int] = {}
        self._keys: list[bytes] = [b""]
        self._nodes: list[int] = [0]  # how many are in each class
        self._unused: list[int] = []

    def widen(self, width: int) -> None:
        self.of_node = grown(self.of_node, width)

    def add_resource(self) -> None:
        """No node has any of it: a key without its trailing zeros is the same before and after."""
        self.inverse = np.vstack([self.inverse, np.zeros((1, self.inverse.shape[1]))])

    def forget_after(self, count: int) -> None:
        """Drop all resources but the first so many, of which no node has any."""
        self.inverse = self.inverse[:count]

    def assign(self, node: int, inverse: F8) -> None:
        """The node has this column of `1 / capacity`."""
        self.leave(node)
        key = np.trim_zeros(inverse, "b").tobytes()
        found = self._classes.get(key)
        if found is None:
            found = self._new_class(key, inverse)
        self._nodes[found] += 1
        self.of_node[node] = found

    def leave(self, node: int) -> None:
        """The node has nothing any more."""
        before = int(self.of_node[node])
        self.of_node[node] = NOTHING
        if before == NOTHING:
            return
        self._nodes[before] -= 1
        if not self._nodes[before]:
            del self._classes[self._keys[before]]
            self._unused.append(before)

    def _new_class(self, key: bytes, inverse: F8) -> int:
        if self._unused:
            found = self._unused.pop()
        else:
            found = len(self._keys)
            self._keys.append(b"")
            self._nodes.append(0)
            if found == self.inverse.shape[1]:
                self.inverse = grown(self.inverse, 2 * found)
        self._classes[key], self._keys[found] = found, key
        self.inverse[:, found] = inverse
        return found

    def needed_share(self, needs: Sequence[tuple[int, float]]) -> F8:
        """float64[class]: the sum over (resource row, amount) of the share that the amount is of a node's capacity."""
        inverse, used = self.inverse, len(self._keys)
        total = np.zeros(used)
        for row, amount in needs:
            total += inverse[row, :used] * amount
        return total
