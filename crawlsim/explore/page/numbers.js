// Numbers and names as a reader wants them.

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A number with this many significant digits; a dash where there is none. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(Number(value.toPrecision(digits)));
  if (value === 0) return "0";
  if (size >= 1e6 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    const raised = [...String(Number(exponent))].map((each) => RAISED[each]).join("");
    return minus(`${mantissa} · 10${raised}`);
  }
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return minus(value.toFixed(decimals));
}

/** A number as short as it is: the value of a knob, a tick. */
export function short(value) {
  return minus(String(Number(Number(value).toPrecision(6))));
}

/** How much, with its sign. */
export function signed(value, digits = 2) {
  return value > 0 ? `+${number(value, digits)}` : number(value, digits);
}

/** The ends of an interval, with as many decimals as its width asks for. */
export function interval(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high) || low === null || high === null) return "–";
  const size = Math.max(Math.abs(low), Math.abs(high));
  const decimals = 1 - Math.floor(Math.log10(high - low));
  if (size >= 1e6 || decimals > 6 || high <= low) return `${number(low)} to ${number(high)}`;
  return [low, high].map((each) => minus(each.toFixed(Math.max(0, decimals)))).join(" to ");
}

function minus(text) {
  return text.replace("-", "−");
}

/** A measure and its subject in words. */
export function nameOf(measure, subject) {
  const words = measure.replaceAll("_", " ");
  return subject === null || subject === undefined ? words : `${words} ${subject}`;
}

/** What the formula of a row says: a number, or a bound. */
export function known(row) {
  return row.sign ? `${row.sign}\u202f${number(row.theory)}` : number(row.theory);
}

/** Set a text only where it changes: nothing else is laid out or read out anew. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set an attribute data-NAME; remove it where there is no value. */
export function mark(element, name, value) {
  if (value === null || value === undefined) delete element.dataset[name];
  else if (element.dataset[name] !== String(value)) element.dataset[name] = value;
}

/** An element with a class and a text. */
export function made(tag, text = "", className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}
