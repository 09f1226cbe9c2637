// The course of the estimate: its two bands as they narrow, the formula as a line, the guess as a mark.

import { draw, sized, step, tickText, ticks } from "./svg.js";

const FIRST = 10; // looks before have intervals so wide that nothing else could be seen

export class Course {
  constructor(svg) {
    this.svg = svg;
    this.range = null;
  }

  clear() {
    this.range = null;
    this.svg.replaceChildren();
  }

  /**
   * @param {object[]} looks - n, estimate, low, high, alwaysLow, alwaysHigh, other
   * @param {{theory: number|null, sign: string|null, guess: number|null}} lines
   */
  draw(looks, { theory, sign, guess }) {
    if (!looks.length) return;
    const { width, height } = sized(this.svg);
    const font = Number.parseFloat(getComputedStyle(this.svg).fontSize);
    const last = looks.at(-1);
    const [low, high] = this.#rangeOf(looks, theory, guess);
    const size = step(low, high, 5);
    const values = ticks(low, high, 5).filter((value) => value > low - size / 9 && value < high + size / 9);
    const labels = values.map((value) => tickText(value, size));
    const widest = Math.max(...labels.map((label) => label.length));
    const box = {
      left: widest * font * 0.6 + 10,
      right: width - font * 6.2,
      top: font * 0.7,
      bottom: height - font * 2.6,
    };
    const most = untilOf(last.n);
    const x = (n) => box.left + (n / most) * (box.right - box.left);
    const y = (value) => {
      const inside = Math.min(Math.max(value, low), high);
      return box.bottom - ((inside - low) / (high - low)) * (box.bottom - box.top);
    };

    const { svg } = this;
    svg.replaceChildren();
    values.forEach((value, place) => {
      draw(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: y(value), y2: y(value) });
      const at = { x: box.left - 7, y: y(value) + font * 0.35, "text-anchor": "end" };
      draw(svg, "text", at, labels[place]);
    });
    for (const n of ticks(0, most, width < 500 ? 3 : 5)) {
      if (n > most) continue;
      draw(svg, "text", { x: x(n), y: box.bottom + font * 1.2, "text-anchor": "middle" }, n);
    }
    const middle = (box.left + box.right) / 2;
    const under = { x: middle, y: height - font * 0.35, "text-anchor": "middle" };
    draw(svg, "text", under, "replications");

    band(svg, looks, "alwaysLow", "alwaysHigh", x, y, "always");
    band(svg, looks, "low", "high", x, y, "pointwise");
    const names = [];
    const across = (value, name, text) => {
      draw(svg, "line", { class: name, x1: box.left, x2: box.right, y1: y(value), y2: y(value) });
      const beyond = value > high ? " ↑" : value < low ? " ↓" : "";
      names.push({ at: y(value), name, text: text + beyond });
    };
    if (theory !== null) across(theory, "theory", sign ? "bound" : "formula");
    if (guess !== null) across(guess, "guess", "guess");
    if (last.other !== null) {
      line(svg, looks, "other", x, y);
      names.push({ at: y(last.other), name: "other", text: "B" });
    }
    line(svg, looks, "estimate", x, y);
    draw(svg, "circle", { class: "estimate", cx: x(last.n), cy: y(last.estimate), r: 4 });
    names.push({ at: y(last.estimate), name: "estimate", text: last.other === null ? "estimate" : "A" });
    for (const { at, name, text } of apart(names, font * 1.15, box)) {
      draw(svg, "text", { class: name, x: box.right + 7, y: at + font * 0.35 }, text);
    }
  }

  /** A range that follows the bands, but changes seldom. */
  #rangeOf(looks, theory, guess) {
    const last = looks.at(-1);
    const late = looks.filter((look) => look.n >= Math.max(FIRST, last.n / 3));
    const from = late.length ? late : looks.slice(-1);
    const values = from.flatMap((each) => [each.low, each.high, each.alwaysLow, each.alwaysHigh, each.other]);
    const known = [...values, theory].filter((value) => value !== null && Number.isFinite(value));
    if (!known.length) known.push(last.estimate);
    let low = Math.min(...known);
    let high = Math.max(...known);
    const reach = high - low || Math.abs(high) || 1;
    if (guess !== null && guess > low - 1.5 * reach && guess < high + 1.5 * reach) {
      low = Math.min(low, guess);
      high = Math.max(high, guess);
    }
    const margin = (high - low || reach) * 0.06;
    const ends = ticks(low - margin, high + margin, 5);
    const wanted = [ends[0], ends.at(-1)];
    const { range } = this;
    const holds = range && range[0] <= low && range[1] >= high;
    if (!holds || range[1] - range[0] > 1.4 * (wanted[1] - wanted[0])) this.range = wanted;
    return this.range;
  }
}

/** The right end of the axis: a round number that is not reached at once. */
export function untilOf(n) {
  const least = Math.max(1.02 * n, 50);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 3, 5, 10].map((each) => each * power).find((each) => each >= least);
}

function band(svg, looks, low, high, x, y, name) {
  const known = looks.filter((look) => look[low] !== null && look[high] !== null);
  if (known.length < 2) return;
  const above = known.map((look) => `${x(look.n).toFixed(1)},${y(look[high]).toFixed(1)}`);
  const below = known.map((look) => `${x(look.n).toFixed(1)},${y(look[low]).toFixed(1)}`);
  draw(svg, "polygon", { class: name, points: [...above, ...below.reverse()].join(" ") });
}

function line(svg, looks, name, x, y) {
  const known = looks.filter((look) => look[name] !== null);
  const points = known.map((look) => `${x(look.n).toFixed(1)},${y(look[name]).toFixed(1)}`);
  draw(svg, "polyline", { class: name, points: points.join(" ") });
}

/** Names beside the lines that they belong to, none over another. */
function apart(names, gap, box) {
  const sorted = names.toSorted((one, other) => one.at - other.at);
  for (let place = 1; place < sorted.length; place += 1) {
    sorted[place].at = Math.max(sorted[place].at, sorted[place - 1].at + gap);
  }
  let lowest = box.bottom;
  for (const each of sorted.toReversed()) {
    each.at = Math.min(each.at, lowest);
    lowest = each.at - gap;
  }
  return sorted;
}
