/** What an operator does with a node, and how its state looks. */
import { html, nothing } from "../core/view.js";
import { segment, send } from "../core/api.js";
import { meter } from "../charts/bars.js";
import { amount, percent } from "../core/format.js";
import { askForm } from "./form_dialog.js";
import { state } from "./badge.js";

/** @typedef {import("../types").Schemas["NodeRow"]} NodeRow */
/** @typedef {"cordon" | "uncordon" | "drain"} NodeAction */

/** As the server orders them: the worst first. */
export const STATUSES = /** @type {const} */ (["offline", "backend down", "quarantined", "draining", "drained", "cordoned", "online"]);

/** @type {Record<string, string>} */
const KINDS = { offline: "bad", "backend down": "bad", quarantined: "bad", draining: "warn", drained: "warn", cordoned: "warn", online: "ok" };

/** @param {string} status */
export const nodeState = (status) => state(status, KINDS[status]);

/** @type {Record<NodeAction, {title: (name: string) => string, detail: string, action: string, done: (name: string) => string}>} */
const WORDS = {
  cordon: { title: (name) => `Cordon ${name}?`, detail: "It takes no new work. Its tasks keep running.", action: "Cordon", done: (name) => `${name} takes no new work` },
  uncordon: { title: (name) => `Uncordon ${name}?`, detail: "It takes work again. This also ends a drain and a quarantine.", action: "Uncordon", done: (name) => `${name} takes work again` },
  drain: { title: (name) => `Drain ${name}?`, detail: "It takes no new work, and its tasks move to other nodes.", action: "Drain", done: (name) => `${name} is being drained` },
};

/** @param {string} name @param {NodeAction} action @param {() => void} reload */
export async function actOn(name, action, reload) {
  const words = WORDS[action];
  const answer = await askForm({
    title: words.title(name),
    detail: words.detail,
    fields: [{ name: "reason", label: "Reason, for the history", hint: "new memory on Tuesday" }],
    action: words.action,
    isDanger: action === "drain",
    run: ({ reason }) => send("POST", `/nodes/${segment(name)}/${action}`, { reason }),
    done: words.done(name),
  });
  if (answer) reload();
}

/** The buttons that make sense now. @param {Pick<NodeRow, "name" | "status" | "cordoned" | "drained">} node @param {() => void} reload @param {string} [kind] of the buttons */
export function nodeButtons(node, reload, kind = "") {
  /** @type {NodeAction[]} */
  const actions = [];
  if (node.cordoned || node.drained || node.status === "quarantined") actions.push("uncordon");
  else actions.push("cordon");
  if (!node.drained) actions.push("drain");
  return actions.map((action) => html`<button class=${`btn ${kind}`} aria-label=${`${WORDS[action].action} ${node.name}`} @click=${() => actOn(node.name, action, reload)}>${WORDS[action].action}</button>`);
}

/** What is taken of a resource: allocated to tasks, and held by reservations behind it. @param {NodeRow} node @param {string} resource */
export function useBar(node, resource) {
  const use = node.resources[resource];
  if (!use?.capacity) return html`<span class="faint">–</span>`;
  const held = use.reserved / use.capacity;
  const title = `${resource}: ${amount(resource, use.allocated)} of ${amount(resource, use.capacity)} allocated${use.reserved ? `, ${amount(resource, use.reserved)} reserved` : ""}`;
  return html`<span class="use" title=${title}>${meter(use.share, resource, held)}<span class="soft">${percent(use.share + held)}</span></span>`;
}

/** @param {Record<string, string>} labels @param {number} [most] */
export function labelTags(labels, most = 99) {
  const all = Object.entries(labels).sort();
  return html`${all.slice(0, most).map(([key, value]) => html`<span class="tag">${key}=${value}</span> `)}${all.length > most ? html`<span class="faint">and ${all.length - most} more</span>` : nothing}`;
}
