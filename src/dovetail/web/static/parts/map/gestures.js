/** Wheel, drag, pinch and click on the map. One finger on a map that is seen whole scrolls the page. */

/** @typedef {{zoom: (factor: number, x?: number, y?: number) => void, pan: (dx: number, dy: number) => void, hit: (x: number, y: number) => void, hover: (x: number, y: number) => void}} Moved */

const SLACK = 4; // pixels: less is a click

export class Gestures {
  /** @param {HTMLCanvasElement} canvas @param {Moved} map @param {AbortSignal} signal */
  constructor(canvas, map, signal) {
    this.canvas = canvas;
    this.map = map;
    /** @type {Map<number, {x: number, y: number}>} */
    this.down = new Map();
    this.moved = 0;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
    canvas.addEventListener("pointerdown", (event) => this.begin(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.move(event), { signal });
    for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) canvas.addEventListener(kind, (event) => this.end(event), { signal });
    canvas.addEventListener("pointerleave", () => map.hover(-1e6, -1e6), { signal });
  }

  /** @param {MouseEvent} event */
  at(event) {
    const frame = this.canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const { x, y } = this.at(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    this.map.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
  }

  /** @param {PointerEvent} event */
  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, this.at(event));
    if (this.down.size === 1) this.moved = 0;
  }

  /** @param {PointerEvent} event */
  move(event) {
    const now = this.at(event);
    const before = this.down.get(event.pointerId);
    if (!before) return this.map.hover(now.x, now.y);
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    this.moved += Math.hypot(dx, dy);
    const other = [...this.down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
      this.map.zoom(Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y)), middle.x, middle.y);
      this.map.pan(dx / 2, dy / 2);
    } else if (this.moved > SLACK) this.map.pan(dx, dy);
    this.down.set(event.pointerId, now);
  }

  /** @param {PointerEvent} event */
  end(event) {
    const there = this.at(event);
    const wasOne = this.down.size === 1;
    this.down.delete(event.pointerId);
    if (event.type === "pointerup" && wasOne && this.moved <= SLACK && event.button === 0) this.map.hit(there.x, there.y);
  }
}
