/** Submit work: a form and an editor, both views of one text; beside them where it would go, while somebody types. */
import { html, nothing } from "../core/view.js";
import { get, segment, send } from "../core/api.js";
import { plural } from "../core/format.js";
import { merged } from "../core/merge.js";
import { copy, toast, wordsOf } from "../core/notices.js";
import { definePage } from "../core/page.js";
import { go, pageOf } from "../core/route.js";
import { yaml } from "../core/yaml.js";
import { withPatch } from "../core/yaml-fields.js";
import { planView } from "../parts/plan.js";
import { submitForm } from "../parts/submit-form.js";
import "../parts/yaml-editor.js";

/** @typedef {import("../types").Schemas} Schemas */
/** @typedef {import("../core/page.js").Context} Context */
/** @typedef {{field?: string, message: string, line?: number | null}} Wrong */
/** @typedef {{text: string, plans: Schemas["PlanAnswer"][], errors: Wrong[]}} Draft */

const KEY = "dovetail-draft"; // a definition may hold secrets: it stays in this tab, and never in the address
const TYPING_MS = 350;
const FIRST = "name: hello\nrun:\n  command: [echo, hello]\nresources:\n  cpu: 1\n  memory: 1GiB\n";

/** What was typed; the page is drawn from it. */
let text = "";
/** The query that it came from: what was typed since must not be lost when the page is loaded again. @type {string | null} */
let source = null;
/** What is on the screen. @type {Draft} */
let draft = { text: "", plans: [], errors: [] };
let timer = 0;
let asking = new AbortController();
let isSending = false;

/** @param {URLSearchParams} query @param {AbortSignal} signal */
async function firstText(query, signal) {
  const from = query.get("from");
  if (!from) return sessionStorage.getItem(KEY) ?? FIRST;
  const found = await get(`/workloads/${segment(from)}`, {}, signal);
  const patch = query.get("patch");
  return yaml(patch ? merged(found.spec, JSON.parse(patch)) : found.spec);
}

/** Where it would go, or what is wrong with it. @param {string} asked @param {AbortSignal} signal @returns {Promise<Draft>} */
async function plan(asked, signal) {
  if (asked.trim() === "") return { text: asked, plans: [], errors: [] };
  try {
    const answer = await send("POST", "/plan?complaints=true", asked, signal);
    return { text: asked, plans: answer.plans, errors: answer.errors ?? [] };
  } catch (error) {
    if (signal.aborted) throw error;
    return { text: asked, plans: [], errors: [{ message: wordsOf(error), line: null }] };
  }
}

/** @param {string} next @param {Context} context */
function change(next, context) {
  text = next;
  sessionStorage.setItem(KEY, next);
  clearTimeout(timer);
  timer = window.setTimeout(async () => {
    asking.abort();
    asking = new AbortController();
    const found = await plan(next, AbortSignal.any([asking.signal, context.signal])).catch(() => null);
    if (found === null) return;
    draft = found;
    context.redraw();
  }, TYPING_MS);
  context.redraw();
}

/** Take a suggestion over into the text. @param {Record<string, any>} patch @param {Context} context */
function use(patch, context) {
  const next = withPatch(text, patch);
  if (next === null) toast(`Write this into the definition: ${JSON.stringify(patch)}`, "bad");
  else change(next, context);
}

/** @param {Context} context */
async function submit(context) {
  if (isSending) return;
  isSending = true;
  context.redraw();
  try {
    const { accepted } = await send("POST", "/workloads", text);
    sessionStorage.removeItem(KEY);
    toast(`Submitted ${plural(accepted.length, "workload")}`);
    const [first] = accepted;
    go(accepted.length === 1 ? pageOf.workload(first.namespace, first.name) : "/workloads?sort=-submitted");
  } catch (error) {
    const errors = error instanceof Error && "errors" in error ? /** @type {Wrong[]} */ (error.errors) : [];
    draft.errors = errors.length ? errors : [{ message: wordsOf(error), line: null }];
    toast("It was not submitted; see what is wrong with it", "bad");
  } finally {
    isSending = false;
    context.redraw();
  }
}

function problems() {
  const { errors } = draft;
  if (errors.length === 0) return nothing;
  const goTo = (/** @type {number | null | undefined} */ line) => {
    const editor = /** @type {(HTMLElement & {goTo: (line: number) => void}) | null} */ (document.querySelector("yaml-editor"));
    if (line) editor?.goTo(line);
  };
  return html`<ul class="errors" role="alert">${errors.map((one) => html`<li><button type="button" @click=${() => goTo(one.line)}>${one.line ? `line ${one.line}: ` : ""}${one.field ? `${one.field}: ` : ""}${one.message}</button></li>`)}</ul>`;
}

export default definePage({
  title: () => "Submit",
  load: async ({ route, signal }) => {
    const asked = route.query.toString();
    if (asked !== source) text = await firstText(route.query, signal);
    source = asked;
    const planned = text;
    const found = await plan(planned, signal);
    if (planned === text) draft = found; // otherwise newer words are being planned
    return {};
  },
  begin: () => () => {
    clearTimeout(timer);
    source = null;
  },
  view: (_, context) => {
    const edited = (/** @type {CustomEvent<string>} */ event) => change(event.detail, context);
    const shortcut = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(context);
    };
    const isFresh = draft.text === text;
    return html`<div @keydown=${shortcut}>
      <div class="head">
        <div><h1>Submit</h1><p class="lead">Fill in the form or write the definition; both are the same text. <kbd>Ctrl Space</kbd> completes, <kbd>Ctrl Enter</kbd> submits.</p></div>
        <div class="actions"><button class="btn quiet" @click=${() => copy(text)}>Copy</button><button class="btn primary" ?disabled=${isSending || (isFresh && draft.errors.length > 0)} @click=${() => void submit(context)}>Submit</button></div>
      </div>
      <div class="grid g2">
        <div>
          <section class="panel" aria-label="Form">${submitForm(text, (next) => change(next, context))}</section>
          <section class="panel" aria-label="Definition"><yaml-editor .text=${text} .errors=${isFresh ? draft.errors.map(({ line, message }) => ({ line: line ?? null, message })) : []} @edit=${edited}></yaml-editor>${isFresh ? problems() : nothing}</section>
        </div>
        <section class="panel" aria-label="Plan" aria-busy=${String(!isFresh)}>
          <h2>Where it would go now <small>${isFresh ? "nothing is submitted yet" : "asking …"}</small></h2>
          ${draft.errors.length ? html`<p class="soft">Nowhere, as long as ${draft.errors.length === 1 ? "an error is" : `${draft.errors.length} errors are`} in the definition.</p>` : nothing}
          ${draft.plans.slice(0, 10).map((one) => html`${draft.plans.length > 1 ? html`<h2 class="title">${one.namespace}/${one.name}</h2>` : nothing}${planView(one, draft.plans.length === 1 ? (patch) => use(patch, context) : undefined)}`)}
          ${draft.plans.length > 10 ? html`<p class="soft">and ${plural(draft.plans.length - 10, "more workload")}</p>` : nothing}
        </section>
      </div>
    </div>`;
  },
});
