"""A Slurm cluster as a backend: its nodes (or its partitions) run tasks as batch jobs.

What it guarantees, and how run folders make that possible, stands in `dovetail.backends.batch`. `driver` is the
interface to Slurm, with two implementations: `rest` (slurmrestd) and `cli` (Slurm's commands).
"""
