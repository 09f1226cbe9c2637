// The other measures, as a table; those of many levels or pages unfold.

import { interval, known, made, mark, nameOf, number, write } from "./numbers.js";

const CLASS = { agrees: "agrees", disagrees: "disagrees", "not yet": "inconclusive" };
const WAIT = 250; // milliseconds between two times that it is written
const FOLDED = 4; // rows of one measure from which on they are folded

export class Measures {
  constructor(table) {
    this.table = table;
    this.rows = null;
    this.written = 0;
  }

  clear() {
    for (const body of [...this.table.tBodies]) body.remove();
    this.rows = null;
  }

  /** Write it, unless it was written just now. */
  show(event, atOnce) {
    const now = performance.now();
    if (!atOnce && now - this.written < WAIT) return;
    this.written = now;
    const others = event.estimates.slice(1);
    const names = others.map((row) => nameOf(row.measure, row.subject));
    if (this.rows === null || names.some((name) => !this.rows.has(name))) this.#make(others);
    others.forEach((row, place) => writeRow(this.rows.get(names[place]), row, event.n));
  }

  #make(others) {
    this.clear();
    this.rows = new Map();
    for (const [measure, rows] of Map.groupBy(others, (row) => row.measure)) {
      const body = document.createElement("tbody");
      if (rows.length >= FOLDED && typeof rows[0].subject === "number") body.append(fold(body, measure, rows.length));
      for (const row of rows) {
        const name = nameOf(row.measure, row.subject);
        const cells = madeRow(row, name);
        this.rows.set(name, cells);
        body.append(cells.line);
      }
      this.table.append(body);
    }
  }
}

/** The row that unfolds the others of a measure. */
function fold(body, measure, count) {
  body.className = "group";
  const line = document.createElement("tr");
  const head = document.createElement("th");
  const button = made("button", `${nameOf(measure)} (${count})`);
  head.colSpan = 6;
  head.scope = "rowgroup";
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", String(body.classList.toggle("open")));
  });
  head.append(button);
  line.append(head);
  return line;
}

function madeRow(row, name) {
  const line = document.createElement("tr");
  const head = made("th", name);
  head.scope = "row";
  const cells = {
    estimate: made("td", "", "n"),
    pointwise: made("td", "", "n wide"),
    always: made("td", "", "n wide"),
    theory: made("td", "", "n"),
  };
  for (const [testid, cell] of Object.entries(cells)) {
    cell.dataset.testid = testid;
    mark(cell, "measure", row.measure);
    mark(cell, "subject", row.subject);
  }
  const word = document.createElement("td");
  const badge = made("span", "", "word");
  word.append(badge);
  line.append(head, ...Object.values(cells), word);
  return { ...cells, badge, line };
}

function writeRow(cells, row, n) {
  mark(cells.estimate, "value", row.estimate);
  mark(cells.estimate, "n", n);
  write(cells.estimate, number(row.estimate));
  mark(cells.pointwise, "low", row.low);
  mark(cells.pointwise, "high", row.high);
  write(cells.pointwise, interval(row.low, row.high));
  mark(cells.always, "low", row.always_low);
  mark(cells.always, "high", row.always_high);
  write(cells.always, interval(row.always_low, row.always_high));
  mark(cells.theory, "value", row.theory);
  write(cells.theory, known(row));
  write(cells.badge, row.verdict ?? "no formula");
  const name = `word ${CLASS[row.verdict] ?? ""}`;
  if (cells.badge.className !== name) cells.badge.className = name;
}
