/** The frame around every page: menu, search, connection, and the life of a page from its address to its end. */
import { html, nothing, render } from "./view.js";
import { Problem, whenLoggedOut } from "./api.js";
import { connect, connection, disconnect, onConnection, onEvent, onSkipped, pause } from "./live.js";
import { go, routeOf, whenRouteChanges } from "./route.js";
import { findSession, logOut, session } from "./session.js";
import { isDark, switchTheme } from "./theme.js";
import { openPalette } from "./palette.js";
import { wordsOf } from "./notices.js";
import { skeleton } from "../parts/states.js";

/** @typedef {import("./page.js").Page<any>} AnyPage */
/** @typedef {import("./page.js").Context} Context */

const AT_MOST_EVERY_MS = 1000;
const AFTER_SKIPPED_MS = 5000; // since the last time, where so much happens that what concerns the page may be missed

/** Whether asking again may help: no connection, or a server that is busy. @param {unknown} error */
const passes = (error) => error instanceof Problem && (error.status === 0 || error.status === 429 || error.status >= 500);

/** One open page. `data` stays while newer data are loaded, also when that fails. */
class OpenPage {
  /** @param {AnyPage} page @param {() => void} draw */
  constructor(page, draw) {
    this.page = page;
    this.data = /** @type {any} */ (undefined);
    /** @type {unknown} */
    this.error = null;
    this.ending = new AbortController();
    this.loading = false;
    this.isStale = false;
    this.loadedAt = 0;
    this.timer = 0;
    this.timerAt = 0;
    this.drawFrame = draw;
    /** @type {Context} */
    this.context = { route: routeOf(), signal: this.ending.signal, reload: () => void this.load(), redraw: draw };
    /** @type {(() => void)[]} */
    this.ends = [
      onEvent((event) => {
        if (page.follows?.(event, this.context.route)) this.loadSoon();
      }),
      onSkipped(() => {
        if (page.follows) this.loadSoon(AFTER_SKIPPED_MS);
      }),
      onConnection((state) => {
        if (state === "live") this.loadSoon();
      }),
    ];
    if (page.everyS) {
      const again = setInterval(() => {
        if (connection() !== "paused" && !document.hidden) this.loadSoon();
      }, page.everyS * 1000);
      this.ends.push(() => clearInterval(again));
    }
    const shown = () => {
      if (!document.hidden && this.isStale) this.loadSoon();
    };
    document.addEventListener("visibilitychange", shown);
    this.ends.push(() => document.removeEventListener("visibilitychange", shown));
    const begun = page.begin?.(this.context);
    if (begun) this.ends.push(begun);
  }

  /** Soon, and not too often: many events may come at once. @param {number} [restMs] since the last time, at least */
  loadSoon(restMs = 0) {
    if (document.hidden) {
      this.isStale = true;
      return;
    }
    const now = performance.now();
    const at = Math.max(now + 50, this.loadedAt + Math.max(restMs, this.page.atMostEveryMs ?? AT_MOST_EVERY_MS));
    if (this.timer && this.timerAt <= at) return;
    clearTimeout(this.timer);
    this.timerAt = at;
    this.timer = window.setTimeout(() => void this.load(), at - now);
  }

  async load() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.loading) {
      this.isStale = true;
      return;
    }
    this.loading = true;
    this.isStale = false;
    try {
      this.data = await this.page.load(this.context);
      this.error = null;
    } catch (error) {
      if (this.ending.signal.aborted) return;
      this.error = error;
    } finally {
      this.loading = false;
      this.loadedAt = performance.now();
    }
    if (this.ending.signal.aborted) return;
    this.drawFrame();
    if (this.isStale || passes(this.error)) this.loadSoon();
  }

  end() {
    this.ending.abort();
    clearTimeout(this.timer);
    for (const end of this.ends) end();
  }
}

/** @type {OpenPage | null} */
let open = null;
/** The path and the module of the open page: another query of the same page keeps it. */
let shownPath = "";
let menuIsOpen = false;
const host = /** @type {HTMLElement} */ (document.getElementById("app"));

export async function begin() {
  whenRouteChanges(() => void showRoute());
  whenLoggedOut(() => void toLogin());
  onConnection(() => draw());
  document.addEventListener("click", followLink);
  document.addEventListener("keydown", shortcuts);
  for (;;) {
    try {
      await findSession();
      break;
    } catch {
      render(html`<main class="main"><div class="empty"><b>The server does not answer</b>Trying again …</div></main>`, host);
      await new Promise((done) => setTimeout(done, 1500));
    }
  }
  if (session() === null) return toLogin();
  connect();
  await showRoute();
}

function toLogin() {
  disconnect();
  const here = location.pathname + location.search;
  if (location.pathname !== "/login") history.replaceState(null, "", `/login?next=${encodeURIComponent(here)}${location.hash}`);
  return showRoute();
}

/** After a login. @param {string} next the address to go to */
export function enter(next) {
  connect();
  go(next.startsWith("/") && !next.startsWith("//") ? next : "/");
}

async function showRoute() {
  const route = routeOf();
  if (open !== null && route.path === shownPath) {
    open.context.route = route;
    draw();
    void open.load();
    return;
  }
  open?.end();
  open = null;
  shownPath = route.path;
  menuIsOpen = false;
  const module = route.page === "/login" ? "login.js" : session()?.pages.find((page) => page.path === route.page)?.module;
  draw();
  if (module === undefined) return;
  const began = shownPath;
  const loaded = await import(`../pages/${module}`).catch((error) => ({ error }));
  if (shownPath !== began) return;
  if (loaded.error) {
    brokenModule = loaded.error;
    draw();
    return;
  }
  brokenModule = null;
  open = new OpenPage(loaded.default, draw);
  draw();
  scrollTo(0, 0);
  await open.load();
}

