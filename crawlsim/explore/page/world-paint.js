// The figures of the world: pages, robots, marks, labels; in the colours of the page.

const COLOURS = {
  ink: "#1d2329",
  soft: "#59626c",
  line: "#dfe3e8",
  wash: "#f6f7f9",
  paper: "#ffffff",
  estimate: "#00588a",
  pointwise: "#93bfdd",
  theory: "#a13d00",
  bar: "#f1cfb9",
  agrees: "#00664b",
  disagrees: "#a13d00",
  inconclusive: "#7d5500",
  control: "#7a858f",
};

/** The colours that the page has now, light or dark. */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(
    Object.entries(COLOURS).map(([name, usual]) => [name, style.getPropertyValue(`--${name}`).trim() || usual]),
  );
}

const WIDEST = 1.9; // of its height; what is left of a wider canvas stays empty on both sides

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

export class Paint {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.refresh();
  }

  refresh() {
    this.colours = coloursOf(this.canvas);
  }

  /** Make the canvas as sharp as the screen, and empty; what is used of it, in CSS pixels. */
  begin() {
    const { canvas, context } = this;
    const ratio = Math.min(3, devicePixelRatio || 1);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const used = Math.min(width, WIDEST * height);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, (ratio * (width - used)) / 2, 0);
    context.lineJoin = "round";
    this.size = Math.max(12, Math.min(16, used / 36));
    return { width: used, height };
  }

  text(words, x, y, { colour = "soft", weight = 400, size = this.size, align = "left", base = "alphabetic", halo = false } = {}) {
    const { context } = this;
    context.font = `${weight} ${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = base;
    if (halo) {
      context.strokeStyle = this.colours.paper;
      context.lineWidth = 4;
      context.strokeText(words, x, y);
    }
    context.fillStyle = this.colours[colour];
    context.fillText(words, x, y);
  }

  width(words, { weight = 400, size = this.size } = {}) {
    this.context.font = `${weight} ${size}px ${FONT}`;
    return this.context.measureText(words).width;
  }

  /** The name of a zone, and beside it the first of what may be said of it that there is room for. */
  title(name, more, x, y, room, colour = "soft") {
    const bold = { weight: 600, colour: "ink", halo: true };
    this.text(name, x, y, bold);
    const at = this.width(name, bold) + this.size * 0.5;
    const said = more.find((words) => at + this.width(words) <= room);
    if (said) this.text(said, x + at, y, { halo: true, colour });
  }

  box(x, y, width, height, { fill, stroke, radius = 4, dash = null, line = 1 } = {}) {
    const { context } = this;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    if (fill) {
      context.fillStyle = this.colours[fill] ?? fill;
      context.fill();
    }
    if (stroke) {
      context.lineWidth = line;
      context.setLineDash(dash ?? []);
      context.strokeStyle = this.colours[stroke];
      context.stroke();
      context.setLineDash([]);
    }
  }

  /** A page: a sheet with a folded corner, and its number where there is room. */
  sheet(x, y, size, { stale = false, gone = false, label = null } = {}) {
    const { context, colours } = this;
    const width = size * 0.8;
    const fold = size * 0.26;
    const left = x - width / 2;
    const top = y - size / 2;
    context.beginPath();
    context.moveTo(left, top);
    context.lineTo(left + width - fold, top);
    context.lineTo(left + width, top + fold);
    context.lineTo(left + width, top + size);
    context.lineTo(left, top + size);
    context.closePath();
    context.fillStyle = stale ? colours.bar : colours.paper;
    context.fill();
    context.lineWidth = size < 12 ? 1 : 1.4;
    context.strokeStyle = stale || gone ? colours.theory : colours.estimate;
    context.stroke();
    if (stale) this.stroke(left, top + size, left + width - fold / 2, top + fold / 2);
    if (label !== null && size >= 17 && !stale) {
      this.text(label, x, y + size * 0.06, { colour: "estimate", size: size * 0.44, align: "center", base: "middle" });
    }
  }

  stroke(x0, y0, x1, y1) {
    const { context } = this;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  }

  /** A tile of a mosaic: full where it is fresh, crossed and hollow where it is stale. */
  tile(x, y, size, { stale = false, faded = 0, label = null }) {
    const { context, colours } = this;
    const gap = size > 9 ? 1 : 0.5;
    const inner = size - 2 * gap;
    if (!stale) {
      context.globalAlpha = 1 - faded;
      context.fillStyle = colours.estimate;
      context.fillRect(x + gap, y + gap, inner, inner);
      context.globalAlpha = 1;
      if (label !== null && size >= 20) {
        this.text(label, x + size / 2, y + size * 0.54, { colour: "paper", size: size * 0.4, align: "center", base: "middle" });
      }
      return;
    }
    context.fillStyle = colours.bar;
    context.fillRect(x + gap, y + gap, inner, inner);
    context.strokeStyle = colours.theory;
    context.lineWidth = size > 14 ? 1.5 : 1;
    if (size > 5) this.stroke(x + gap, y + size - gap, x + size - gap, y + gap);
    if (size > 9) context.strokeRect(x + gap + 0.5, y + gap + 0.5, inner - 1, inner - 1);
  }

  /** A robot: a head with an antenna and eyes; grey and asleep where it does not work. */
  robot(x, y, size, works) {
    const { context, colours } = this;
    const colour = works ? colours.ink : colours.control;
    const width = size * 0.9;
    const height = size * 0.62;
    context.strokeStyle = colour;
    context.lineWidth = Math.max(1, size / 12);
    this.stroke(x, y - height / 2, x, y - size * 0.55);
    context.beginPath();
    context.arc(x, y - size * 0.56, size * 0.09, 0, 7);
    context.fillStyle = colour;
    context.fill();
    context.beginPath();
    context.roundRect(x - width / 2, y - height / 2, width, height, size * 0.18);
    context.fillStyle = works ? colours.ink : colours.paper;
    context.fill();
    context.stroke();
    if (size < 9) return;
    context.strokeStyle = context.fillStyle = works ? colours.paper : colours.control;
    for (const eye of [-0.2, 0.2]) {
      if (works) {
        context.beginPath();
        context.arc(x + eye * size, y, size * 0.1, 0, 7);
        context.fill();
      } else {
        this.stroke(x + (eye - 0.09) * size, y, x + (eye + 0.09) * size, y);
      }
    }
  }

  /** What lies below a line through some points. */
  area(points, bottom) {
    const { context, colours } = this;
    context.beginPath();
    for (const point of points) context.lineTo(...point);
    context.strokeStyle = colours.estimate;
    context.lineWidth = 1.25;
    context.stroke();
    context.lineTo(points.at(-1)[0], bottom);
    context.lineTo(points[0][0], bottom);
    context.fillStyle = colours.pointwise;
    context.globalAlpha = 0.5;
    context.fill();
    context.globalAlpha = 1;
  }

  /** A tick or a cross. */
  mark(x, y, size, good) {
    const { context, colours } = this;
    context.strokeStyle = good ? colours.agrees : colours.disagrees;
    context.lineWidth = Math.max(1.5, size / 6);
    context.lineCap = "round";
    context.beginPath();
    if (good) {
      context.moveTo(x - size * 0.4, y);
      context.lineTo(x - size * 0.1, y + size * 0.3);
      context.lineTo(x + size * 0.4, y - size * 0.35);
    } else {
      context.moveTo(x - size * 0.32, y - size * 0.32);
      context.lineTo(x + size * 0.32, y + size * 0.32);
      context.moveTo(x + size * 0.32, y - size * 0.32);
      context.lineTo(x - size * 0.32, y + size * 0.32);
    }
    context.stroke();
    context.lineCap = "butt";
  }

  /** An arrow through some points. */
  arrow(...points) {
    const { context } = this;
    const [[x0, y0], [x1, y1]] = points.slice(-2);
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.strokeStyle = this.colours.control;
    context.lineWidth = 1.25;
    context.beginPath();
    for (const point of points) context.lineTo(...point);
    for (const side of [2.6, -2.6]) {
      context.moveTo(x1, y1);
      context.lineTo(x1 + 5 * Math.cos(angle + side), y1 + 5 * Math.sin(angle + side));
    }
    context.stroke();
  }
}
