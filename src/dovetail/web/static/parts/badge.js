/** States as a word with a coloured dot; links to things by their names. */
import { html } from "../core/view.js";
import { pageOf } from "../core/route.js";

/** @type {Record<string, string>} */
const KINDS = {
  running: "ok", succeeded: "ok", online: "ok", ready: "ok", ok: "ok", healthy: "ok", closed: "ok",
  waiting: "warn", pending: "warn", queued: "warn", starting: "warn", stopping: "warn", preempted: "warn", cordoned: "warn", draining: "warn", half_open: "warn", unready: "warn",
  failed: "bad", lost: "bad", offline: "bad", silent: "bad", quarantined: "bad", open: "bad", unhealthy: "bad",
};

/** @param {string} word @param {string} [kind] ok, warn or bad; by the word if it is left out */
export const state = (word, kind) => html`<span class="state"><i class=${`dot ${kind ?? KINDS[word] ?? ""}`}></i>${word}</span>`;

/** @param {{namespace: string, name: string}} workload @param {string} [words] */
export const workloadLink = (workload, words) =>
  html`<a class="link" href=${pageOf.workload(workload.namespace, workload.name)}>${words ?? (workload.namespace === "default" ? workload.name : `${workload.namespace}/${workload.name}`)}</a>`;

/** @param {string} name */
export const nodeLink = (name) => html`<a class="link" href=${pageOf.node(name)}>${name}</a>`;
