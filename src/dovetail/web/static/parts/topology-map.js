/** `<topology-map>`: the cluster on a canvas that zooms and pans, with the mouse, with fingers and with keys.
 *
 * `.shown` is what it shows; it tells `node` (a node was opened), `domain` (look at this one) and `moved` (the visitor
 * looks elsewhere). Two layers: the map is drawn anew when it changes or moves, what is marked also when the focus does.
 */
import { html, render } from "../core/view.js";
import { layOut } from "./map/layout.js";
import { Palette } from "./map/colouring.js";
import { drawMap } from "./map/drawing.js";
import { drawOverlay } from "./map/overlay.js";
import { describe, nodeCard } from "./map/card.js";
import { Gestures } from "./map/gestures.js";
import { boxAt, fitted, neighbour, nodeAt, within } from "./map/finding.js";

/** @typedef {import("./map/drawing.js").Eye} Eye */
/** @typedef {import("./map/model.js").MapModel} MapModel */

/** `at`: the domain or node to look at; `eye`: or exactly what, as `moved` told it.
 * @typedef {{model: MapModel, by: import("./map/colouring.js").Colouring, workload: import("../types").Schemas["MapWorkload"] | null, found: Set<number>, at: string, eye: string}} Shown */

const SLIDE_MS = 220;
const TELL_MS = 400;

class TopologyMap extends HTMLElement {
  constructor() {
    super();
    /** @type {Shown | null} */
    this.what = null;
    /** @type {import("./map/layout.js").Layout | null} */
    this.layout = null;
    /** @type {Eye} */
    this.eye = { x: 0, y: 0, k: 1 };
    this.width = this.height = 0;
    /** @type {number | null} */
    this.focused = null;
    this.aspect = 1;
    this.looksAt = "\n"; // what the address named last; none yet
    this.frame = this.slide = this.telling = 0;
    this.isMapStale = true;
    /** @type {Palette | null} */
    this.palette = null;
    this.ends = new AbortController();
    this.least = this.shape = 0;
    this.base = document.createElement("canvas"); // these four stand for what the template makes
    this.top = this.base;
    this.card = document.createElement("div");
    this.status = document.createElement("p");
  }

  connectedCallback() {
    this.ends = new AbortController();
    render(
      html`<canvas></canvas><canvas tabindex="0" role="application" aria-roledescription="map" aria-label="Map of the cluster. Arrow keys go from node to node, plus and minus zoom, 0 shows everything, Enter opens a node. The same as a table: button Table."></canvas>
        <div class="map-card" hidden></div>
        <p class="sr" role="status"></p>
        <div class="map-zoom"><button class="btn" aria-label="Nearer" @click=${() => this.zoom(1.5)}>+</button><button class="btn" aria-label="Further" @click=${() => this.zoom(1 / 1.5)}>−</button><button class="btn" aria-label="Everything" @click=${() => this.tell("domain", "")}>⤢</button></div>`,
      this,
    );
    const layers = this.querySelectorAll("canvas");
    this.base = layers[0];
    this.top = layers[1];
    this.card = /** @type {HTMLDivElement} */ (this.querySelector(".map-card"));
    this.status = /** @type {HTMLParagraphElement} */ (this.querySelector("[role=status]"));
    const { signal } = this.ends;
    new Gestures(this.top, this, signal);
    this.top.addEventListener("keydown", (event) => this.pressed(event), { signal });
    this.top.addEventListener("blur", () => this.focusOn(null), { signal });
    addEventListener("themechange", () => this.recolour(), { signal });
    const watch = new ResizeObserver(() => this.resize());
    watch.observe(this);
    signal.addEventListener("abort", () => watch.disconnect());
    this.resize();
  }

