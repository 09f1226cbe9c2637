// The claim: the estimate, its bands, the formula, and whether the two agree.

import { interval, known, mark, nameOf, number, signed, write } from "./numbers.js";

const CLASS = { agrees: "badge agrees", disagrees: "badge disagrees", "not yet": "badge inconclusive" };

const find = (id) => document.getElementById(id);

/** The words that do not change with the replications. */
export function showMeasure(lesson) {
  const unit = lesson.unit === "share" ? "" : ` (${lesson.unit})`;
  write(find("measure"), `${sentence(lesson.definition ?? nameOf(lesson.measure, lesson.subject))}${unit}`);
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Nothing is known yet. */
export function clearClaim() {
  for (const id of ["estimate", "theory"]) write(find(id), "…");
  for (const id of ["pointwise", "always", "difference"]) write(find(id), "–");
  for (const name of ["value", "n"]) mark(find("estimate"), name, null);
  mark(find("theory"), "value", null);
  for (const id of ["pointwise", "always"]) showBand(find(id), null, null);
  write(find("count"), "0");
  for (const id of ["narrow", "left"]) write(find(id), "");
  showVerdict("not yet");
}

/** What an event says of the lesson's own measure. */
export function showClaim(event, narrow) {
  const row = event.estimates[0];
  const estimate = find("estimate");
  mark(estimate, "value", row.estimate);
  mark(estimate, "n", event.n);
  mark(estimate, "measure", row.measure);
  mark(estimate, "subject", row.subject);
  write(estimate, number(row.estimate));
  write(find("count"), String(event.n));
  showBand(find("pointwise"), row.low, row.high);
  write(find("pointwise"), interval(row.low, row.high));
  showBand(find("always"), row.always_low, row.always_high);
  const left = row.interval_left_at;
  write(find("left"), left === null ? "" : `; the formula was outside at n\u202f=\u202f${left}`);
  write(find("level"), percent(event.level));
  write(find("always"), interval(row.always_low, row.always_high));
  const theory = find("theory");
  mark(theory, "value", row.theory);
  write(theory, row.theory === null ? (row.verdict === null ? "none" : "…") : known(row));
  write(find("difference"), row.theory === null ? "–" : differenceText(row));
  showVerdict(row.verdict);
  write(find("narrow"), narrowText(event, row, narrow));
}

function showBand(element, low, high) {
  mark(element, "low", low);
  mark(element, "high", high);
}

function showVerdict(word) {
  const verdict = find("verdict");
  const shown = word ?? "no formula";
  mark(verdict, "word", shown);
  write(verdict, shown);
  const name = CLASS[shown] ?? "badge";
  if (verdict.className !== name) verdict.className = name;
}

/** How far the estimate is from the formula, as a share of it where it is not 0. */
function differenceText(row) {
  const off = row.estimate - row.theory;
  return row.theory ? `${signed((100 * off) / Math.abs(row.theory))}\u202f%` : signed(off);
}

/** How narrow the band is, and when it was left. */
function narrowText(event, row, narrow) {
  if (row.verdict === null) return "no formula covers this";
  if (row.verdict === "disagrees") {
    return `outside of the ${percent(event.level)} band since n\u202f=\u202f${row.band_left_at}`;
  }
  if (row.always_low === null) return "no always-valid band yet";
  const half = (row.always_high - row.always_low) / 2;
  const width = row.theory ? percent(half / Math.abs(row.theory)) : number(half, 2);
  const goal = row.verdict === "agrees" ? "" : `, goal ±${percent(narrow)}`;
  return `band ±${width}${goal}`;
}

function percent(share) {
  return `${number(100 * share, 2)}\u202f%`;
}
