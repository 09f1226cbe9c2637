// A search engine: the web, robots on their way, the buffer, the indexer, the index, searchers.

import { ANY_PAGES, INDEXED, zonesOf } from "./world-layout.js";
import { Scene, percent, plural, whole } from "./world-scene.js";

const MOST_ROBOTS = 60; // that are drawn one by one
const MOST_PLACES = 120;
const MOST_INDEXERS = 12;
const LOW = 0.25; // of its patience that a page has left

/** A place that looks drawn by lot, the same each time. */
const lot = (number) => Math.abs(Math.imul(number + 1, 2654435761) >> 8);

export class SearchScene extends Scene {
  constructor(model, paint) {
    super(model, paint);
    const { setup } = model;
    this.pages = setup.pages?.shown ?? ANY_PAGES;
    this.robots = Math.min(MOST_ROBOTS, setup.robots.count);
    this.places = Math.min(MOST_PLACES, setup.buffer?.places ?? 0);
    this.indexers = Math.min(MOST_INDEXERS, setup.buffer?.indexers ?? 0);
    this.slots = new Map(); // where the pages in the buffer were drawn
    this.laidOut = "";
  }

  layout(room) {
    const key = `${room.width} ${room.height}`;
    if (key === this.laidOut) return;
    this.laidOut = key;
    const { size } = this.paint;
    const { setup } = this.model;
    Object.assign(this, zonesOf(setup, { ...room, size, margin: this.margin }, this));
  }

