"""The script of a job, which supervises the attempt on its node.

It starts the command only if no other script has (`claim/`) and no stop was requested (`stop`), writes the command's
end (`result`), enforces its time limit, and checks every few seconds whether to stop, also when it cannot be
signalled. User input is quoted: control characters become escapes, so that user input cannot become a line of
the script.

The command sees the variables of the settings, of the workload and of `Assignment.variables`, besides those of the
batch system, which names the GPUs in CUDA_VISIBLE_DEVICES.
"""

import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from dovetail.backends.batch.ends import NOT_TO_START_EXIT, TIME_LIMIT_EXIT, UNUSABLE_EXIT, How
from dovetail.backends.batch.gang_start import BROKEN, DECIDED, GO, GangFolder
from dovetail.backends.batch.naming import REPLICA, shared_key
from dovetail.backends.batch.settings import BatchSettings
from dovetail.backends.contract import ARRAY_INDEX, Assignment
from dovetail.model.workloads.array_indices import ArrayIndices, parse_array
from dovetail.model.workloads.run import Run

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_SCRIPT = """\
#!/bin/bash
# Dovetail's attempt {key}
# Names that no variable of a workload has, and a mv that is found whatever its PATH is.
dovetail_element={element}
dovetail_run={run}
dovetail_mv=$(type -P mv)
{opening}trap : TERM
[ -e "$dovetail_run/stop" ] && exit {not_to_start}
if ! mkdir "$dovetail_run/claim"; then
    [ -d "$dovetail_run/claim" ] && exit {not_to_start}
    exit {unusable}
fi 2> /dev/null
echo "{job} {restarts} {node} $dovetail_element" \
    > "$dovetail_run/claim/.by"
mv "$dovetail_run/claim/.by" "$dovetail_run/claim/by"
mkdir -p "$dovetail_run/work"

finish() {{
    echo "$1 $2" > "$dovetail_run/.result" && "$dovetail_mv" "$dovetail_run/.result" "$dovetail_run/result"
    exit "$1"
}}
{hold}
{exports}
export HOME="${{HOME:-$(echo ~)}}"
cd "$dovetail_run/work" && {enter} || finish {unusable} {ended}

# A process group of its own. What bash itself says of jobs that end or are killed is not the command's output.
# The guard holds one end of a pipe, this script the other: when that is closed, the command has ended. That cannot be
# overlooked; a line written to it could be, as a read whose time is up throws away what it has just been given.
exec 3>&2 2> /dev/null 6<> <(:)
exec 4< /dev/fd/6 5> /dev/fd/6 6>&-
set -m
{command} < /dev/null 2>&3 3>&- 4<&- 5>&- &
child=$!
set +m
exec 3>&-

# The system signals every process of a job. A signal that bash is to act on would interrupt its wait, and could make it
# forget an end that it has just been told of: the status would be lost, or waited for in vain.
trap '' TERM

# Until the command has ended: is it to stop, is its time up?
(
    why=0
    while :; do
        pause={notice_s}
        {shorten}
        read -r -t "$pause" -u 4
        [ $? -gt 128 ] || exit 0
        [ -e "$dovetail_run/stop" ] && why=1
        {expire}
        [ "$why" = 0 ] && continue
        kill -TERM -- "-$child"
        read -r -t {grace_s} -u 4
        kill -KILL -- "-$child"
        exit "$why"
    done
) 5>&- &
guard=$!
exec 4<&-

wait "$child"
status=$?
kill -KILL -- "-$child"
exec 5>&-
wait "$guard"
case $? in
    1) finish 143 {stopped} ;;
    2) finish {expired} {timeout} ;;
    *) finish "$status" {ended} ;;
esac
"""

# Decided once, by the first (`gang_start`). A changed folder makes a network file system ask its server for the others.
_HOLD = """
# It starts together with others: wait until all are ready, or one is not to start.
dovetail_gang={gang}
dovetail_key=${{dovetail_run##*/}}
dovetail_task=${{dovetail_key#*.}}
dovetail_task=${{dovetail_task%.*}}
decide() {{ ln -s -n "$1" "$dovetail_gang/{decided}"; }}
trap 'decide "{broken}task $dovetail_task was ended in {system}"' TERM
echo > "$dovetail_gang/$dovetail_key"
until [ -L "$dovetail_gang/{decided}" ]; do
    mkdir "$dovetail_gang/.look-$dovetail_key" && rmdir "$dovetail_gang/.look-$dovetail_key"
    set -- "$dovetail_gang"/[0-9]*
    if [ -e "$dovetail_run/stop" ]; then
        decide "{broken}task $dovetail_task was stopped"
    elif [ $# -ge {tasks} ]; then
        decide {go}
    elif {overdue}; then
        decide "{broken}only $# of {tasks} tasks were ready within {hold_s} s"
    else
        sleep {pause_s}
    fi
done 2> /dev/null
trap : TERM
[ "$(readlink "$dovetail_gang/{decided}")" = {go} ] || finish {not_to_start} {stopped}
[ -e "$dovetail_run/stop" ] && finish {not_to_start} {stopped}
SECONDS=0
"""

