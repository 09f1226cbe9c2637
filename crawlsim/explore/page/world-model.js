// What a world holds, from its events: the web, robots, the buffer, the index, counts.

const ARRIVALS = new Set(["delivery", "loss", "orbit", "replacement", "failure"]); // of robots
const ENDS = new Set(["service", "loss"]); // of packets at servers
const RECENT = 24; // answers that are remembered
const MOST_PAST = 400; // updates and probes that are remembered

export class Model {
  /** @param {object} setup - what there is, as the server says it */
  constructor(setup) {
    this.setup = setup;
    this.now = 0;
    this.active = setup.robots?.switched ? setup.robots.count : null; // null: not heard of yet
    const pages = setup.pages?.shown ?? 0;
    this.web = new Int32Array(pages); // how often each page has changed
    this.index = new Int32Array(pages); // how often it had when the copy in the index was fetched
    this.stale = 0; // pages whose copy is out of date
    this.inside = new Map(); // number of a page in the buffer -> { page, version, place, until, since }
    this.counts = { indexed: 0, lost: 0, obsolete: 0, fresh: 0, stale: 0, seen: 0, updates: 0, probes: 0 };
    this.answers = []; // the last ones, true where fresh
    this.robots = Array.from({ length: setup.robots?.count ?? setup.servers ?? 0 }, () => ({
      next: [], // arrivals to come, as far as is known
      since: setup.robots?.may_wait ? null : 0, // when its access began; null while there is none
    }));
    this.rank = new Map((setup.robots?.order ?? []).map((robot, rank) => [robot, rank]));
    this.serving = new Array(setup.servers ?? 0).fill(null);
    this.queues = Array.from({ length: setup.servers ?? 0 }, () => []);
    this.lostAt = new Array(setup.servers ?? 0).fill(0);
    this.turn = 0;
    this.pending = []; // updates of a source that no probe has seen
    this.past = []; // of a source and its probes
    this.frontier = []; // due pages that wait, the first to fall due first
    this.lengths = [[0, 0]]; // when their number changed, and to what
  }

  /** Learn what is to come, so that robots are on their way before they arrive. */
  hear(events) {
    const joint = this.setup.robots?.joint;
    const kinds = this.setup.servers ? ENDS : ARRIVALS;
    for (const event of events) {
      if (joint && event.robot === null && ARRIVALS.has(event.kind)) {
        event.robot = this.turn % Math.max(1, event.active);
        this.turn += 1;
      }
      if (event.robot !== null && kinds.has(event.kind)) this.robots[event.robot]?.next.push(event);
    }
  }

  /** Whether a robot works, by the rule of the scenario. */
  works(robot) {
    if (this.setup.robots.switched || this.setup.robots.may_wait) return this.robots[robot].since !== null;
    return this.active === null || (this.rank.get(robot) ?? robot) < this.active;
  }

  /** Let an event happen; what is to be seen of it. */
  apply(event) {
    this.now = event.time;
    if (event.active !== this.active) this.#activate(event.active);
    const seen = { event, removed: null, indexed: null };
    this.#arrive(event);
    this.#move(event, seen);
    this[event.kind]?.(event, seen);
    return seen;
  }

  #activate(active) {
    const before = this.active ?? active;
    this.active = active;
    if (this.setup.robots?.switched) return;
    for (const [robot, rank] of this.rank) {
      if (rank >= before && rank < active && this.robots[robot]) this.robots[robot].since = this.now;
    }
  }

  #arrive(event) {
    const kinds = this.setup.servers ? ENDS : ARRIVALS;
    if (event.robot === null || !kinds.has(event.kind)) return;
    const robot = this.robots[event.robot];
    robot.next.shift();
    if (this.setup.servers) return;
    robot.since = this.setup.robots.switched && event.kind !== "failure" ? null : event.time;
    if (this.setup.robots.may_wait) robot.since = null;
  }

  /** What moved in the buffer. */
  #move(event, seen) {
    for (const [number, page, place, until] of event.inside ?? []) {
      const known = this.inside.get(number);
      if (place === null) {
        seen.removed = { number, ...known };
        this.inside.delete(number);
      } else if (known && place >= 0) {
        Object.assign(known, { place, until, since: event.time });
      } else {
        // a newer copy takes the place of an older one, as `set` does
        const version = page === null ? 0 : (this.web[page] ?? 0);
        this.inside.set(number, { page, version, place, until, since: event.time });
      }
    }
  }

  /** A copy comes into the index; an older one never replaces a newer one. */
  #index(page, version) {
    this.counts.indexed += 1;
    if (page === null || page >= this.index.length) return;
    const wasStale = this.index[page] < this.web[page];
    this.index[page] = Math.max(this.index[page], version);
    this.stale += (this.index[page] < this.web[page]) - wasStale;
  }

  change({ page }) {
    this.stale += this.index[page] === this.web[page];
    this.web[page] += 1;
  }

  delivery(event, seen) {
    if (this.setup.buffer !== null) return;
    this.#index(event.page, this.web[event.page] ?? 0);
    seen.indexed = { page: event.page };
  }

  service(event, seen) {
    if (this.setup.servers) {
      this.#serveNext(event);
      this.counts.indexed += 1;
      return;
    }
    this.#index(seen.removed.page, seen.removed.version);
    seen.indexed = seen.removed;
  }

  arrival(event) {
    const held = this.serving[event.robot];
    this.queues[event.robot].push(event.page);
    if (held === null) this.#serveNext(event);
  }

  #serveNext(event) {
    const packet = this.queues[event.robot].shift();
    this.serving[event.robot] = packet === undefined ? null : { packet, since: event.time };
  }

  loss(event) {
    this.counts.lost += 1;
    if (!this.setup.servers) return;
    this.lostAt[event.robot] += 1;
    if (this.serving[event.robot].packet === event.page) this.#serveNext(event);
    else this.queues[event.robot].pop(); // the one that has just come
  }

  ["push-out"]() {
    this.counts.lost += 1;
  }

  obsolescence() {
    this.counts.obsolete += 1;
  }

  ["switch-on"](event) {
    this.robots[event.robot].since = event.time;
  }

  access(event) {
    this.robots[event.robot].since = event.time;
    this.#wait(this.frontier.filter((page) => page !== event.page));
  }

  due(event) {
    this.#wait([...this.frontier, event.page]);
  }

  #wait(pages) {
    if (!this.setup.frontier) return;
    this.frontier = pages;
    this.lengths.push([this.now, pages.length]);
  }

  ["fresh-answer"]() {
    this.counts.fresh += 1;
    this.#answer(true);
  }

  ["stale-answer"]() {
    this.counts.stale += 1;
    this.#answer(false);
  }

  #answer(fresh) {
    this.answers.unshift(fresh);
    if (this.answers.length > RECENT) this.answers.pop();
  }

  update(event) {
    this.counts.updates += 1;
    this.pending.push(event.time);
    this.#remember(event);
  }

  probe(event) {
    this.counts.probes += 1;
    this.counts.seen += this.pending.length;
    this.pending = [];
    this.#remember(event);
  }

  #remember(event) {
    this.past.push(event);
    if (this.past.length > MOST_PAST) this.past.shift();
  }
}
