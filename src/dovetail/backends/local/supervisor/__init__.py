"""The supervisor: one process an attempt, which runs its command, writes down how it ended and outlives the server.

`main` is the program; the other modules are what it does, step by step:

    run_files         the files of a run folder, which appear complete or not at all
    process_identity  a name for a process that no other ever gets
    command           from the fork to the command: cgroups, user, folder, limits, environment
    containment       how a command is separated from the machine
    watch             until the command has ended, or has to end
    process_tree      all processes of an attempt: found, signalled, ended
    output_file       what the command prints
    disk_use          how much a folder holds
    joining           a command beside that of an attempt
    probe             another program: what this machine allows a supervisor

Start-up time is paid for every attempt, hence the plain style: no `json`, `signal`, `typing`, `subprocess` or
`pathlib`, which together would take longer to load than everything else takes to run. Programs load a copy of this
package (`launch.py`), so its modules import nothing else of ours. They import each other when they start, never later:
by then a newer server may have replaced the copy.
"""
