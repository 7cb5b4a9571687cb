"""What backends of batch systems (Slurm, PBS) share: every attempt is a job with a run folder that outlives both.

Guarantees: an attempt's command is started at most once, even if the control plane restarts, a reply of the system is
lost or a node fails; attempts keep running while the control plane is away and are adopted afterwards; an attempt whose
node failed is told to stop before its end is reported, and the report says whether it is known to have stopped.

A batch system alone cannot guarantee this. It forgets ended jobs after a while, replies can be lost, and it may restart
a job when its node fails although the first run may go on. So every attempt has a run folder that the control plane and
the nodes share (same path on a shared file system), and the job's script follows its rules:

    <folder>/<key>/order.json  what was submitted, and the job id when it is known (written by bind)
                   stop        a reason: it must not start, or must end (written by stop, and when a node failed)
                   claim/      created by the script before the command starts; a script that finds it there ends
                   gang/       where scripts of a gang wait for each other, in the folder of its first (`gang_start`)
                   result      how the command ended, written by the script
                   end.json    the end that is reported; it never changes
                   output.log  the output of the command
                   work/       the default working directory

`backend` puts the pieces together. A backend derives from it: it has a driver (`driver.JobDriver`), records that know
its states (`record.BatchRecord`) and its own way to write a job. Replicas that are bound together are submitted as one
array (`bundling`); each element is an attempt with its own run folder.
"""
