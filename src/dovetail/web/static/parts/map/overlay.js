/** What is drawn over the map: the nodes of a workload with the links between them, what was searched, the node in focus. */

/** @typedef {import("./drawing.js").Scene} Scene */
/** @typedef {import("./drawing.js").Eye} Eye */
/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("../../types").Schemas["MapWorkload"]} MapWorkload */

/** @typedef {{workload: MapWorkload | null, found: Set<number>, focus: number | null}} Marked */

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Marked} marked @param {Eye} eye @param {number} width @param {number} height */
export function drawOverlay(pen, scene, marked, eye, width, height) {
  pen.clearRect(0, 0, width, height);
  const { palette } = scene;
  if (marked.workload) drawLinks(pen, scene, marked.workload, eye);
  pen.setLineDash([]);
  const thick = Math.max(1.5, Math.min(3, 2.2 * eye.k));
  if (marked.workload) outline(pen, scene, marked.workload.row, eye, palette.pick, thick);
  outline(pen, scene, marked.found, eye, palette.accent, thick);
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

/** A line from each domain to the one around it; the thicker and darker, the more of the link is in use.
 * @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {MapWorkload} workload @param {Eye} eye */
function drawLinks(pen, { layout, palette }, workload, eye) {
  const around = parents(layout.root);
  for (const link of workload.links) {
    const box = layout.boxes.find((one) => one.names.includes(link.name));
    const outer = box && around.get(box);
    if (!box || !outer) continue;
    const hub = middle(outer.names[0] ? outer : layout.root);
    const from = middle(box);
    const [x1, y1, x2, y2] = [(from.x - eye.x) * eye.k, (from.y - eye.y) * eye.k, (hub.x - eye.x) * eye.k, (hub.y - eye.y) * eye.k];
    pen.strokeStyle = palette.pick;
    pen.globalAlpha = link.load === null ? 0.55 : 0.45 + 0.55 * link.load;
    pen.lineWidth = link.load === null ? 1.5 : 1.5 + 5 * link.load;
    pen.setLineDash(link.load === null ? [5, 4] : []);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.quadraticCurveTo(x1, (y1 + y2) / 2, x2, y2);
    pen.stroke();
    pen.globalAlpha = 1;
    pen.fillStyle = palette.pick;
    pen.beginPath();
    pen.arc(x2, y2, 4, 0, 7);
    pen.fill();
  }
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

/** @param {Box} box */
const middle = (box) => ({ x: box.x + box.w / 2, y: box.y + box.h / 2 });
