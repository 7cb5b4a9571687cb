"""This machine as a node that really runs commands.

Guarantees: an attempt runs at most once, whatever happens to the control plane; attempts go on running while it is
away and are found again when it is back; when an attempt is reported finished, nothing of it runs any more.

The truth about an attempt is its run folder, never the memory of a process:

    <folder>/<key>/order         what to run (written by bind)
                   claim.json    who runs it: a supervisor, or "refused"; appears once, before the command starts
                   running.json  the command's process
                   stop          a reason: somebody wants it to end; `force` beside it: without grace
                   result.json   how it ended
                   output.log    what the command printed; supervisor.log: what went wrong around it
                   input         a named pipe that the command reads, for `run.stdin`
                   work/         where it runs if neither the workload nor its submitter named a directory; all that
                                 the command sees of the run folder

Where a service manager starts the control plane, it must end only the main process on a restart (systemd:
`KillMode=process`), or the attempts end with it and are reported as lost.
"""
