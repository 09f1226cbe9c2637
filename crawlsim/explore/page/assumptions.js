// The formula with the numbers put in, and which of its assumptions are kept.

import { made, mark, number, write } from "./numbers.js";

const BETWEEN = new Set(["=", "+", "-", "−"]);

const find = (id) => document.getElementById(id);

/** The formula as the book has it, and with numbers where they are known. */
export function showFormula(formula) {
  const place = find("formula");
  place.classList.remove("pending");
  const texts = formula === null ? [] : [formula.mathml, formula.mathml_numbers];
  place.replaceChildren(...texts.filter(Boolean).map(lineOf));
  showLegend(formula);
  fitFormulas();
}

/** What each symbol stands for. */
function showLegend(formula) {
  const items = (formula?.legend ?? []).map(({ mathml, words }) => {
    const item = made("li");
    const symbol = new DOMParser().parseFromString(mathml, "text/html").querySelector("math");
    item.append(document.importNode(symbol, true), words);
    return item;
  });
  find("legend").replaceChildren(...items);
}

/** Where an assumption is broken: the formula that holds for what is simulated, if there is one. */
export function showHolding(broken, row) {
  const place = find("holds");
  mark(place, "value", row?.value ?? null);
  if (!broken) write(place, "");
  else if (row === null) write(place, "No formula is known for what you simulate; the nearest is the one shown.");
  else write(place, `The formula that holds for what you simulate: ${number(row.value)} (${row.name ?? row.source})`);
}

/** Which formula gives the value: that which is shown, or another one. */
export function showSource(formula, { verdict, source, formula: name }) {
  const none = verdict === null ? "No formula covers this." : "";
  const other = formula === null || source === formula.source ? "" : " The formula above does not cover this.";
  write(find("formula-note"), source === null ? none : `The value is that of ${name}.${other}`);
}

/**
 * A line of mathematics, in parts that may stand below each other: browsers break no formula, so that
 * each sign between two terms begins a part of its own, and each statement after a wide space. Such a
 * statement keeps what it defines together with its first sign.
 */
function lineOf(mathml) {
  const line = made("div", "", "line");
  const math = new DOMParser().parseFromString(mathml, "text/html").querySelector("math");
  if (math === null) return line;
  const terms = math.children.length === 1 ? math.firstElementChild : math;
  let part = null;
  let defines = false;
  for (const each of [...terms.children]) {
    if (part !== null && isWide(each)) {
      part.append(document.importNode(each, true));
      part = null;
      defines = true;
      continue;
    }
    const begins = each.localName === "mo" && BETWEEN.has(each.textContent.trim());
    if (part === null || (begins && !defines)) {
      part = document.createElementNS(math.namespaceURI, "math");
      part.setAttribute("displaystyle", "true");
      line.append(part);
    }
    if (begins) {
      each.setAttribute("form", "infix");
      defines = false;
    }
    part.append(document.importNode(each, true));
  }
  return line;
}

/** Whether it is the space between two statements. */
const isWide = (each) => each.localName === "mspace" && parseFloat(each.getAttribute("width")) >= 1;

/** A part that is still too long is drawn smaller. */
export function fitFormulas() {
  for (const line of document.querySelectorAll("#formula .line")) {
    line.style.fontSize = "";
    const widest = Math.max(...[...line.children].map((part) => part.getBoundingClientRect().width));
    const share = line.clientWidth / widest;
    if (share < 1) line.style.fontSize = `${share * 0.97}em`;
  }
}

/** The list of assumptions, each kept or broken. */
export function showAssumptions(assumptions) {
  const items = assumptions.map(({ text, kept }) => {
    const item = made("li", "", kept ? "kept" : "broken");
    item.append(made("span", text), made("strong", kept ? " kept" : " broken"));
    return item;
  });
  find("assumptions").replaceChildren(...items);
}

/** One sentence for each assumption that is broken, these first; an empty one for each other. */
export function showBroken(assumptions, broken) {
  const place = find("assumptions-broken");
  const texts = new Map(broken.map((each) => [each.key, each.text]));
  const keys = [...texts.keys(), ...assumptions.map((each) => each.key).filter(Boolean)];
  const sentences = [...new Set(keys)].map((key) => {
    const sentence = [...place.children].find((each) => each.dataset.key === key) ?? sentenceOf(key);
    write(sentence, texts.get(key) ?? "");
    return sentence;
  });
  const stand = [...place.children];
  if (sentences.some((each, at) => each !== stand[at])) place.prepend(...sentences);
  for (const each of stand) if (!sentences.includes(each)) each.remove();
}

function sentenceOf(key) {
  const sentence = made("p", "", "broken-one");
  sentence.setAttribute("role", "status");
  mark(sentence, "testid", "assumption");
  mark(sentence, "key", key);
  return sentence;
}
