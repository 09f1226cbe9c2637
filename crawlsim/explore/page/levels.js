// What has a number for each level of the queue, or for each page: the formula as bars, estimates as points.

import { nameOf, write } from "./numbers.js";
import { draw, sized, step, tickText, ticks } from "./svg.js";

const LEVELS = "level_probability";
const LEAST = 3;

/** The rows to be drawn: the levels of the queue, or else the first measure of pages. */
export function countedRows(estimates) {
  const counted = estimates.filter((row) => typeof row.subject === "number");
  const levels = counted.filter((row) => row.measure === LEVELS);
  const rows = levels.length ? levels : counted.filter((row) => row.measure === counted[0].measure);
  return rows.length < LEAST ? [] : rows.toSorted((one, other) => one.subject - other.subject);
}

export class Levels {
  constructor(section, svg, title) {
    this.section = section;
    this.svg = svg;
    this.title = title;
    this.top = null;
  }

  clear() {
    this.top = null;
  }

  draw(estimates) {
    const rows = countedRows(estimates);
    this.section.hidden = !rows.length;
    if (!rows.length) return;
    const ofQueue = rows[0].measure === LEVELS;
    write(this.title, ofQueue ? "How full is the system?" : `The pages: ${nameOf(rows[0].measure)}`);
    const { svg } = this;
    const { width, height } = sized(svg);
    const font = Number.parseFloat(getComputedStyle(svg).fontSize);
    const highest = Math.max(...rows.map((row) => Math.max(row.high ?? row.estimate, row.theory ?? 0)));
    if (this.top === null || highest > this.top || highest < this.top / 2) {
      this.top = ticks(0, highest * 1.05 || 1, 4).at(-1);
    }
    const values = ticks(0, this.top, 4);
    const labels = values.map((value) => tickText(value, step(0, this.top, 4)));
    const widest = Math.max(...labels.map((label) => label.length));
    const box = {
      left: widest * font * 0.6 + 10,
      right: width - 8,
      top: font * 0.7,
      bottom: height - font * 2.6,
    };
    const wide = (box.right - box.left) / rows.length;
    const y = (value) => box.bottom - (Math.min(value, this.top) / this.top) * (box.bottom - box.top);
    svg.replaceChildren();
    values.forEach((value, place) => {
      draw(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) });
      const at = { x: box.left - 7, y: y(value) + font * 0.35, "text-anchor": "end" };
      draw(svg, "text", at, labels[place]);
    });
    const every = Math.ceil((font * 2) / wide);
    rows.forEach((row, place) => {
      const middle = box.left + (place + 0.5) * wide;
      if (row.theory !== null) {
        const bar = { x: middle - wide * 0.36, width: wide * 0.72, y: y(row.theory) };
        draw(svg, "rect", { class: "bar", ...bar, height: box.bottom - y(row.theory) });
      }
      if (row.low !== null && row.high !== null) {
        draw(svg, "line", { class: "whisker", x1: middle, x2: middle, y1: y(row.low), y2: y(row.high) });
      }
      const radius = Math.min(5, Math.max(2, wide * 0.16));
      if (row.estimate !== null) draw(svg, "circle", { class: "dot", cx: middle, cy: y(row.estimate), r: radius });
      if (place % every === 0) {
        draw(svg, "text", { x: middle, y: box.bottom + font * 1.2, "text-anchor": "middle" }, row.subject);
      }
    });
    const under = { x: (box.left + box.right) / 2, y: height - font * 0.35, "text-anchor": "middle" };
    draw(svg, "text", under, ofQueue ? "pages in the system" : "page");
  }
}
