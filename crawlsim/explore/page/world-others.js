// Servers without buffers, and a source that is probed.

import { Scene, percent, plural, whole } from "./world-scene.js";

const MOST_SERVERS = 24;
const PROBES_SHOWN = 8; // intervals between probes that are seen at once

export class ServersScene extends Scene {
  layout({ width, height }) {
    const top = this.paint.size * 4.5;
    this.count = Math.min(MOST_SERVERS, this.model.setup.servers);
    this.left = width * 0.22;
    const room = { x: this.left, y: top, width: width - this.left - this.margin, height: height - top - this.margin };
    this.room = room;
    this.step = Math.min(80, room.height / this.count);
  }

  #row(server) {
    const box = Math.min(this.step * 0.75, 44);
    const y = this.room.y + this.step * (server + 0.5);
    return { x: this.room.x + this.room.width * 0.25, y: y - box / 2, width: this.room.width * 0.35, height: box, middle: y };
  }

  #source() {
    return [this.left * 0.55, this.room.y + (this.step * this.count) / 2];
  }

  show({ event }, moving) {
    if (!moving || !this.room || event.robot >= this.count) return;
    const row = this.#row(event.robot);
    const start = [row.x, row.middle];
    const sheet = (gone) => (x, y) => this.paint.sheet(x, y, 16, { gone });
    if (event.kind === "arrival") this.fly(this.#source(), start, sheet(false), 0.35);
    if (event.kind === "loss") this.fly(start, [row.x + row.width * 1.45, row.middle + row.height / 2], sheet(true));
  }

  state() {
    const { paint, model, room } = this;
    const { lost, indexed } = model.counts;
    const base = paint.size * 3.6;
    paint.title("packets", [], this.margin, base, this.left);
    const share = percent(lost, lost + indexed);
    paint.title("servers", [`${share} of the packets lost`, `${share} lost`], this.#row(0).x, base, room.width * 0.75);
    const [x, y] = this.#source();
    paint.robot(x, y, 26, true);
    for (let server = 0; server < this.count; server += 1) {
      const row = this.#row(server);
      paint.arrow([x + 20, y], [row.x - 6, row.middle]);
      paint.box(row.x, row.y, row.width, row.height, { fill: "wash", stroke: "ink", line: 1.5 });
      const held = model.serving[server];
      if (held) this.#drawService(server, held, row);
      const waiting = model.queues[server].length;
      const words = `${waiting ? `${waiting} waiting, ` : ""}lost ${whole(model.lostAt[server])}`;
      paint.text(words, row.x + row.width + paint.size, row.middle, { colour: "theory", weight: 600, base: "middle" });
    }
  }

  #drawService(server, held, row) {
    const end = this.model.robots[server].next.find(({ page }) => page === held.packet);
    const done = this.progress(held.since, end?.time) ?? 0.5;
    this.paint.box(row.x + 3, row.y + 3, (row.width - 6) * done, row.height - 6, { fill: "pointwise", radius: 2 });
    this.paint.sheet(row.x + row.height * 0.5, row.middle, row.height * 0.6);
  }
}

export class ProbesScene extends Scene {
  layout({ width, height }) {
    const { size } = this.paint;
    this.width = width;
    this.high = size * 5.2; // the line of the source
    this.low = Math.min(height - size * 4.4, this.high + size * 24); // that of the monitor
    this.span = (PROBES_SHOWN * this.model.setup.end) / Math.max(1, this.model.setup.probes);
  }

  show() {}

  /** Where a time is; now is near the right end. */
  #at(time) {
    const room = this.width - 2 * this.margin;
    return this.margin + Math.max(0, room * (0.92 + (time - this.model.now) / this.span));
  }

  state() {
    const { paint, model, high, low, margin, width } = this;
    const { size } = paint;
    const { updates, probes, seen } = model.counts;
    const waiting = model.pending.length;
    paint.title("the source", [plural(updates, "update")], margin, high - size * 1.2, width);
    paint.title("the monitor", [`${plural(probes, "probe")}, ${whole(seen)} updates seen`], margin, low + size * 2, width);
    this.#drawStale();
    const now = this.#at(model.now);
    const { context, colours } = paint;
    context.strokeStyle = colours.control;
    context.lineWidth = 1.5;
    paint.stroke(margin, high, now, high);
    paint.stroke(margin, low, now, low);
    this.#drawPast();
    paint.text("now", now + 5, (high + low) / 2, { base: "middle" });
    const words = waiting ? `${plural(waiting, "update")} not seen yet` : "up to date";
    const sign = { weight: 600, colour: waiting ? "theory" : "agrees" };
    paint.text(words, margin, low + size * 3.6, sign);
  }

  /** From the first update that is not seen to the next probe the monitor is out of date. */
  #drawStale() {
    const { model, high, low, paint } = this;
    let since = null;
    const band = (begin, end) => {
      const x = this.#at(begin);
      paint.box(x, high, this.#at(end) - x, low - high, { fill: "bar", radius: 0 });
    };
    for (const { time, kind } of model.past) {
      if (kind === "update") since ??= time;
      else {
        if (since !== null) band(since, time);
        since = null;
      }
    }
    if (since !== null) band(since, model.now);
  }

  #drawPast() {
    const { model, high, low, margin } = this;
    const { context, colours } = this.paint;
    let seen = false;
    for (let at = model.past.length - 1; at >= 0; at -= 1) {
      const { time, kind } = model.past[at];
      const x = this.#at(time);
      if (x <= margin) break;
      if (kind === "probe") {
        seen = true;
        this.paint.arrow([x, low], [x, high + 7]);
        context.fillStyle = colours.ink;
        context.fillRect(x - 3.5, low - 3.5, 7, 7);
        continue;
      }
      context.beginPath();
      context.arc(x, high, 4.5, 0, 7);
      context.fillStyle = seen ? colours.estimate : colours.paper;
      context.fill();
      context.strokeStyle = seen ? colours.estimate : colours.theory;
      context.lineWidth = 2;
      context.stroke();
    }
  }
}