# Whole seconds, like $SECONDS.
_SHORTEN = "(( (left = {run_for_s} - SECONDS) < {notice_s} )) && pause=$(( left > 0 ? left : 0 )).1"
_EXPIRE = '[ "$why" = 0 ] && (( SECONDS >= {run_for_s} )) && why=2'


@dataclass(frozen=True, slots=True)
class ScriptWords:
    """What differs between batch systems. Words of bash that give the id of the job or array, how often the job was
    restarted, its node and the index of the element; `opening`: lines of bash at the beginning."""

    system: str
    job: str
    restarts: str
    node: str
    element: str
    opening: str = ""


def script_of(
    assignment: Assignment, settings: BatchSettings, run: Path, words: ScriptWords, *, in_array: bool = False
) -> str:
    """`in_array`: one script for all replicas of the workload, which differ only in the index of the array element."""
    spec = assignment.spec
    run_for_s = None if spec.deadline.run_for is None else max(1, math.ceil(spec.deadline.run_for))
    grace_s = settings.grace_s if spec.disruption.grace is None else spec.disruption.grace
    timed = run_for_s is not None
    return _SCRIPT.format(
        key=shared_key(assignment.key, REPLICA) if in_array else assignment.key,
        run=_run_folder(assignment, run, in_array),
        element=words.element if in_array else "",
        opening=words.opening,
        job=words.job,
        restarts=words.restarts,
        node=words.node,
        unusable=UNUSABLE_EXIT,
        not_to_start=NOT_TO_START_EXIT,
        hold=_hold(assignment, settings, run, words.system),
        exports="\n".join(_exports(assignment, settings, in_array)),
        enter=_enter(spec.run),
        command=" ".join(map(quoted, spec.run.command)),
        notice_s=f"{settings.notice_s:g}",
        shorten=_SHORTEN.format(run_for_s=run_for_s, notice_s=math.ceil(settings.notice_s)) if timed else ":",
        expire=_EXPIRE.format(run_for_s=run_for_s) if timed else ":",
        grace_s=f"{max(0.1, grace_s):g}",
        expired=TIME_LIMIT_EXIT,
        ended=How.ENDED,
        stopped=How.STOPPED,
        timeout=How.TIMEOUT,
    )


def _hold(assignment: Assignment, settings: BatchSettings, run: Path, system: str) -> str:
    """The part of a script that waits for the other members of the gang; empty for a task that starts by itself."""
    gang, hold_s = assignment.gang, settings.start_within_s
    if gang is None:
        return ""
    return _HOLD.format(
        system=system,
        gang=quoted(str(GangFolder(run.parent, gang).path)),
        tasks=gang.tasks,
        overdue="false" if hold_s is None else f"(( SECONDS >= {math.ceil(hold_s)} ))",
        hold_s="any" if hold_s is None else math.ceil(hold_s),
        pause_s=f"{min(1.0, settings.notice_s):g}",
        decided=DECIDED,
        go=GO,
        broken=BROKEN,
        not_to_start=NOT_TO_START_EXIT,
        stopped=How.STOPPED,
    )


def _enter(run: Run) -> str:
    """Go to the workload's directory, or to the one it was submitted from if this node has that."""
    if run.workdir is not None or run.submit_dir is None:
        return f"cd -- {quoted(run.workdir or '.')}"
    missing = quoted(f"dovetail: {run.submit_dir}, where it was submitted, is not on this node; it runs in ")
    return f'{{ cd -- {quoted(run.submit_dir)} 2> /dev/null || echo {missing}"$PWD" >&2; }}'


def _run_folder(assignment: Assignment, run: Path, in_array: bool) -> str:
    if not in_array:
        return quoted(str(run))
    folder = shared_key(assignment.key, '"$dovetail_element"')
    return f"{quoted(str(run.parent))}/{folder}"


def _exports(assignment: Assignment, settings: BatchSettings, in_array: bool) -> list[str]:
    variables = settings.env | assignment.spec.run.env | assignment.variables()
    words = {name: quoted(value) for name, value in variables.items()}
    if in_array:
        task = assignment.task
        words |= {"DOVETAIL_TASK": f'{task.workload}."$dovetail_element"', "DOVETAIL_REPLICA": '"$dovetail_element"'}
        if assignment.spec.array is not None:
            words[ARRAY_INDEX] = _index_of_element(parse_array(assignment.spec.array))
    return [f"export {name}={word}" for name, word in words.items()]


def _index_of_element(array: ArrayIndices) -> str:
    """A word of bash: the index of the replica in `$dovetail_element`."""
    if len(array.ranges) == 1:
        return f"$(( {array.ranges[0].start} + {array.ranges[0].step} * dovetail_element ))"
    indices = " ".join(str(index) for one in array.ranges for index in one)
    return f'$(dovetail_indices=({indices}); echo "${{dovetail_indices[dovetail_element]}}")'


def quoted(text: str) -> str:
    """One word for bash, on one line."""
    if not _CONTROL.search(text):
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda match: f"\\{ord(match[0]):03o}", escaped) + "'"
