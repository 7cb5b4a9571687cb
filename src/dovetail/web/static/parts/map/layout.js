/** Where everything is on the map: domains as boxes in boxes, nodes as cells, in the order of their names. */

/** @typedef {import("./model.js").MapModel} MapModel */
/** @typedef {import("./model.js").MapNode} MapNode */

/** A domain, or several that hold only one another. `names`: theirs, the widest first; `head`: the height of its title.
 * @typedef {{names: string[], level: string, rows: number[], boxes: Box[], all: number[], columns: number, gap: number, x: number, y: number, w: number, h: number, head: number}} Box */

/** @typedef {{root: Box, boxes: Box[]}} Layout */

export const CELL = { w: 30, h: 22, gap: 4 };
const HEADS = [8, 18, 22, 26, 30];
const TITLE = 17; // pixels that a title needs
const INSET = 6;
const SHAPES = [0.3, 0.45, 0.7, 1, 1.5, 2.4, 4.5, 8]; // width to height of domains: the one that lets the map be largest
const order = new Intl.Collator("en", { numeric: true });

/** @param {MapModel} model @param {number} width of what the map is shown in @param {number} height @returns {Layout} */
export function layOut(model, width, height) {
  const root = grouped(model);
  const scale = (/** @type {number} */ shape, /** @type {number[]} */ heads) => {
    measure(root, width / height, shape, heads, true);
    return Math.min(width / root.w, height / root.h);
  };
  const best = (/** @type {number[]} */ heads) => SHAPES.reduce((one, shape) => (scale(shape, heads) > scale(one, heads) ? shape : one));
  const first = scale(best(HEADS), HEADS);
  const heads = HEADS.map((head, storey) => (storey ? Math.min(60, Math.max(head, TITLE / first)) : head));
  scale(best(heads), heads);
  /** @type {Box[]} */
  const boxes = [];
  place(root, 0, 0, model, boxes);
  return { root, boxes };
}

/** The tree of domains; nodes that are in none are together by backend. @param {MapModel} model @returns {Box} */
function grouped(model) {
  const made = model.domains.map((domain) => empty(domain.name, model.levels[domain.level] ?? ""));
  const root = empty("", "");
  model.domains.forEach((domain, index) => (made[domain.parent] ?? root).boxes.push(made[index]));
  /** @type {Map<number, Box>} */
  const alone = new Map();
  for (const node of model.nodes.values()) {
    let box = made[node.domain] ?? alone.get(node.backend);
    if (!box) {
      box = empty(model.backends[node.backend] ?? "", "backend");
      alone.set(node.backend, box);
      root.boxes.push(box);
    }
    box.rows.push(node.row);
  }
  return tidy(root, model);
}

/** @param {string} name @param {string} level @returns {Box} */
const empty = (name, level) => ({ names: [name], level, rows: [], boxes: [], all: [], columns: 1, gap: 0, x: 0, y: 0, w: 0, h: 0, head: 0 });

/** Nodes of a backend that are in no domain. @param {Box} box */
export const isAlone = (box) => box.level === "backend";

/** Without domains that have no nodes, and with one box for several that hold only one another. @param {Box} box @param {MapModel} model @returns {Box} */
function tidy(box, model) {
  const name = (/** @type {number} */ row) => model.nodes.get(row)?.name ?? "";
  box.boxes = box.boxes.map((one) => tidy(one, model)).filter((one) => one.all.length);
  box.boxes.sort((a, b) => Number(isAlone(a)) - Number(isAlone(b)) || order.compare(a.names[0], b.names[0]));
  box.rows.sort((a, b) => order.compare(name(a), name(b)));
  box.all = [...box.rows, ...box.boxes.flatMap((one) => one.all)];
  const [only] = box.boxes;
  if (box.names[0] && only && box.boxes.length === 1 && !box.rows.length) return { ...only, names: [...box.names, ...only.names] };
  return box;
}

/** How many domains are inside one another here. @param {Box} box @returns {number} */
const storeys = (box) => (box.boxes.length ? 1 + Math.max(...box.boxes.map(storeys)) : 0);

/** Sets the size of a box. @param {Box} box @param {number} aspect wanted here @param {number} shape wanted of the domains inside @param {number[]} heads by storey
 * @param {boolean} [isRoot] */
