/** Draws what is visible of the map: boxes of domains, cells of nodes and, near enough, their GPUs. */
import { isAlone } from "./layout.js";
import { shareOf } from "./model.js";
import { percent } from "../../core/format.js";

/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */
/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./colouring.js").Palette} Palette */

/** What is seen: the corner of the map at the upper left, and pixels a unit. @typedef {{x: number, y: number, k: number}} Eye */

/** `shown`: rows that are not faded; null: all.
 * @typedef {{model: MapModel, layout: Layout, by: import("./colouring.js").Colouring, palette: Palette, shown: Set<number> | null}} Scene */

const LEAST_CELL = 3; // pixels; narrower ones are drawn as one block
const WITH_GPUS = 24;
const WITH_NAME = 64;
const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
const FADED = 0.3;

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Eye} eye @param {number} width @param {number} height */
export function drawMap(pen, scene, eye, width, height) {
  pen.clearRect(0, 0, width, height);
  const { layout, model, palette } = scene;
  const isIn = (/** @type {{x: number, y: number, w: number, h: number}} */ one) =>
    (one.x + one.w - eye.x) * eye.k > 0 && (one.y + one.h - eye.y) * eye.k > 0 && (one.x - eye.x) * eye.k < width && (one.y - eye.y) * eye.k < height;
  const cellWidth = 30 * eye.k;
  for (const box of layout.boxes) {
    if (!isIn(box)) continue;
    drawBox(pen, scene, box, eye);
    if (!box.rows.length) continue;
    if (cellWidth < LEAST_CELL) drawBlock(pen, scene, box, eye);
    else
      for (const row of box.rows) {
        const node = model.nodes.get(row);
        if (node && isIn(node)) drawCell(pen, scene, node, eye);
      }
    pen.globalAlpha = 1;
  }
  for (const box of layout.boxes) if (isIn(box)) drawTitle(pen, palette, box, eye, model);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Box} box @param {Eye} eye */
function drawBox(pen, { palette }, box, eye) {
  const [x, y, w, h] = [Math.round((box.x - eye.x) * eye.k) + 0.5, Math.round((box.y - eye.y) * eye.k) + 0.5, Math.round(box.w * eye.k), Math.round(box.h * eye.k)];
  pen.beginPath();
  pen.roundRect(x, y, w, h, Math.min(6, 8 * eye.k));
  if (!box.boxes.length && box.rows.length <= 10 && !isAlone(box) && eye.k < 1.2) return; // a rack: its nodes in a row say enough
  pen.fillStyle = box.boxes.some((one) => one.boxes.length) ? palette.panel : palette.ground;
  pen.fill();
  pen.strokeStyle = palette.line;
  pen.lineWidth = 1;
  pen.stroke();
}

