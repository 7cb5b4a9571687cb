/** What is where on the map, and what to look at to see it. */

/** @typedef {import("./drawing.js").Eye} Eye */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */

/** All of a box, in the middle. @param {{x: number, y: number, w: number, h: number}} box @param {number} width @param {number} height @returns {Eye} */
export function fitted(box, width, height) {
  const k = Math.min((width - 16) / Math.max(1, box.w), (height - 16) / Math.max(1, box.h), 6);
  return { x: box.x + box.w / 2 - width / 2 / k, y: box.y + box.h / 2 - height / 2 / k, k };
}

/** What to look at for a domain or a node. @param {Layout} layout @param {MapModel} model @param {string} name @param {number} width @param {number} height @returns {Eye | null} */
export function within(layout, model, name, width, height) {
  const box = boxNamed(layout, name);
  if (box) return fitted(box, width, height);
  for (const node of model.nodes.values()) if (node.name === name) return fitted({ x: node.x - 4 * node.w, y: node.y - 4 * node.h, w: 9 * node.w, h: 9 * node.h }, width, height);
  return null;
}

/** @param {Layout} layout @param {string} name */
export const boxNamed = (layout, name) => layout.boxes.find((box) => box.names.includes(name));

/** @param {{x: number, y: number, w: number, h: number}} one @param {number} x @param {number} y */
const holds = (one, x, y) => x >= one.x && y >= one.y && x <= one.x + one.w && y <= one.y + one.h;

/** The narrowest domain at a point of the screen. @param {Layout} layout @param {Eye} eye @param {number} x @param {number} y @returns {Box | undefined} */
export function boxAt(layout, eye, x, y) {
  const [left, up] = [eye.x + x / eye.k, eye.y + y / eye.k];
  return layout.boxes.findLast((box) => holds(box, left, up)); // a box stands after those around it
}

/** @param {Layout} layout @param {MapModel} model @param {Eye} eye @param {number} x @param {number} y @returns {MapNode | undefined} */
export function nodeAt(layout, model, eye, x, y) {
  const [left, up] = [eye.x + x / eye.k, eye.y + y / eye.k];
  const box = boxAt(layout, eye, x, y);
  for (const row of box?.rows ?? []) {
    const node = model.nodes.get(row);
    if (node && holds(node, left, up)) return node;
  }
  return undefined;
}

/** The next node in a direction; the first, the one nearest to the middle of the screen.
 * @param {MapModel} model @param {MapNode | undefined} from @param {number[]} arrow @param {Eye} eye @param {number} width @param {number} height */
export function neighbour(model, from, arrow, eye, width, height) {
  const start = from ?? { x: eye.x + width / 2 / eye.k, y: eye.y + height / 2 / eye.k };
  let best;
  let least = Infinity;
  for (const node of model.nodes.values()) {
    const [dx, dy] = [node.x - start.x, node.y - start.y];
    const along = dx * arrow[0] + dy * arrow[1];
    if (from && along < 1) continue;
    const far = from ? along + 4 * Math.abs(dx * arrow[1] + dy * arrow[0]) : Math.hypot(dx, dy);
    if (far < least) [best, least] = [node, far];
  }
  return best;
}
