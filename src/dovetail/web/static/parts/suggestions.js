/** What would help, each tried by the server: a button plans it on the present state, another one does it. */
import { html, nothing } from "../core/view.js";
import { get, segment, send } from "../core/api.js";
import { attempt, confirm, toast, wordsOf } from "../core/notices.js";
import { go, pageOf, setQuery } from "../core/route.js";
import { merged } from "../core/merge.js";
import { evictionPlan } from "./eviction_plan.js";
import { planView } from "./plan.js";

/** @typedef {import("../types").Schemas["SuggestionRow"]} Suggestion */
/** @typedef {import("../types").Schemas["WorkloadDetail"]} WorkloadDetail */
/** @typedef {import("../types").Schemas["PlanAnswer"]} PlanAnswer */
/** @typedef {import("../types").Schemas["PlannedPreemption"]} PlannedPreemption */
/** @typedef {{plan: PlanAnswer | null, evicts: PlannedPreemption | null, trouble: string}} Trial of what the address holds: a change, or whom to stop */

/** @param {Suggestion[]} found @param {WorkloadDetail} workload @param {boolean} managed it is a replica of a service @param {string} tried the patch that the address holds, as JSON @param {Trial | null} trial */
export function suggestions(found, workload, managed, tried, trial) {
  const known = found.some((one) => wishOf(one) === tried);
  if (found.length === 0 && !trial) return nothing;
  return html`<section class="panel" aria-label="What would help">
    <h2>What would help <small>each was tried on the present state</small></h2>
    ${found.map((one) => suggestion(one, workload, managed, tried, trial, one === found.find((other) => other.patch)))}
    ${tried && trial && !known ? html`<div class="suggestion"><span><b>The change in this address</b> <code>${tried}</code></span>${planned(workload, JSON.parse(tried), trial)}</div>` : nothing}
  </section>`;
}

/** @param {Suggestion} one @param {WorkloadDetail} workload @param {boolean} managed @param {string} tried @param {Trial | null} trial @param {boolean} isFirst */
function suggestion(one, workload, managed, tried, trial, isFirst) {
  const wish = wishOf(one);
  const isTried = wish !== "" && wish === tried;
  const words = html`<span><span class="ok" aria-hidden="true">✓</span> <b>${one.words}</b></span>`;
  if (!wish) return html`<div class="suggestion">${words}${actionOf(one)}</div>`;
  if (managed && one.patch) return html`<div class="suggestion">${words}<span class="soft">change its service ${workload.service}</span></div>`;
  return html`<div class="suggestion">
    ${words}<button class=${isFirst && !tried ? "btn primary" : "btn"} aria-expanded=${String(isTried)} @click=${() => setQuery({ try: isTried ? null : wish })}>${isTried ? "Close the plan" : "Plan this"}</button>
    ${isTried && trial ? planned(workload, JSON.parse(wish), trial) : nothing}
  </div>`;
}

/** What the address holds while this is tried; empty for what is done without a plan. @param {Suggestion} one */
const wishOf = ({ patch, action }) => (patch ? JSON.stringify(patch) : Array.isArray(action?.evict) ? JSON.stringify({ evict: action.evict }) : "");

/** Whom the address asks to stop; null where it holds a change of the definition. @param {string} tried @returns {string[] | null} */
export function evictionIn(tried) {
  const wish = JSON.parse(tried);
  return Array.isArray(wish?.evict) ? wish.evict.map(String) : null;
}

/** @param {WorkloadDetail} workload @param {any} patch @param {Trial} trial */
function planned(workload, patch, trial) {
  if (trial.evicts) return evictionPlan(workload, patch.evict, trial.evicts);
  if (trial.plan === null) return html`<div class="trial"><p class="bad" role="alert">${trial.trouble}</p></div>`;
  return html`<div class="trial">
    ${planView(trial.plan)}
    <p class="actions">
      <button class="btn primary" @click=${() => replace(workload, patch)}>Submit this</button>
      <a class="btn" href=${`/submit?from=${encodeURIComponent(`${workload.namespace}/${workload.name}`)}&patch=${encodeURIComponent(JSON.stringify(patch))}`}>Edit first</a>
    </p>
  </div>`;
}

/** The workload with the change, in place of the one that waits. @param {WorkloadDetail} workload @param {unknown} patch */
async function replace(workload, patch) {
  const wanted = merged(workload.spec, patch);
  const isOpen = workload.finished_at === null;
  const words = `${workload.name} is ${isOpen ? "cancelled and " : ""}submitted with ${JSON.stringify(patch)}.`;
  if (!(await confirm(`Submit ${workload.name} with this change?`, words, "Submit this"))) return;
  try {
    if (isOpen) await ended(workload);
    await send("POST", "/workloads", wanted);
    toast(`Submitted ${workload.name}`);
    setQuery({ try: null });
    go(pageOf.workload(workload.namespace, workload.name));
  } catch (error) {
    // The definition is not lost: it waits in the editor.
    toast(wordsOf(error), "bad");
    go(`/submit?from=${encodeURIComponent(String(workload.id))}&patch=${encodeURIComponent(JSON.stringify(patch))}`);
  }
}

/** Cancelled, and its name free again. @param {WorkloadDetail} workload */
async function ended(workload) {
  await send("POST", "/workloads/cancel", { ids: [workload.id], reason: "submitted again with a change" });
  for (let tries = 0; tries < 100; tries += 1) {
    const now = await get(`/workloads/${workload.id}`);
    if (now.finished_at !== null) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`${workload.name} is cancelled but some of its tasks still stop; submit the change when they have`);
}

/** @param {Suggestion} one */
function actionOf({ action }) {
  const node = action?.uncordon;
  if (typeof node === "string") {
    const uncordon = async () => {
      if (await confirm(`Uncordon ${node}?`, "It takes work again.", "Uncordon")) await attempt(() => send("POST", `/nodes/${segment(node)}/uncordon`, { reason: "suggested for work that waits" }), `${node} takes work again`);
    };
    return html`<button class="btn" @click=${uncordon}>Uncordon…</button>`;
  }
  return html`<span class="soft">by itself</span>`;
}