  disconnectedCallback() {
    this.ends.abort();
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.slide);
    clearTimeout(this.telling);
    this.frame = 0;
  }

  /** @param {Shown} next */
  set shown(next) {
    const before = this.what;
    this.what = next;
    if (before?.model !== next.model || this.shape !== next.model.shape) this.arrange();
    const wanted = next.eye || next.at;
    if (this.looksAt !== wanted) {
      const isFirst = this.looksAt === "\n";
      this.looksAt = wanted;
      this.look(isFirst);
    }
    this.drawSoon(true);
  }

  /** Places for everything; needed after nodes have come or gone, and for another shape of the screen. */
  arrange() {
    if (!this.what || !this.width) return;
    this.shape = this.what.model.shape;
    this.aspect = this.width / this.height;
    this.layout = layOut(this.what.model, this.width, this.height);
    this.look(true);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.base;
    if (!width || !height || (width === this.width && height === this.height)) return;
    [this.width, this.height] = [width, height];
    for (const canvas of [this.base, this.top]) {
      canvas.width = width * devicePixelRatio;
      canvas.height = height * devicePixelRatio;
    }
    if (!this.layout || Math.abs(Math.log(width / height / this.aspect)) > 0.2) this.arrange();
    else this.look(true);
    this.draw();
  }

  recolour() {
    this.palette = null;
    this.drawSoon(true);
  }

  /** Go to what the address names. @param {boolean} atOnce */
  look(atOnce) {
    if (!this.layout || !this.what) return;
    clearTimeout(this.telling);
    const { eye, at, model } = this.what;
    const [x, y, k] = eye.split("_").map(Number);
    const whole = fitted(this.layout.root, this.width, this.height);
    const goal = eye && Number.isFinite(x + y + k) && k > 0 ? { x: x - this.width / 2 / k, y: y - this.height / 2 / k, k } : at ? (within(this.layout, model, at, this.width, this.height) ?? whole) : whole;
    this.least = whole.k * 0.6;
    if (atOnce || matchMedia("(prefers-reduced-motion: reduce)").matches) this.moveTo(goal);
    else this.slideTo(goal);
  }

  /** @param {Eye} eye */
  moveTo(eye) {
    this.eye = eye;
    this.top.classList.toggle("near", eye.k > this.least * 1.8);
    this.drawSoon(true);
  }

  /** @param {Eye} goal */
  slideTo(goal) {
    const from = this.eye;
    const began = performance.now();
    cancelAnimationFrame(this.slide);
    const step = () => {
      const part = Math.min(1, (performance.now() - began) / SLIDE_MS);
      const eased = 1 - (1 - part) ** 3;
      const k = from.k * (goal.k / from.k) ** eased;
      // the middle of the screen goes straight from one place to the other
      const middle = (/** @type {Eye} */ eye, /** @type {"x" | "y"} */ side) => eye[side] + (side === "x" ? this.width : this.height) / 2 / eye.k;
      const centre = (/** @type {"x" | "y"} */ side) => middle(from, side) + (middle(goal, side) - middle(from, side)) * eased;
      this.moveTo({ x: centre("x") - this.width / 2 / k, y: centre("y") - this.height / 2 / k, k });
      if (part < 1) this.slide = requestAnimationFrame(step);
    };
    step();
  }

  /** @param {number} factor @param {number} [x] a point of the screen that stays where it is @param {number} [y] */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const k = Math.min(12, Math.max(this.least, this.eye.k * factor));
    this.moveTo({ x: this.eye.x + x / this.eye.k - x / k, y: this.eye.y + y / this.eye.k - y / k, k });
    this.tellMoved();
  }

  /** @param {number} dx pixels @param {number} dy */
  pan(dx, dy) {
    const root = this.layout?.root;
    const { x, y, k } = this.eye;
    const inside = (/** @type {number} */ at, /** @type {number} */ seen, /** @type {number} */ whole) => Math.min(Math.max(at, -seen * 0.8), whole - seen * 0.2);
    this.moveTo({ x: inside(x - dx / k, this.width / k, root?.w ?? 0), y: inside(y - dy / k, this.height / k, root?.h ?? 0), k });
    this.tellMoved();
  }

  /** Once the visitor has stopped moving. */
  tellMoved() {
    clearTimeout(this.telling);
    this.telling = window.setTimeout(() => {
      const { x, y, k } = this.eye;
      this.looksAt = [x + this.width / 2 / k, y + this.height / 2 / k, k].map((value) => value.toFixed(2)).join("_");
      this.tell("moved", this.looksAt);
    }, TELL_MS);
  }

  /** @param {string} kind @param {string} detail */
  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  /** A click or a tap. @param {number} x @param {number} y */
  hit(x, y) {
    const node = this.layout && this.what && nodeAt(this.layout, this.what.model, this.eye, x, y);
    if (node) this.tell("node", node.name);
    const box = this.layout && boxAt(this.layout, this.eye, x, y);
    if (!node && box) this.tell("domain", box.names[box.names.length - 1]);
  }

  /** @param {number} x @param {number} y */
  hover(x, y) {
    const node = this.layout && this.what && nodeAt(this.layout, this.what.model, this.eye, x, y);
    this.top.style.cursor = node ? "pointer" : "grab";
    this.focusOn(node ? node.row : null);
  }

  /** @param {number | null} row */
  focusOn(row) {
    if (this.focused === row) return;
    this.focused = row;
    this.showCard();
    this.drawSoon(false);
  }

  showCard() {
    const node = this.focused === null ? undefined : this.what?.model.nodes.get(this.focused);
    if (!this.what) return;
    this.card.hidden = node === undefined;
    if (!node) return;
    render(nodeCard(node, this.what.model), this.card);
    const [x, y] = [(node.x - this.eye.x) * this.eye.k, (node.y - this.eye.y) * this.eye.k];
    const { offsetWidth: wide, offsetHeight: tall } = this.card;
    const right = x + node.w * this.eye.k + 10;
    this.card.style.left = `${Math.max(4, right + wide < this.width ? right : x - wide - 10)}px`;
    this.card.style.top = `${Math.max(4, Math.min(y, this.height - tall - 4))}px`;
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (!this.layout || !this.what || event.ctrlKey || event.metaKey || event.altKey) return;
    const model = this.what.model;
    const node = this.focused === null ? undefined : model.nodes.get(this.focused);
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow && event.shiftKey) this.pan(-arrow[0] * 60, -arrow[1] * 60);
    else if (arrow) this.step(neighbour(model, node, arrow, this.eye, this.width, this.height));
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.tell("domain", "");
    else if (event.key === "Enter" && node) this.tell("node", node.name);
    else if (event.key === "Escape" && node) this.focusOn(null);
    else return;
    event.preventDefault();
  }

  /** @param {import("./map/model.js").MapNode | undefined} node */
  step(node) {
    if (!node || !this.what) return;
    const { x, y, k } = this.eye;
    const [left, up] = [(node.x - x) * k, (node.y - y) * k];
    if (left < 0 || up < 0 || left + node.w * k > this.width || up + node.h * k > this.height) this.pan(this.width / 2 - left, this.height / 2 - up);
    this.focusOn(node.row);
    this.status.textContent = describe(node, this.what.model);
  }

  /** @param {boolean} map whether more than what is marked has changed */
  drawSoon(map) {
    this.isMapStale ||= map;
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const [base, top] = [this.base.getContext("2d"), this.top.getContext("2d")];
    if (!base || !top || !this.layout || !this.what || !this.width) return;
    const { model, by, workload, found } = this.what;
    const marked = workload ? new Set(workload.row) : found.size ? found : null;
    const scene = { model, layout: this.layout, by, palette: (this.palette ??= new Palette()), shown: marked };
    for (const pen of [base, top]) pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    if (this.isMapStale) drawMap(base, scene, this.eye, this.width, this.height);
    this.isMapStale = false;
    drawOverlay(top, scene, { workload, found, focus: this.focused }, this.eye, this.width, this.height);
    if (this.focused !== null) this.showCard();
    this.dataset.version = model.version; // what is on the screen now
  }
}

customElements.define("topology-map", TopologyMap);