/** All nodes of a box as one colour. @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Box} box @param {Eye} eye */
function drawBlock(pen, { model, palette, by, shown }, box, eye) {
  const nodes = box.rows.flatMap((row) => model.nodes.get(row) ?? []);
  const first = nodes[0];
  if (!first) return;
  const worst = nodes.reduce((one, node) => (node.health > 0 && one.health !== 2 ? node : one), first);
  const values = by === "health" || by === "tenant" ? [] : nodes.map((node) => node[by]).filter((value) => value !== null);
  const mean = values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  pen.globalAlpha = shown && !box.rows.some((row) => shown.has(row)) ? FADED : 1;
  pen.fillStyle = by === "health" || by === "tenant" ? palette.of(worst, by) : palette.share(mean);
  pen.fillRect((box.x - eye.x) * eye.k + 1, (box.y + box.head - eye.y) * eye.k, box.w * eye.k - 2, Math.max(1, (box.h - box.head) * eye.k - 2));
  pen.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {MapNode} node @param {Eye} eye */
function drawCell(pen, { palette, by, shown }, node, eye) {
  const [x, y, w, h] = [(node.x - eye.x) * eye.k, (node.y - eye.y) * eye.k, node.w * eye.k, node.h * eye.k];
  const fill = palette.of(node, by);
  pen.globalAlpha = shown && !shown.has(node.row) ? FADED : 1;
  const ticks = w >= WITH_GPUS && node.gpus > 0;
  const upper = ticks ? h * 0.6 : h;
  pen.fillStyle = fill;
  pen.fillRect(x, y, w, upper);
  if (ticks) drawTicks(pen, palette, node, x, y + upper, w, h - upper);
  if (w >= WITH_NAME) {
    pen.fillStyle = isLight(fill) ? "#1b2128" : "#fff";
    pen.font = `${Math.min(14, Math.max(10, 3.8 * eye.k))}px ${FONT}`;
    pen.textBaseline = "middle";
    pen.fillText(fitting(pen, node.name, w - 8), x + 4, y + upper / 2);
  }
  if (node.health > 0) drawSign(pen, palette, node.health, x, y, w, h);
}

/** @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {MapNode} node @param {number} x @param {number} y @param {number} w @param {number} h */
function drawTicks(pen, palette, node, x, y, w, h) {
  const wide = w / node.gpus;
  for (let slot = 0; slot < node.gpus; slot += 1) {
    pen.fillStyle = palette.share(shareOf(node.used[slot] ?? "0"));
    pen.fillRect(x + slot * wide, y + 1, Math.max(1, wide - 1), h - 1);
  }
}

/** What is wrong with a node, as lines: colours may mean something else. @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {number} health
 * @param {number} x @param {number} y @param {number} w @param {number} h */
function drawSign(pen, palette, health, x, y, w, h) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, w, h);
  pen.clip();
  pen.strokeStyle = health === 2 ? palette.bad : health === 4 ? palette.soft : palette.warn;
  pen.lineWidth = Math.max(1, Math.min(2, w / 12));
  pen.fillStyle = palette.panel;
  if (health === 2) pen.fillRect(x, y, w, h);
  pen.beginPath();
  const step = health === 2 ? Math.max(3, w / 5) : w;
  for (let start = -h; start < w; start += step) {
    pen.moveTo(x + start, y + h);
    pen.lineTo(x + start + h, y);
  }
  pen.stroke();
  pen.lineWidth *= 2;
  pen.strokeRect(x, y, w, h);
  pen.restore();
}

/** @param {CanvasRenderingContext2D} pen @param {Palette} palette @param {Box} box @param {Eye} eye @param {MapModel} model */
function drawTitle(pen, palette, box, eye, model) {
  const size = Math.min(14, box.head * eye.k * 0.72);
  const room = box.w * eye.k - 12;
  if (size < 8.5 || room < 24) return;
  const [x, y] = [(box.x - eye.x) * eye.k + 7, (box.y - eye.y + box.head / 2) * eye.k];
  pen.font = `${box.boxes.length ? "600 " : ""}${size}px ${FONT}`;
  pen.textBaseline = "middle";
  const words = percent(useOf(box, model));
  const wide = pen.measureText(words).width;
  const whole = box.names.join(" / ");
  const name = pen.measureText(whole).width < room - wide - 10 ? whole : fitting(pen, box.names[box.names.length - 1], room - wide - 10);
  pen.fillStyle = palette.text;
  pen.fillText(name, x, y);
  if (pen.measureText(name).width + wide + 10 > room) return;
  pen.fillStyle = palette.soft;
  pen.fillText(words, x + room - wide - 2, y);
}

/** How much of its GPUs is in use, or of its cores where it has none. @param {Box} box @param {MapModel} model */
export function useOf(box, model) {
  let [gpus, used, cores] = [0, 0, 0];
  for (const row of box.all) {
    const node = model.nodes.get(row);
    if (!node) continue;
    gpus += node.gpus;
    used += node.gpus * node.use;
    cores += node.cpu;
  }
  return gpus ? used / gpus : cores / Math.max(1, box.all.length);
}

/** The end of a name tells it from its neighbours. @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function fitting(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let from = 1;
  while (from < text.length && pen.measureText(`…${text.slice(from)}`).width > room) from += 1;
  return from < text.length ? `…${text.slice(from)}` : "";
}

/** @param {string} fill `rgb(…)` or `#rrggbb` */
function isLight(fill) {
  const [r, g, b] = fill.startsWith("#") ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)) : (fill.match(/\d+/g) ?? []).map(Number);
  return 0.3 * r + 0.59 * g + 0.11 * b > 140;
}