function measure(box, aspect, shape, heads, isRoot = false) {
  const height = storeys(box);
  box.head = isRoot ? 0 : heads[height === 0 && (box.rows.length > 10 || isAlone(box)) ? 1 : Math.min(height, heads.length - 1)];
  for (const one of box.boxes) measure(one, height > 2 && box.boxes.length === 1 ? aspect : shape, shape, heads);
  const cells = cellGrid(box.rows.length);
  const packed = pack(box.boxes, aspect, isRoot);
  box.columns = packed.columns;
  box.gap = packed.gap;
  const inset = insetOf(box);
  box.w = Math.max(cells.width, packed.width) + 2 * inset;
  box.h = cells.height + packed.height + (cells.height && packed.height ? INSET : 0) + inset + (box.head || inset);
}

/** @param {Box} box */
const insetOf = (box) => (box.names[0] === "" ? 0 : storeys(box) || box.rows.length > 10 ? INSET : INSET / 2);

/** @param {number} count of nodes */
function cellGrid(count) {
  const columns = count <= 10 ? count : count <= 60 ? 10 : Math.ceil(Math.sqrt(count * 1.5));
  const rows = columns ? Math.ceil(count / columns) : 0;
  return { columns, width: Math.max(0, columns * (CELL.w + CELL.gap) - CELL.gap), height: Math.max(0, rows * (CELL.h + CELL.gap) - CELL.gap) };
}

/** As many columns as come nearest to the wanted shape; for the whole map, as let it be largest. @param {Box[]} boxes @param {number} aspect @param {boolean} isRoot */
function pack(boxes, aspect, isRoot) {
  const gap = boxes.some((box) => box.boxes.length) ? INSET * 1.5 : INSET / 2;
  let best = { columns: 1, width: 0, height: 0, gap, cost: Infinity };
  for (let columns = 1; columns <= boxes.length; columns += 1) {
    /** @type {number[]} */
    const heights = Array(Math.ceil(boxes.length / columns)).fill(0);
    boxes.forEach((box, index) => (heights[Math.floor(index / columns)] = Math.max(heights[Math.floor(index / columns)], box.h)));
    const width = columnWidths(boxes, columns).reduce((sum, one) => sum + one + gap, -gap);
    const height = heights.reduce((sum, one) => sum + one + gap, -gap);
    const ragged = (columns * heights.length - boxes.length) / boxes.length;
    const cost = isRoot ? Math.max(width / aspect, height) : Math.abs(Math.log(width / height / aspect)) + ragged;
    if (cost < best.cost) best = { columns, width, height, gap, cost };
  }
  return best;
}

/** Sets the place of a box and of everything in it. @param {Box} box @param {number} x @param {number} y @param {MapModel} model @param {Box[]} into */
function place(box, x, y, model, into) {
  box.x = x;
  box.y = y;
  if (box.names[0]) into.push(box);
  const inset = insetOf(box);
  let top = y + (box.head || inset);
  const cells = cellGrid(box.rows.length);
  box.rows.forEach((row, index) => {
    const node = model.nodes.get(row);
    if (!node) return;
    node.x = x + inset + (index % cells.columns) * (CELL.w + CELL.gap);
    node.y = top + Math.floor(index / cells.columns) * (CELL.h + CELL.gap);
    node.w = CELL.w;
    node.h = CELL.h;
  });
  if (box.rows.length) top += cells.height + INSET;
  const wide = columnWidths(box.boxes, box.columns);
  for (let first = 0; first < box.boxes.length; first += box.columns) {
    const shelf = box.boxes.slice(first, first + box.columns);
    let left = x + inset;
    shelf.forEach((one, column) => {
      place(one, left, top, model, into);
      left += wide[column] + box.gap;
    });
    top += Math.max(...shelf.map((one) => one.h)) + box.gap;
  }
}

/** @param {Box[]} boxes @param {number} columns @returns {number[]} */
function columnWidths(boxes, columns) {
  const widths = Array(columns).fill(0);
  boxes.forEach((box, index) => (widths[index % columns] = Math.max(widths[index % columns], box.w)));
  return widths;
}
