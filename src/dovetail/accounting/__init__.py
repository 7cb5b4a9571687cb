"""What work has cost, from what nodes cost and who held them: sums, days and months, a forecast. All of it is pure."""
