// Drawing: elements of an SVG, and axes whose ticks are round numbers.

const SPACE = "http://www.w3.org/2000/svg";

/** A new element within another. */
export function draw(parent, name, attributes, text) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** Round steps that divide a range into about this many parts. */
export function step(low, high, parts) {
  const rough = (high - low) / parts || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough * 0.999) ?? 10;
  return factor * power;
}

/** The ticks of a range; its ends are the first and the last. */
export function ticks(low, high, parts) {
  const size = step(low, high, parts);
  const first = Math.floor(low / size + 1e-9);
  const last = Math.ceil(high / size - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * size);
}

/** What a tick is called: as many decimals as its step needs. */
export function tickText(value, size) {
  const decimals = Math.max(0, -Math.floor(Math.log10(size) + 1e-9));
  return decimals > 6 ? value.toExponential(1) : value.toFixed(decimals).replace("-", "−");
}

/** Keep an SVG as large as its place on the page, with one unit per pixel; returns its size. */
export function sized(svg) {
  const width = Math.max(svg.clientWidth, 50);
  const height = Math.max(svg.clientHeight, 50);
  const box = `0 0 ${width} ${height}`;
  if (svg.getAttribute("viewBox") !== box) svg.setAttribute("viewBox", box);
  return { width, height };
}
