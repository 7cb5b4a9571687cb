/** The cluster as the map draws it: all of it once, then what has changed. */

/** @typedef {import("../../types").Schemas["TopologyMap"]} MapAnswer */
/** @typedef {import("../../types").Schemas["MapDomain"]} MapDomain */

/** `x` to `h`: where its cell is, in units of the map; set by the layout.
 * @typedef {{row: number, name: string, domain: number, backend: number, gpus: number, used: string, use: number, cpu: number, memory: number,
 *   health: number, tenant: number, fragment: number | null, forecast: number | null, x: number, y: number, w: number, h: number}} MapNode */

/** The share of a GPU that a character of `gpu_used` stands for. @param {string} letter */
export const shareOf = (letter) => (letter === "A" ? 1 : Number(letter) / 10);

export class MapModel {
  constructor() {
    /** @type {Map<number, MapNode>} */
    this.nodes = new Map();
    /** @type {MapDomain[]} */
    this.domains = [];
    /** @type {string[]} */
    this.levels = [];
    /** @type {string[]} */
    this.legend = [];
    /** @type {string[]} */
    this.tenants = [];
    /** @type {string[]} */
    this.backends = [];
    this.version = "";
    this.shape = 0; // grows when nodes come, go or move: they get new places then
  }

  /** @param {MapAnswer} answer */
  apply(answer) {
    const { nodes: columns, domains } = answer;
    let isMoved = answer.full;
    if (answer.full) this.nodes.clear();
    if (domains) this.domains = domains;
    this.levels = answer.levels;
    this.legend = answer.legend;
    this.tenants = answer.tenants;
    this.backends = answer.backends;
    for (const row of answer.gone) isMoved = this.nodes.delete(row) || isMoved;
    columns.row.forEach((row, place) => {
      const before = this.nodes.get(row);
      const node = nodeAt(columns, place, before);
      if (before === undefined || before.domain !== node.domain || before.name !== node.name) isMoved = true;
      this.nodes.set(row, node);
    });
    if (isMoved) this.shape += 1;
    this.version = answer.version;
  }

  /** The domains around a node, the widest first. @param {MapNode} node */
  placeOf(node) {
    const names = [];
    for (let index = node.domain; index >= 0; index = this.domains[index].parent) names.unshift(this.domains[index].name);
    return names.length ? names : [this.backends[node.backend] ?? ""];
  }
}

/** @param {MapAnswer["nodes"]} columns @param {number} place @param {MapNode | undefined} before @returns {MapNode} */
function nodeAt(columns, place, before) {
  const used = columns.gpu_used[place];
  const gpus = columns.gpus[place];
  let sum = 0;
  for (const letter of used) sum += shareOf(letter);
  return {
    row: columns.row[place],
    name: columns.name[place],
    domain: columns.domain[place],
    backend: columns.backend[place],
    gpus,
    used,
    use: gpus ? sum / gpus : columns.cpu_share[place],
    cpu: columns.cpu_share[place],
    memory: columns.memory_share[place],
    health: columns.health[place],
    tenant: columns.tenant[place],
    fragment: columns.fragment[place],
    forecast: columns.forecast[place],
    x: before?.x ?? 0,
    y: before?.y ?? 0,
    w: before?.w ?? 0,
    h: before?.h ?? 0,
  };
}
