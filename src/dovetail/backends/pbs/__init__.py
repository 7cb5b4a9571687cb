"""A PBS complex as a backend: its nodes (OpenPBS: its vnodes) run tasks as batch jobs.

What it guarantees, and how run folders make that possible, stands in `dovetail.backends.batch`. PBS has no interface
but its commands: qsub, qstat, qdel, pbsnodes. They come in two dialects: `openpbs` (OpenPBS, PBS Professional: JSON,
`select` and `place`, arrays, a gang as one job) and `torque` (Torque, and Slurm's commands of the same names: text,
`nodes=…:ppn=…`, every task a job of its own). `driver` runs the commands and asks the dialect what to write and read.
"""
