// What if: a second system beside the first, and how far the two differ.

import { interval, made, number, signed, write } from "./numbers.js";

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
  }

  #side(cells, row) {
    write(cells.value, number(row.estimate));
    write(cells.range, interval(row.low, row.high));
    write(cells.formula, row.theory === null ? "no formula" : `formula ${number(row.theory)}`);
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
    return cells;
  }
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
