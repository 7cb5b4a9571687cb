/** Whom it would stop so that a workload can start, and the button that does it. */
import { html, nothing } from "../core/view.js";
import { send } from "../core/api.js";
import { attempt, confirm } from "../core/notices.js";
import { duration, plural } from "../core/format.js";
import { setQuery } from "../core/route.js";
import { nodeLink, workloadLink } from "./badge.js";

/** @typedef {import("../types").Schemas["WorkloadDetail"]} WorkloadDetail */
/** @typedef {import("../types").Schemas["PlannedPreemption"]} PlannedPreemption */

const URGENT_FIRST = ["critical", "high", "medium", "low", "batch"];
const MOST_SHOWN = 20;

/** @param {WorkloadDetail} workload @param {string[]} tasks as they were named @param {PlannedPreemption} plan */
export function evictionPlan(workload, tasks, plan) {
  const { victims } = plan;
  const own = URGENT_FIRST.indexOf(workload.priority);
  const urgent = victims.filter((one) => URGENT_FIRST.indexOf(one.priority) < own);
  const shown = victims.slice(0, MOST_SHOWN);
  return html`<div class="trial" role="status">
    <p class="answer"><span class="warn">!</span> ${plural(victims.length, "task")} of others would be stopped, so that ${plural(plan.tasks, "task")} of ${workload.name} can start.</p>
    <div class="scroll"><table aria-label="Whom it would stop">
      <thead><tr><th scope="col">Task</th><th scope="col">Priority</th><th scope="col">Node</th><th scope="col" class="num">Work lost</th></tr></thead>
      <tbody>${shown.map((one) => html`<tr><td>${workloadLink(one, `${one.namespace}/${one.name}.${one.replica}`)}</td><td>${one.priority}</td><td>${nodeLink(one.node)}</td><td class="num">${duration(one.lost_s)}</td></tr>`)}</tbody>
    </table></div>
    ${victims.length > shown.length ? html`<p class="soft">and ${plural(victims.length - shown.length, "more task")}</p>` : nothing}
    <p class="soft">${victims.length > 1 ? "They wait again afterwards. What they free" : "It waits again afterwards. What it frees"} is kept for ${workload.name}.</p>
    ${urgent.length ? html`<p class="warn">${urgent[0].name}${urgent.length > 1 ? ` and ${urgent.length - 1} more are` : " is"} more urgent than ${workload.name}, and may take the room back.</p>` : nothing}
    <p class="actions"><button class="btn primary" @click=${() => stop(workload, tasks, plan)}>Stop ${plural(victims.length, "task")}…</button></p>
  </div>`;
}

/** @param {WorkloadDetail} workload @param {string[]} tasks @param {PlannedPreemption} plan */
async function stop(workload, tasks, { victims }) {
  const first = victims.slice(0, 3).map((one) => `${one.name}.${one.replica}`);
  const names = `${first.join(", ")}${victims.length > 3 ? ` and ${victims.length - 3} more` : ""}`;
  const many = plural(victims.length, "task");
  const detail = victims.length > 1 ? `${names} lose what they did since their last checkpoint, and wait again.` : `${names} loses what it did since its last checkpoint, and waits again.`;
  if (!(await confirm(`Stop ${many} for ${workload.name}?`, detail, `Stop ${many}`))) return;
  await attempt(() => send("POST", `/workloads/${workload.id}/preempt`, { tasks }), `${many} asked to stop for ${workload.name}`);
  setQuery({ try: null });
}
