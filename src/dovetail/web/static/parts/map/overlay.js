/** What is drawn over the map: the nodes of a workload with the links between them, what was searched, the node in focus. */

import { percent } from "../../core/format.js";

/** @typedef {import("./drawing.js").Scene} Scene */
/** @typedef {import("./drawing.js").Eye} Eye */
/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("../../types").Schemas["MapWorkload"]} MapWorkload */

const LINK_BEND = 34;

/** @typedef {{workload: MapWorkload | null, found: Set<number>, focus: number | null}} Marked */

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Marked} marked @param {Eye} eye @param {number} width @param {number} height */
export function drawOverlay(pen, scene, marked, eye, width, height) {
  pen.clearRect(0, 0, width, height);
  const { palette } = scene;
  const thick = Math.max(1.5, Math.min(3, 2.2 * eye.k));
  if (marked.workload) outline(pen, scene, marked.workload.row, eye, palette.pick, thick);
  outline(pen, scene, marked.found, eye, palette.accent, thick);
  if (marked.workload) drawLinks(pen, scene, marked.workload, eye);
  pen.setLineDash([]);
  if (marked.focus !== null) outline(pen, scene, [marked.focus], eye, palette.text, thick);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Iterable<number>} rows @param {Eye} eye @param {string} colour @param {number} thick */
function outline(pen, { model }, rows, eye, colour, thick) {
  pen.strokeStyle = colour;
  pen.lineWidth = thick;
  pen.beginPath();
  for (const row of rows) {
    const node = model.nodes.get(row);
    if (node) pen.rect((node.x - eye.x) * eye.k, (node.y - eye.y) * eye.k, Math.max(3, node.w * eye.k), Math.max(3, node.h * eye.k));
  }
  pen.stroke();
}

/** A line from each domain to where the one around it meets; the thicker and darker, the more of the link is in use.
 * @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {MapWorkload} workload @param {Eye} eye */
function drawLinks(pen, { layout, palette }, workload, eye) {
  const around = parents(layout.root);
  const width = layout.root.w;
  pen.font = "600 11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const link of workload.links) {
    const box = layout.boxes.find((one) => one.names.includes(link.name));
    const outer = box && around.get(box);
    if (!box || !outer) continue;
    const [x1, y1] = [(box.x + box.w - eye.x) * eye.k, (box.y + box.h / 2 - eye.y) * eye.k];
    const [x2, y2] = [(Math.min(width, outer.x + outer.w) - eye.x) * eye.k, (outer.y + outer.h / 2 - eye.y) * eye.k];
    pen.strokeStyle = pen.fillStyle = palette.pick;
    pen.globalAlpha = link.load === null ? 0.7 : 0.5 + 0.5 * link.load;
    pen.lineWidth = link.load === null ? 1.5 : 1.5 + 6 * link.load;
    pen.setLineDash(link.load === null ? [5, 4] : []);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.bezierCurveTo(x1 + LINK_BEND, y1, x2 + LINK_BEND, y2, x2, y2);
    pen.stroke();
    pen.globalAlpha = 1;
    pen.beginPath();
    pen.arc(x2, y2, 4, 0, 7);
    pen.fill();
    if (link.load !== null && box.h * eye.k > 24) label(pen, palette, percent(link.load), x1 - 4, y1);
  }
}

/** @param {CanvasRenderingContext2D} pen @param {import("./colouring.js").Palette} palette @param {string} words @param {number} right @param {number} y */
function label(pen, palette, words, right, y) {
  const wide = pen.measureText(words).width + 8;
  pen.fillStyle = palette.panel;
  pen.strokeStyle = palette.pick;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.beginPath();
  pen.roundRect(right - wide, y - 8, wide, 16, 4);
  pen.fill();
  pen.stroke();
  pen.fillStyle = palette.text;
  pen.fillText(words, right - wide + 4, y);
}

/** @param {Box} root @returns {Map<Box, Box>} */
function parents(root) {
  const found = new Map();
  const look = (/** @type {Box} */ box) => {
    for (const one of box.boxes) {
      found.set(one, box);
      look(one);
    }
  };
  look(root);
  return found;
}
