"""A Slurm cluster as a backend: its nodes (or its partitions) run tasks as batch jobs.

Guarantees: an attempt's command is started at most once, whatever happens to the control plane, to a reply of Slurm's
or to a node; attempts go on running while the control plane is away and are found again; an attempt whose node failed
is told to stop before its end is reported, and the report says whether it is known to have stopped.

Slurm alone cannot promise that. It forgets ended jobs after a few minutes, loses replies like every server, and runs a
job again when its node fails while the first run may well go on. So every attempt has a run folder that the control
plane and the nodes both see (a shared file system, under the same path), and the job's script keeps its rules:

    <folder>/<key>/order.json  what was asked of Slurm, and the job's number when it is known (written by bind)
                   stop        a reason: it must not start, or must end (written by stop, and when a node failed)
                   claim/      made by the script that runs it, before the command starts: whoever finds it there ends
                   result      how the command ended, written by the script
                   end.json    what was reported of it, once and for all
                   output.log  what the command printed
                   work/       where it runs unless the workload says otherwise

`driver` says what is asked of Slurm; `rest` (slurmrestd) and `cli` (its commands) are two ways to ask it. Replicas that
are bound together go out as one array (`bundling`); each of its elements is an attempt with a run folder of its own.
"""