  /** The middle of a page of the web, or of its copy in the index. */
  #cell(grid, page, fallback) {
    const place = page !== null && page < this.pages ? page : lot(fallback) % this.pages;
    const [x, y] = grid.at(place);
    return [x + grid.size / 2, y + grid.size / 2];
  }

  #newest() {
    const [x, y] = this.indexGrid.at((this.model.counts.indexed - 1) % INDEXED);
    return [x + this.indexGrid.size / 2, y + this.indexGrid.size / 2];
  }

  // What happens

  show({ event, removed, indexed }, moving) {
    if (!moving || !this.laidOut) return;
    const { kind, page, robot } = event;
    if (kind === "change") this.#pulse(this.webGrid, page, "theory");
    if (indexed) this.#intoIndex(indexed, event);
    if (kind === "loss") this.#fall(this.homes[robot] ?? this.#entrance(), 0);
    if (kind === "push-out") this.#fall(this.slots.get(removed?.number) ?? this.#entrance(), 0);
    if (kind === "obsolescence") this.#fall(this.slots.get(removed?.number) ?? this.#entrance(), 1);
    if (kind === "failure") this.#nothing(robot);
    if (kind.endsWith("-answer")) this.#answer(page, kind === "fresh-answer");
  }

  #entrance() {
    return [this.buffer.x, this.buffer.y + this.title];
  }

  #pulse(grid, page, colour) {
    if (page === null || page >= this.pages) return;
    const [x, y] = this.#cell(grid, page, 0);
    this.effect(0.7, (part) => {
      const { context } = this.paint;
      const reach = grid.size * (0.5 + 0.12 * part);
      context.globalAlpha = 1 - part;
      this.paint.box(x - reach, y - reach, 2 * reach, 2 * reach, { stroke: colour, line: 2, radius: 2 });
      context.globalAlpha = 1;
    });
  }

  #intoIndex({ number, page }, { robot }) {
    const size = this.slotGrid ? Math.max(12, Math.min(22, this.slotGrid.size)) : Math.min(22, this.robot);
    const from = this.slots.get(number) ?? this.homes[robot] ?? [this.index.x, this.index.y];
    const to = this.model.setup.pages ? this.#cell(this.indexGrid, page, 0) : this.#newest();
    const stale = this.model.index[page] < this.model.web[page];
    this.fly(from, to, (x, y) => this.paint.sheet(x, y, size, { stale }), 0.5);
    if (this.model.setup.pages && !stale) this.#pulse(this.indexGrid, page, "estimate");
  }

  #fall(from, bin) {
    const to = this.#bin(bin);
    this.fly(from, [to.x + to.width / 2, to.y + to.height / 2], (x, y, part) => {
      const { context } = this.paint;
      context.globalAlpha = 1 - 0.6 * part;
      this.paint.sheet(x, y, 16, { gone: true });
      context.globalAlpha = 1;
    });
  }

  #nothing(robot) {
    const [x, y] = this.homes[robot] ?? this.#entrance();
    this.effect(0.6, () => this.paint.mark(x, y - this.robot, this.robot * 0.6, false));
  }

  #answer(page, fresh) {
    const to = this.#cell(this.indexGrid, page, 0);
    const from = this.#searcher();
    this.effect(0.6, (part) => {
      const { context, colours } = this.paint;
      context.globalAlpha = 1 - part * part;
      context.strokeStyle = fresh ? colours.agrees : colours.disagrees;
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      this.paint.stroke(...from, ...to);
      context.setLineDash([]);
      this.paint.box(to[0] - 8, to[1] - 8, 16, 16, { fill: "paper", radius: 8 });
      this.paint.mark(...to, 11, fresh);
      context.globalAlpha = 1;
    });
  }

  // What there is

  state({ states }) {
    this.#drawWeb();
    this.#drawIndex();
    if (this.model.setup.buffer !== null) {
      this.#drawBuffer();
      this.#drawDesk();
      this.#drawBins();
    }
    if (this.model.setup.searchers) this.#drawSearchers();
    if (this.frontier?.height) this.#drawFrontier();
    this.#drawRobots(states);
  }

  #drawWeb() {
    const { paint, web, webGrid, model } = this;
    const { pages } = model.setup;
    const shown = pages && pages.shown < pages.count ? `${pages.shown} of ${plural(pages.count, "page")}` : null;
    const count = pages && (shown ?? plural(pages.count, "page"));
    const due = model.setup.frontier ? [`${count}, ${whole(model.frontier.length)} due`] : [];
    const words = pages ? [...due, count] : [];
    paint.title("the web", words, web.x, web.y + paint.size, web.width);
    for (let page = 0; page < this.pages; page += 1) {
      const [x, y] = this.#cell(webGrid, page, 0);
      const size = webGrid.size * 0.8;
      if (size >= 6) paint.sheet(x, y, size, { label: pages ? page + 1 : null });
      else paint.box(x - size / 2, y - size / 2, size, size, { stroke: "estimate", radius: 0 });
    }
  }

  #drawIndex() {
    const { paint, index, indexGrid, model } = this;
    const { pages } = model.setup;
    const { indexed } = model.counts;
    const share = percent(this.pages - model.stale, this.pages);
    const words = pages ? [`${share} up to date`, `${share} fresh`, share] : [`${plural(indexed, "page")} indexed`, whole(indexed)];
    paint.title("index", words, index.x, index.y + paint.size, index.width);
    if (pages) {
      for (let page = 0; page < this.pages; page += 1) {
        paint.tile(...indexGrid.at(page), indexGrid.size, {
          stale: model.index[page] < model.web[page],
          label: page + 1,
        });
      }
      return;
    }
    for (let cell = 0; cell < INDEXED; cell += 1) {
      const age = (indexed - 1 - cell + 2 * INDEXED) % INDEXED;
      const [x, y] = indexGrid.at(cell);
      if (age < indexed) paint.tile(x, y, indexGrid.size, { faded: 0.8 * (age / INDEXED) });
      else paint.box(x + 1, y + 1, indexGrid.size - 2, indexGrid.size - 2, { stroke: "line", radius: 0 });
    }
  }

  #drawBuffer() {
    const { paint, buffer, slotGrid, model, places } = this;
    const waiting = [...model.inside.entries()].filter(([, each]) => each.place < 0);
    const all = model.setup.buffer.places;
    const words = `${waiting.length} of ${plural(all, "place")}`;
    const colour = waiting.length >= all ? "theory" : "soft";
    paint.title("buffer", [words], buffer.x, buffer.y + paint.size, buffer.width, colour);
    for (let place = 0; place < places; place += 1) {
      const [x, y] = this.#slot(place);
      paint.box(x + 1.5, y + 1.5, slotGrid.size - 3, slotGrid.size - 3, { stroke: "control", dash: [2, 2], radius: 2 });
    }
    this.slots.clear();
    waiting.forEach(([number, each], place) => {
      if (place >= Math.max(places, MOST_PLACES)) return;
      const [x, y] = this.#slot(place);
      const middle = [x + slotGrid.size / 2, y + slotGrid.size / 2];
      this.slots.set(number, middle);
      paint.sheet(middle[0], middle[1] - slotGrid.size * 0.05, slotGrid.size * 0.74, this.#looks(each));
      this.#drawPatience(each, x, y);
    });
    const end = buffer.y + this.title + slotGrid.size / 2;
    if (places) paint.arrow([buffer.x + buffer.width + 3, end], [this.desk.x - 5, end]);
  }

  #drawPatience(each, x, y) {
    const gone = this.progress(each.since, each.until);
    if (gone === null) return;
    const { size } = this.slotGrid;
    const height = Math.max(2, size * 0.12);
    const colour = 1 - gone < LOW ? "theory" : "control";
    this.paint.box(x + 2, y + size - height, size - 4, height, { fill: "line", radius: 1 });
    this.paint.box(x + 2, y + size - height, (size - 4) * (1 - gone), height, { fill: colour, radius: 1 });
  }

  /** The first in the queue is next to the indexer. */
  #slot(place) {
    const { slotGrid, buffer } = this;
    const [x, y] = slotGrid.at(place);
    return [2 * buffer.x + buffer.width - x - slotGrid.size, y];
  }

  #looks({ page, version }) {
    const known = page !== null && page < this.model.web.length;
    return { stale: known && version < this.model.web[page], label: page === null ? null : page + 1 };
  }

  #drawDesk() {
    const { paint, desk, deskGrid, model, indexers } = this;
    const busy = [...model.inside.entries()].filter(([, each]) => each.place >= 0);
    const all = model.setup.buffer.indexers;
    const idle = busy.length ? [] : ["idle"];
    const words = all > 1 ? [`${busy.length} of ${whole(all)} busy`, `${busy.length} of ${whole(all)}`] : idle;
    paint.title(all > 1 ? "indexers" : "indexer", words, desk.x, desk.y + paint.size, desk.width);
    for (let place = 0; place < indexers; place += 1) {
      const [x, y] = deskGrid.at(place);
      paint.box(x + 1, y + 1, deskGrid.size - 2, deskGrid.size - 2, { fill: "wash", stroke: "ink", line: 1.5 });
    }
    for (const [number, each] of busy) {
      if (each.place >= indexers) continue;
      const [x, y] = deskGrid.at(each.place);
      const { size } = deskGrid;
      this.slots.set(number, [x + size / 2, y + size / 2]);
      paint.sheet(x + size / 2, y + size * 0.42, size * 0.56, this.#looks(each));
      const done = this.progress(each.since, each.until);
      paint.box(x + 4, y + size * 0.8, (size - 8) * (done ?? 0.5), Math.max(2, size * 0.1), { fill: "estimate", radius: 1 });
    }
    const x = desk.x + desk.width - paint.size;
    const start = desk.x + deskGrid.size * Math.min(indexers, deskGrid.columns) + 6;
    const middle = desk.y + this.title + deskGrid.size / 2;
    paint.arrow([Math.min(start, x), middle], [x, middle], [x, this.index.y + this.index.height + 4]);
  }

  #bin(which) {
    const { bins, paint } = this;
    const width = Math.min(bins.width / 2 - 4, paint.size * 11);
    return { x: bins.x + which * (width + 8), y: bins.y + 6, width, height: Math.min(bins.height - 8, paint.size * 2) };
  }

  #drawBins() {
    const { counts, setup } = this.model;
    const bins = [["lost", counts.lost]];
    if (setup.buffer.patience) bins.push(["obsolete", counts.obsolete]);
    bins.forEach(([name, count], which) => {
      const { x, y, width, height } = this.#bin(which);
      this.paint.box(x, y, width, height, { stroke: "theory", radius: 3, dash: [4, 3] });
      const base = y + height / 2;
      const inset = this.paint.size * 0.6;
      this.paint.text(name, x + inset, base, { weight: 600, colour: "ink", base: "middle" });
      this.paint.text(whole(count), x + width - inset, base, { colour: "theory", weight: 600, align: "right", base: "middle" });
    });
  }

  /** Due pages, the first of them next to be fetched, and below how many there were so far. */
  #drawFrontier() {
    const { paint, frontier, title, model } = this;
    const { lengths, setup } = model;
    const waiting = model.frontier.length;
    paint.title("frontier", [`${plural(waiting, "due page")}`], frontier.x, frontier.y + paint.size, frontier.width);
    const size = Math.min(26, 0.4 * (frontier.height - title));
    const fit = Math.floor(frontier.width / size) - 2;
    model.frontier.slice(0, fit).forEach((page, place) => {
      paint.sheet(frontier.x + size * (place + 0.5), frontier.y + title + size / 2, size * 0.84, { label: page + 1 });
    });
    if (waiting > fit) paint.text("…", frontier.x + size * (fit + 0.2), frontier.y + title + 0.7 * size);
    const bottom = frontier.y + frontier.height;
    const height = frontier.height - title - size - paint.size * 0.4;
    const most = Math.max(5, ...lengths.map(([, length]) => length));
    const label = whole(most);
    const left = frontier.x + paint.width(label) + paint.size * 0.5;
    const x = (time) => left + (Math.min(1, time / setup.end)) * (frontier.x + frontier.width - left);
    for (const { begin, end } of setup.interventions) {
      paint.box(x(begin), bottom - height, x(end) - x(begin), height, { fill: "bar", radius: 0 });
    }
    const points = lengths.flatMap(([time, length], place) => [
      [x(time), bottom - (height * (lengths[place - 1]?.[1] ?? 0)) / most],
      [x(time), bottom - (height * length) / most],
    ]);
    paint.area([...points, [x(model.now), points.at(-1)[1]]], bottom);
    paint.text(label, left - paint.size * 0.3, bottom - height + paint.size * 0.9, { align: "right" });
  }

  #searcher() {
    const { asking, paint, title } = this;
    return [asking.x + paint.size * 0.7, asking.y + title + paint.size * 0.6];
  }

  #drawSearchers() {
    const { paint, asking, model } = this;
    const { fresh, stale } = model.counts;
    const room = asking.width - paint.size * (this.across ? 0 : 1.4);
    paint.title("searchers", [`${percent(stale, fresh + stale)} stale`], asking.x, asking.y + paint.size * 1.3, room);
    const [x, y] = this.#searcher();
    const { context, colours, size } = paint;
    context.fillStyle = colours.ink;
    context.beginPath();
    context.arc(x, y + size * 0.15, size * 0.32, 0, 7);
    context.fill();
    context.beginPath();
    context.arc(x, y + size * 1.15, size * 0.55, Math.PI, 0);
    context.fill();
    const step = size * 1.05;
    model.answers.forEach((answer, place) => {
      const at = x + size * 1.3 + step * place;
      if (at > asking.x + room - step / 2) return;
      context.globalAlpha = Math.max(0.25, 1 - place * 0.07);
      paint.mark(at, y + size * 0.6, size * 0.75, answer);
      context.globalAlpha = 1;
    });
  }

  #drawRobots(states) {
    const { paint, model, lane, across } = this;
    const { count, may_wait } = model.setup.robots;
    const busy = may_wait ? model.robots.filter((each) => each.since !== null).length : (model.active ?? count);
    const active = `${whole(busy)} of ${whole(count)}`;
    const words = count === 1 ? [] : [`${active} at work`, active];
    const inset = across ? paint.size * 0.5 : 0;
    const base = lane.y + paint.size * (across ? 1 : 1.3);
    this.homes.forEach((home, robot) => {
      const isActive = model.works(robot);
      const [x, y, carried] = isActive && !states ? this.#onItsWay(robot, home) : [...home, null];
      if (carried !== null) paint.sheet(x + this.robot * 0.62, y + this.robot * 0.25, this.robot * 0.8, carried);
      paint.robot(x, y, this.robot, isActive);
    });
    paint.title(count > 1 ? "robots" : "robot", words, lane.x + inset, base, lane.width - inset);
  }

  /** Where a robot is, and what it brings; it is out half of the time of an access. */
  #onItsWay(robot, home) {
    const { since, next } = this.model.robots[robot];
    const arrival = next[0];
    if (since === null) return [...home, null];
    const way = (arrival && this.progress(since, arrival.time)) ?? 0.5;
    const [x, y] = this.#cell(this.webGrid, arrival?.page ?? null, robot * 7919 + Math.round(since * 1000));
    const out = Math.min(1, 1.15 * (1 - Math.abs(2 * way - 1)));
    const smooth = out * out * (3 - 2 * out);
    const back = way > 0.5 && arrival && arrival.kind !== "failure";
    const carried = back ? { label: null } : null;
    return [home[0] + smooth * (x - home[0]), home[1] + smooth * (y - home[1]), carried];
  }
}
