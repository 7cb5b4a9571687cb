/** Access: tokens with which machines join, the admin token, and the sessions of browsers. */
import { html, nothing } from "../core/view.js";
import { get, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { ago, duration, plural, time } from "../core/format.js";
import { attempt, confirm, copy } from "../core/notices.js";
import { logOut, session } from "../core/session.js";
import { askForm } from "../parts/form_dialog.js";
import { commandToCopy, empty } from "../parts/states.js";
import { exportButtons, table } from "../parts/table.js";

/** @typedef {import("../types").Schemas["JoinTokenRow"]} JoinTokenRow */
/** @typedef {import("../types").Schemas["SessionRow"]} SessionRow */

/** A token is told once; it is shown until the visitor has it, and is nowhere else. @type {{what: string, token: string, more: string} | null} */
let told = null;

/** @param {() => void} reload @returns {import("../parts/table.js").Column<JoinTokenRow>[]} */
const columnsFor = (reload) => [
  { name: "id", title: "Number", isNumber: true, cell: (row) => row.id, value: (row) => row.id },
  { name: "made_at", title: "Made", cell: (row) => time(row.made_at), value: (row) => row.made_at },
  { name: "expires_at", title: "Expires", cell: (row) => expiry(row.expires_at), value: (row) => row.expires_at },
  { name: "uses_left", title: "Uses left", isNumber: true, cell: (row) => row.uses_left, value: (row) => row.uses_left },
  { name: "revoke", title: "", cell: (row) => html`<span class="row-actions"><button class="btn quiet" aria-label=${`Revoke join token ${row.id}`} @click=${() => revoke(row, reload)}>Revoke</button></span>` },
];

/** @param {number} at */
const expiry = (at) => html`${time(at)} <span class="soft">in ${duration(Math.max(0, at - Date.now() / 1000))}</span>`;

/** @param {() => void} reload @returns {import("../parts/table.js").Column<SessionRow>[]} */
const sessionColumns = (reload) => [
  { name: "id", title: "Number", isNumber: true, cell: (row) => row.id, value: (row) => row.id },
  { name: "user", title: "User", cell: (row) => html`${row.user}${row.current ? html` <span class="tag">this one</span>` : nothing}`, value: (row) => row.user },
  { name: "browser", title: "Browser", cell: (row) => row.browser || html`<span class="faint">–</span>`, value: (row) => row.browser },
  { name: "made_at", title: "Since", cell: (row) => time(row.made_at), value: (row) => row.made_at },
  { name: "used_at", title: "Last used", cell: (row) => (row.used_at === null ? html`<span class="faint" title="The server was started again since then">–</span>` : ago(row.used_at)), value: (row) => row.used_at },
  { name: "expires_at", title: "Expires", cell: (row) => expiry(row.expires_at), value: (row) => row.expires_at },
  { name: "end", title: "", cell: (row) => html`<span class="row-actions"><button class="btn quiet" aria-label=${row.current ? "Log out" : `End session ${row.id}`} @click=${() => (row.current ? leave() : end(row, reload))}>${row.current ? "Log out" : "End"}</button></span>` },
];

/** @param {SessionRow} row @param {() => void} reload */
async function end(row, reload) {
  const isSure = await confirm(`End session ${row.id}?`, `${row.browser || "That browser"} has to log in again.`, "End it");
  if (isSure && (await attempt(async () => (await send("DELETE", `/login/sessions/${row.id}`), true), `Session ${row.id} is ended`))) reload();
}

async function leave() {
  await logOut();
  location.assign("/login");
}

/** @param {JoinTokenRow} row @param {() => void} reload */
async function revoke(row, reload) {
  const isSure = await confirm(`Revoke join token ${row.id}?`, "No machine can join with it any more. Those that have joined stay.", "Revoke");
  if (isSure && (await attempt(async () => (await send("DELETE", `/tokens/join/${row.id}`), true), `Join token ${row.id} is revoked`))) reload();
}

/** @param {() => void} reload */
async function make(reload) {
  const answer = await askForm({
    title: "Make a join token",
    detail: "With it the agent of a new machine is admitted once, and gets a token of its own.",
    fields: [
      { name: "uses", label: "For so many machines", kind: "number", value: "1", required: true },
      { name: "ttl", label: "Valid for", value: "1h", required: true },
    ],
    action: "Make it",
    run: ({ uses, ttl }) => send("POST", "/tokens/join", { uses: Number(uses), ttl }),
    done: "",
  });
  if (!answer) return;
  told = { what: `Join token ${answer.id}, for ${plural(answer.uses_left, "machine")}`, token: answer.token, more: `DOVETAIL_TOKEN=${answer.token} dovetail agent --join ${location.origin}` };
  reload();
}

/** @param {() => void} redraw */
async function rotate(redraw) {
  const isSure = await confirm("Make a new admin token?", "The old one stops working at once, everywhere, and all sessions of browsers end, also this one.", "Make a new one");
  if (!isSure) return;
  const answer = await attempt(() => send("POST", "/tokens/admin"), "");
  if (!answer) return;
  told = { what: "The new admin token", token: answer.token, more: "" };
  redraw();
}

/** @param {() => void} redraw */
function toldPanel(redraw) {
  if (!told) return nothing;
  const done = () => {
    told = null;
    redraw();
  };
  const { token, what, more } = told;
  return html`<div class="notice" role="alert"><span class="warn">!</span><div class="grow"><b>${what}.</b> It is told this once: the server keeps only a digest.
    <p class="tools"><code class="mono token">${token}</code><button class="btn" @click=${() => copy(token)}>Copy</button><button class="btn quiet" @click=${done}>I have it</button></p>${more ? html`<p>${commandToCopy(more)}</p>` : nothing}</div></div>`;
}

export default definePage({
  title: () => "Access",
  everyS: 15,
  load: async ({ signal }) => {
    const [tokens, sessions] = await Promise.all([get("/tokens/join", {}, signal), get("/login/sessions", {}, signal)]);
    return { items: tokens.items, sessions: sessions.items };
  },
  view: (/** @type {{items: JoinTokenRow[], sessions: SessionRow[]}} */ data, { reload, redraw }) => {
    const columns = columnsFor(reload);
    const ofSessions = sessionColumns(reload);
    return html`<h1>Access</h1><p class="lead">Who may ask this server for what.</p>
      ${toldPanel(redraw)}
      <div class="panel">
        <div class="head"><h2>Join tokens <small>with which new machines are admitted</small></h2><div class="actions">${exportButtons(columns, () => data.items, "join-tokens")}<button class="btn primary" @click=${() => make(reload)}>Make one…</button></div></div>
        ${table({ columns, rows: data.items, key: (row) => row.id, caption: "Join tokens", empty: empty("No machine can join now", nothing, "dovetail token join") })}
      </div>
      <div class="panel">
        <div class="head"><h2>Sessions <small>browsers that are logged in; the server knows no token of them</small></h2><div class="actions">${exportButtons(ofSessions, () => data.sessions, "sessions")}</div></div>
        ${table({ columns: ofSessions, rows: data.sessions, key: (row) => row.id, caption: "Sessions", empty: empty("No browser is logged in", nothing, "dovetail open") })}
        <p class="soft">Another browser: ${commandToCopy("dovetail open")} Server version ${session()?.version}.</p>
      </div>
      <div class="grid g-even">
        <div class="panel"><h2>Admin token</h2><p>It may do everything. Who has read it should have it; if somebody else has, make a new one: the old one and every session of a browser end at once.</p>
          <p><button class="btn danger" @click=${() => rotate(redraw)}>Make a new one…</button></p></div>
      </div>`;
  },
});
