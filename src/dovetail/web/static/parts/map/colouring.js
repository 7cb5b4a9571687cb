/** What the colours of the map say. */
import { html, nothing } from "../../core/view.js";
import { colour } from "../../core/theme.js";
import { category, ramp } from "../../charts/scale.js";

/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */
/** @typedef {"use" | "fragment" | "health" | "tenant" | "forecast"} Colouring */

/** @type {readonly (readonly [Colouring, string])[]} */
export const COLOURINGS = [
  ["use", "Utilisation"],
  ["fragment", "Fragmentation"],
  ["health", "Health"],
  ["tenant", "Tenant"],
  ["forecast", "Forecast 1 h"],
];

const STEPS = 40;
const HEALTH = ["--ok-fill", "--warn-fill", "--bad-fill", "--warn-fill", "--idle"];
const MOST_TENANTS = 10;

/** The colours of one theme, looked up once: a canvas knows no variables. */
export class Palette {
  constructor() {
    this.steps = Array.from({ length: STEPS + 1 }, (_, place) => ramp(place / STEPS));
    this.health = HEALTH.map(colour);
    this.tenants = Array.from({ length: MOST_TENANTS }, (_, place) => colour(`--t${place}`));
    this.unknown = colour("--line");
    this.free = colour("--ramp-0");
    this.text = colour("--text");
    this.soft = colour("--soft");
    this.panel = colour("--panel");
    this.ground = colour("--bg");
    this.line = colour("--line");
    this.pick = colour("--pick");
    this.accent = colour("--accent");
    this.bad = colour("--bad-fill");
    this.warn = colour("--warn-fill");
  }

  /** @param {number | null} share */
  share(share) {
    return share === null ? this.unknown : this.steps[Math.round(Math.min(1, Math.max(0, share)) * STEPS)];
  }

  /** @param {MapNode} node @param {Colouring} by */
  of(node, by) {
    if (by === "health") return this.health[node.health] ?? this.unknown;
    if (by === "tenant") return node.tenant < 0 ? this.free : this.tenants[Math.min(MOST_TENANTS - 1, node.tenant)];
    return this.share(node[by]);
  }
}

/** @param {Colouring} by @param {MapModel} model */
export function mapLegend(by, model) {
  if (by === "health") return html`<div class="legend">${model.legend.map((word, place) => swatch(`var(${HEALTH[place] ?? "--line"})`, word))}</div>`;
  if (by === "tenant") {
    const names = model.tenants.length > MOST_TENANTS ? [...model.tenants.slice(0, MOST_TENANTS - 1), "others"] : model.tenants;
    return html`<div class="legend">${swatch("var(--ramp-0)", "nobody")}${names.map((name, place) => swatch(category(place), name))}</div>`;
  }
  const [low, high, none] = { use: ["idle", "full", ""], fragment: ["all usable", "none usable", "nothing is free"], forecast: ["idle", "full", "not known"] }[by];
  return html`<div class="legend"><span>${low} <span class="ramp"></span> ${high}</span>${none ? swatch("var(--line)", none) : nothing}${signs(model)}</div>`;
}

/** @param {string} fill @param {string} words */
const swatch = (fill, words) => html`<span><i .style=${`background:${fill}`}></i>${words}</span>`;

/** Signs that stay whatever the colours say. @param {MapModel} model */
function signs(model) {
  const seen = new Set([...model.nodes.values()].map((node) => node.health));
  return model.legend.map((word, health) => (health === 0 || !seen.has(health) ? nothing : html`<span class=${health === 2 ? "bad" : "warn"}>${health === 2 ? "▨" : "◪"} ${word}</span>`));
}
