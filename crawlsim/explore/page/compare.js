// What if: a second system beside the first, and how far the two differ.

import { draw, sized } from "./svg.js";
import { interval, known, made, number, signed, write } from "./numbers.js";

export class Compared {
  constructor(place) {
    this.place = place;
    this.cells = null;
  }

  clear() {
    this.place.hidden = true;
  }

  show(event) {
    this.place.hidden = !event.other;
    if (!event.other) return;
    this.cells ??= this.#made();
    const one = event.estimates[0];
    const other = event.other.estimates[0];
    const { difference } = event;
    this.#side(this.cells.A, one);
    this.#side(this.cells.B, other);
    write(this.cells.difference.value, signed(difference.estimate, 3));
    write(this.cells.difference.range, `${interval(difference.low, difference.high)} (95 % interval)`);
    write(this.cells.difference.formula, words(difference, one, other));
    drawDifference(this.line, difference);
  }

  #side(cells, row) {
    write(cells.value, number(row.estimate));
    write(cells.range, interval(row.low, row.high));
    write(cells.formula, row.theory === null ? "no formula" : `formula ${known(row)}`);
  }

  #made() {
    const cells = {};
    for (const [name, title] of [["A", "A"], ["B", "B"], ["difference", "B − A"]]) {
      const box = made("div", "", `side ${name}`);
      const parts = { value: made("p", "", "second"), range: made("p", "", "soft"), formula: made("p", "", "soft") };
      box.append(made("h3", title), ...Object.values(parts));
      this.place.append(box);
      cells[name] = parts;
    }
    this.line = draw(this.place, "svg", { class: "chart gap", role: "img" });
    this.line.setAttribute("aria-label", "The difference with its two bands, and 0");
    return cells;
  }
}

/** The difference on a line, with its bands and 0. */
function drawDifference(svg, difference) {
  const { width, height } = sized(svg);
  const font = Number.parseFloat(getComputedStyle(svg).fontSize);
  const ends = ["low", "high", "always_low", "always_high"].map((name) => difference[name]);
  const known = [0, difference.estimate, ...ends.filter(Number.isFinite)];
  const low = Math.min(...known);
  const reach = Math.max(...known) - low || 1;
  const x = (value) => font + ((value - low) / reach) * (width - 2 * font);
  const middle = (height - font * 1.3) / 2;
  svg.replaceChildren();
  draw(svg, "line", { class: "axis", x1: 0, x2: width, y1: middle, y2: middle });
  for (const [name, from, to, high] of [["always", ends[2], ends[3], 18], ["pointwise", ends[0], ends[1], 10]]) {
    if (!Number.isFinite(from) || !Number.isFinite(to)) continue;
    const bar = { x: x(from), width: Math.max(x(to) - x(from), 1), y: middle - high / 2, height: high };
    draw(svg, "rect", { class: name, ...bar });
  }
  draw(svg, "line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: 2 * middle });
  draw(svg, "circle", { class: "estimate", cx: x(difference.estimate), cy: middle, r: 5 });
  draw(svg, "text", { x: x(0), y: height - 3, "text-anchor": "middle" }, "0");
}

/** Whether they differ: no more is said than the always-valid band allows. */
function words(difference, one, other) {
  const { always_low: low, always_high: high } = difference;
  if (low === null || !Number.isFinite(low)) return "no band yet that may be watched";
  const share = one.estimate ? ` by ${number((100 * Math.abs(difference.estimate)) / Math.abs(one.estimate), 2)} %` : "";
  if (low > 0) return `B is larger${share}; 0 is outside of the always-valid band`;
  if (high < 0) return `B is smaller${share}; 0 is outside of the always-valid band`;
  if (other.estimate === one.estimate && low === high) return "no difference at all";
  return `not known yet which is larger: always-valid band ${interval(low, high)}`;
}
