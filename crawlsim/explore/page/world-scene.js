// What all scenes share: the heading, and what moves for a moment.

const MOST_EFFECTS = 80;

const grouped = new Intl.NumberFormat("en");

export const whole = (number) => grouped.format(number);

export const percent = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** Fast at first, slow at last. */
const eased = (part) => 1 - (1 - part) ** 2;

export class Scene {
  constructor(model, paint) {
    this.model = model;
    this.paint = paint;
    this.effects = [];
  }

  /** Whether something moves by itself. */
  get moves() {
    return this.effects.length > 0;
  }

  /** Show something for this many seconds; `draw` is told how much of them has passed. */
  effect(seconds, draw) {
    if (this.effects.length < MOST_EFFECTS) this.effects.push({ age: 0, seconds, draw });
  }

  /** Something goes from one place to another. */
  fly(from, to, draw, seconds = 0.6) {
    this.effect(seconds, (part) => {
      const way = eased(part);
      draw(from[0] + way * (to[0] - from[0]), from[1] + way * (to[1] - from[1]), part);
    });
  }

  draw(seconds, look) {
    const size = this.paint.begin();
    this.layout(size);
    this.heading(size, look);
    this.state(look);
    for (const each of this.effects) {
      each.age += seconds;
      if (each.age < each.seconds) each.draw(each.age / each.seconds);
    }
    this.effects = this.effects.filter((each) => each.age < each.seconds);
  }

  /** The time, and what is other than usual. */
  heading({ width }, { replication }) {
    const { paint, model } = this;
    const { now, setup } = model;
    const time = now < 100 ? now.toFixed(1) : whole(Math.floor(now));
    const base = paint.size * 1.5;
    const shown = `${time} ${setup.time_unit}s`;
    paint.text(shown, this.margin, base, { weight: 600, colour: "ink" });
    const other = setup.interventions.find(({ begin, end }) => begin < now && now <= end);
    if (other) {
      const room = paint.width(other.text, { weight: 600 }) + paint.size;
      paint.box(width - this.margin - room, base - paint.size * 1.15, room, paint.size * 1.6, { fill: "bar" });
      paint.text(other.text, width - this.margin - room / 2, base, { weight: 600, colour: "ink", align: "center" });
    } else {
      const words = model.ended ? `end of replication ${replication + 1}` : `replication ${replication + 1}`;
      paint.text(words, width - this.margin, base, { align: "right" });
    }
  }

  get margin() {
    return this.paint.size * 0.8;
  }

  /** How far something is from when it began to when it ends; it may not be known when. */
  progress(since, until) {
    if (until === null || until === undefined || until <= since) return null;
    return Math.min(1, Math.max(0, (this.model.now - since) / (until - since)));
  }
}
