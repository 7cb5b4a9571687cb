/** `<what-if-form>`: the change, and the two futures side by side. What is asked stands in the address. */
import { html, nothing, render } from "../core/view.js";
import { Problem, get, segment, send } from "../core/api.js";
import { setQuery } from "../core/route.js";
import { attempt, wordsOf } from "../core/notices.js";
import { commandToCopy, empty, skeleton } from "./states.js";
import { differences } from "./what_if_differences.js";

/** @typedef {import("../types").Schemas["WhatIfAnswer"]} WhatIfAnswer */

/** The fields, as the address calls them. */
const FIELDS = /** @type {const} */ (["remove", "count", "like", "capacity", "profile", "workload", "cancel", "horizon"]);

class WhatIfForm extends HTMLElement {
  /** @type {string[]} */
  profiles = [];
  current = "";
  query = new URLSearchParams();
  /** @type {WhatIfAnswer | null} */
  answer = null;
  /** @type {unknown} */
  trouble = null;
  isBusy = false;

  connectedCallback() {
    this.draw();
    if (this.changes() !== null) queueMicrotask(() => void this.ask()); // after the page, which draws this, is drawn
  }

  /** @param {typeof FIELDS[number]} name */
  value(name) {
    const field = this.querySelector(`[name=${name}]`);
    if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement || field instanceof HTMLSelectElement) return field.value.trim();
    return this.query.get(name) ?? "";
  }

  /** The body of the question as YAML; null while nothing is asked. */
  changes() {
    const lines = [];
    const names = (/** @type {string} */ text) => text.split(/[\s,]+/).filter(Boolean).map((name) => JSON.stringify(name)).join(", ");
    if (this.value("remove")) lines.push(`remove_nodes: [${names(this.value("remove"))}]`);
    const shape = this.value("like") ? `like: ${JSON.stringify(this.value("like"))}` : this.value("capacity") ? `capacity: {${this.value("capacity")}}` : "";
    if (shape) lines.push(`add_nodes: [{count: ${this.value("count") || 1}, ${shape}}]`);
    if (this.value("cancel")) lines.push(`cancel: [${names(this.value("cancel"))}]`);
    if (this.value("profile")) lines.push(`profile: ${JSON.stringify(this.value("profile"))}`);
    if (this.value("workload")) lines.push("workloads:", `  - ${this.value("workload").split("\n").join("\n    ")}`);
    if (!lines.length) return null;
    if (this.value("horizon")) lines.push(`horizon: ${this.value("horizon")}`);
    return `${lines.join("\n")}\n`;
  }

  async ask() {
    const changes = this.changes();
    this.trouble = changes === null ? new Error("Nothing is changed yet: fill in one of the fields.") : null;
    this.answer = null;
    if (changes !== null) {
      this.isBusy = true;
      this.draw();
      try {
        this.answer = await send("POST", "/what-if", changes);
      } catch (error) {
        this.trouble = error;
      }
      this.isBusy = false;
    }
    this.draw();
  }

  /** Put the definition of a workload into the editor. @param {string} name */
  async edit(name) {
    const found = await attempt(() => get(`/workloads/${segment(name)}`), `The definition of ${name} is in the editor`);
    const editor = this.querySelector("textarea");
    if (found && editor) editor.value = JSON.stringify({ ...found.definition, name: found.name, namespace: found.namespace }, null, 2);
  }

  draw() {
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      setQuery(Object.fromEntries(FIELDS.map((name) => [name, this.value(name)])));
      void this.ask();
    };
    const clear = () => {
      for (const name of FIELDS) {
        const field = this.querySelector(`[name=${name}]`);
        if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement || field instanceof HTMLSelectElement) field.value = "";
      }
      this.answer = this.trouble = null;
      setQuery(Object.fromEntries(FIELDS.map((name) => [name, null])));
      this.draw();
    };
    const take = (/** @type {Event} */ event) => {
      const name = /** @type {HTMLInputElement} */ (event.target).value.trim();
      if (name) void this.edit(name);
    };
    const at = (/** @type {typeof FIELDS[number]} */ name) => this.query.get(name) ?? "";
    render(
      html`<div class="grid what-if">
        <form class="panel" @submit=${submit} aria-label="The change">
          <h2>The change</h2>
          <div class="field"><label for="wi-remove">Remove nodes</label><input id="wi-remove" name="remove" type="text" placeholder="n1, n2" .defaultValue=${at("remove")} /></div>
          <div class="what-if-add"><div class="field"><label for="wi-count">Add</label><input id="wi-count" name="count" type="number" min="1" placeholder="1" .defaultValue=${at("count")} /></div>
            <div class="field"><label for="wi-like">nodes like</label><input id="wi-like" name="like" type="text" placeholder="n1" .defaultValue=${at("like")} /></div></div>
          <div class="field"><label for="wi-capacity">or nodes with</label><input id="wi-capacity" name="capacity" type="text" placeholder="gpu: 8, cpu: 96, memory: 1TiB" .defaultValue=${at("capacity")} /></div>
          <div class="field"><label for="wi-profile">Profile</label><select id="wi-profile" name="profile"><option value="">as now (${this.current})</option>${this.profiles.map((name) => html`<option value=${name} ?selected=${name === at("profile")}>${name}</option>`)}</select></div>
          <div class="field"><label for="wi-cancel">Cancel workloads</label><input id="wi-cancel" name="cancel" type="text" placeholder="team/train" .defaultValue=${at("cancel")} /></div>
          <div class="field"><label for="wi-edit">Edit a workload: its name</label><input id="wi-edit" type="text" placeholder="team/train" @change=${take} /></div>
          <div class="field"><label for="wi-workload">A workload, new or edited, as YAML</label><textarea id="wi-workload" name="workload" rows="7" spellcheck="false" placeholder=${"name: more\nreplicas: 8\nresources: {gpu: 8}"} .defaultValue=${at("workload")}></textarea></div>
          <div class="field"><label for="wi-horizon">Look ahead</label><input id="wi-horizon" name="horizon" type="text" placeholder="1d" .defaultValue=${at("horizon")} /></div>
          <div class="actions"><button class="btn primary" ?disabled=${this.isBusy}>${this.isBusy ? "Looking ahead …" : "What if?"}</button><button type="button" class="btn" @click=${clear}>Clear</button></div>
        </form>
        <section aria-label="Before and after" aria-live="polite">${this.result()}</section>
      </div>`,
      this,
    );
  }

  result() {
    if (this.isBusy) return skeleton(8);
    if (this.trouble) return html`<div class="notice bad" role="alert"><span class="bad">×</span><span class="grow">${this.trouble instanceof Problem && this.trouble.errors.length ? html`<ul class="plain">${this.trouble.errors.map((one) => html`<li>${one.field ? html`<b>${one.field}</b> ` : nothing}${one.message}</li>`)}</ul>` : wordsOf(this.trouble)}</span></div>`;
    if (this.answer) return differences(this.answer);
    return html`<div class="panel">${empty("Say what would change", html`Then both futures stand here, differences only. In a terminal:`)}<p class="middle">${commandToCopy("dovetail what-if --remove-node NODE")}</p></div>`;
  }
}

customElements.define("what-if-form", WhatIfForm);