/** @type {unknown} */
let brokenModule = null;

function draw() {
  const route = routeOf();
  const page = open?.page;
  document.title = `${page ? page.title(route, open?.data) : "Dovetail"} · Dovetail`;
  if (route.page === "/login") {
    render(open && page ? page.view(open.data, open.context) : nothing, host);
    return;
  }
  render(
    html`<a class="skip" href="#main">To the content</a>
      <div class="frame">
        ${menu(route.page)}
        <div>
          ${topBar()}
          <main class="main" id="main" tabindex="-1" aria-busy=${String(isBusy())}>${notice()}${body()}</main>
        </div>
      </div>`,
    host,
  );
}

/** Whether what the visitor waits for is not there yet, nor why it cannot come. */
const isBusy = () => !brokenModule && (open === null ? isKnown() : open.data === undefined && !open.error);
const isKnown = () => session()?.pages.some((page) => page.path === routeOf().page) ?? false;

function body() {
  if (brokenModule) return html`<div class="empty"><b>This page could not be loaded</b>${wordsOf(brokenModule)}<p><a class="link" href=${location.href}>Load it again</a></p></div>`;
  if (open === null) return isKnown() ? skeleton() : notFound();
  if (open.data !== undefined) return open.page.view(open.data, open.context);
  return open.error ? failed(open.error) : skeleton();
}

const notFound = () => html`<div class="empty"><b>There is no such page</b><a class="link" href="/">To the overview</a></div>`;

/** @param {unknown} error */
function failed(error) {
  const retry = () => open?.context.reload();
  return html`<div class="empty" role="alert"><b>${error instanceof Problem ? error.title : "This could not be shown"}</b>${wordsOf(error)}<p><button class="btn" @click=${retry}>Try again</button></p></div>`;
}

function notice() {
  if (connection() === "lost") return html`<div class="notice" role="status"><span class="warn">!</span><span class="grow"><b>The connection is lost.</b> <span class="soft">What you see is from ${new Date().toLocaleTimeString()} or before. Trying again …</span></span></div>`;
  if (open?.data !== undefined && open.error && !(open.error instanceof Problem && open.error.status === 0))
    return html`<div class="notice bad" role="alert"><span class="bad">×</span><span class="grow"><b>This could not be brought up to date.</b> <span class="soft">${wordsOf(open.error)}</span></span><button class="btn" @click=${() => open?.context.reload()}>Try again</button></div>`;
  return nothing;
}

/** @param {string} current */
function menu(current) {
  const pages = session()?.pages.filter((page) => page.in_menu) ?? [];
  const groups = [...new Set(pages.map((page) => page.group))];
  const parent = { "/workload": "/workloads", "/node": "/nodes" }[current] ?? current;
  return html`<nav class=${menuIsOpen ? "menu open" : "menu"} aria-label="Pages">
    <a class="brand" href="/"><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M1 3h6l2 4 2-4h6v12h-6l-2-4-2 4H1z" fill="var(--accent)" /></svg>Dovetail</a>
    ${groups.map(
      (group) => html`${group ? html`<h2>${group}</h2>` : nothing}
        ${pages.filter((page) => page.group === group).map((page) => html`<a class="item" href=${page.path} aria-current=${page.path === parent ? "page" : "false"}>${page.title}</a>`)}`,
    )}
  </nav>`;
}

const WORDS = { live: ["ok", "live"], paused: ["", "paused"], lost: ["bad", "no connection"], off: ["", "off"] };

function topBar() {
  const state = connection();
  const [kind, words] = WORDS[state];
  const toggle = () => (state === "paused" ? connect() : pause());
  const leave = async () => {
    await logOut();
    await toLogin();
  };
  const openMenu = () => {
    menuIsOpen = !menuIsOpen;
    draw();
  };
  return html`<header class="bar">
    <button class="btn burger" aria-label="Menu" aria-expanded=${String(menuIsOpen)} @click=${openMenu}>☰</button>
    <button class="search" @click=${openPalette}><span>Find workload, node, queue…</span><kbd>Ctrl K</kbd></button>
    <span class="space"></span>
    <a class="chip optional" href="/profiles" title="The profile of work that names none">profile ${session()?.profile}</a>
    <button class="chip" aria-pressed=${String(state === "paused")} @click=${toggle} title=${state === "paused" ? "Go on" : "Hold still"}><i class=${`dot ${kind}`}></i>${words}</button>
    <button class="btn quiet" @click=${switchTheme} aria-label=${isDark() ? "Light colours" : "Dark colours"} title=${isDark() ? "Light" : "Dark"}>${isDark() ? "☀" : "☾"}</button>
    <button class="btn quiet optional" @click=${leave} title=${`Version ${session()?.version}`}>${session()?.user} · log out</button>
  </header>`;
}

/** Links inside the dashboard change the page without loading it anew. @param {MouseEvent} event */
function followLink(event) {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.target || link.hasAttribute("download") || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.hash || !session()?.pages.some((page) => page.path === routeOf(url).page)) return;
  event.preventDefault();
  go(url.pathname + url.search);
}

/** @param {KeyboardEvent} event */
function shortcuts(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && session() !== null) {
    event.preventDefault();
    openPalette();
  }
}
