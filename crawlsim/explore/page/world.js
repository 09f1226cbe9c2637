// The world: plays the events of one replication after the other on a canvas.

import { Model } from "./world-model.js";
import { Paint } from "./world-paint.js";
import { legendOf, sceneOf } from "./world-scenes.js";

const AHEAD = 300; // events that are known before they happen, at least
const MOST_AT_ONCE = 4000; // that the server gives
const LONGEST_FRAME = 0.1; // seconds
const STEP = 0.4; // seconds that a single event takes
const REST = 1.2; // seconds between two replications
const STATES_FROM = 60; // events a second from which on only states are drawn

/**
 * Open the world of a lesson, on a canvas.
 *
 * The canvas has the simulated time as data-time: it grows while the world plays, on from one
 * replication to the next; as data-waiting the due pages that wait. `stats` are frames drawn and the milliseconds that it took.
 */
export async function openWorld(canvas, { query, legend, reducedMotion = false }) {
  const world = new World(canvas, new URLSearchParams(query), legend, reducedMotion);
  try {
    await world.begin(0);
  } catch (error) {
    world.close();
    throw error;
  }
  const { stats } = world;
  return {
    stats,
    play: () => world.play(),
    pause: () => world.pause(),
    step: () => world.step(),
    speed: (eventsPerSecond) => world.setSpeed(eventsPerSecond),
    close: () => world.close(),
  };
}

class World {
  #events = []; // those to come
  #next = 0; // the first of them
  #asked = new AbortController();
  #fetching = null;
  #known = 0; // events of the replication that the server gave
  #ended = false; // whether the server has no more of them
  #playing = false;
  #stepping = false;
  #part = 0; // of the way from the last event to the next
  #rest = 0;
  #frame = 0;
  #last = null; // when the last frame was drawn
  #before = 0; // time of the replications before
  #from = 0; // time of the last event

  constructor(canvas, query, legend, reducedMotion) {
    this.canvas = canvas;
    this.query = query;
    this.legend = legend;
    this.still = reducedMotion;
    this.speed = 10;
    this.stats = { frames: 0, milliseconds: 0, longest: 0 };
    this.paint = new Paint(canvas);
    this.resizes = new ResizeObserver(() => this.#draw(0));
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => {
      this.paint.refresh();
      this.#draw(0);
    };
  }

  /** Begin a replication. */
  async begin(replication) {
    this.replication = replication;
    this.#events = [];
    this.#next = this.#known = this.#part = this.#from = 0;
    this.#ended = false;
    const { setup } = await this.#fetch();
    if (this.model === undefined) {
      this.resizes.observe(this.canvas);
      this.scheme.addEventListener("change", this.recolour);
      this.legend?.replaceChildren(...legendOf(setup));
    }
    this.model = new Model(setup);
    this.model.hear(this.#events);
    this.scene = sceneOf(this.model, this.paint);
    this.#tell();
    this.#draw(0);
  }

  async #fetch() {
    const query = new URLSearchParams(this.query);
    query.set("replication", this.replication);
    query.set("from", this.#known);
    query.set("size", Math.min(MOST_AT_ONCE, Math.max(2 * AHEAD, Math.ceil(2 * this.speed))));
    const { signal } = this.#asked;
    const answer = await fetch(`/api/world?${query}`, { signal });
    if (!answer.ok) throw new Error(await answer.text());
    const part = await answer.json();
    this.#events = this.#events.slice(this.#next).concat(part.events);
    this.#next = 0;
    this.#known += part.events.length;
    this.#ended = part.ended;
    if (!part.setup) this.model.hear(part.events);
    return part;
  }

  /** See that enough events are known. */
  #look() {
    const enough = this.#events.length - this.#next > Math.max(AHEAD, this.speed);
    if (enough || this.#ended || this.#fetching) return;
    this.#fetching = this.#fetch()
      .catch((error) => {
        if (error.name !== "AbortError") this.pause();
      })
      .finally(() => {
        this.#fetching = null;
      });
  }

  play() {
    this.#playing = true;
    this.#stepping = false;
    this.#wake();
  }

  pause() {
    this.#playing = false;
    this.#wake();
  }

  /** One event more. */
  step() {
    this.#playing = false;
    if (this.#stepping || this.still) this.#happen();
    this.#stepping = !this.still;
    this.#wake();
  }

  setSpeed(eventsPerSecond) {
    this.speed = Math.max(0.1, eventsPerSecond);
  }

  close() {
    this.#playing = this.#stepping = false;
    this.#asked.abort();
    cancelAnimationFrame(this.#frame);
    this.#frame = -1;
    this.resizes.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
  }

  #wake() {
    if (this.#frame !== 0) return;
    this.#last = null;
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    this.#frame = 0;
    const seconds = this.#last === null ? 0 : Math.min(LONGEST_FRAME, (now - this.#last) / 1000);
    if (this.#playing || this.#stepping) this.#go(seconds);
    this.#draw(seconds);
    if (this.#playing || this.#stepping || this.scene.moves) {
      this.#last = now;
      this.#frame = requestAnimationFrame((then) => this.#tick(then));
    }
  }

  /** Let time go by. */
  #go(seconds) {
    this.#look();
    if (this.#next >= this.#events.length) {
      if (this.#ended) this.#goToNext(seconds);
      return;
    }
    this.#part += seconds * (this.#stepping ? 1 / STEP : this.speed);
    while (this.#part >= 1 && this.#next < this.#events.length) {
      this.#happen();
      if (!this.#playing) return;
    }
    this.#part = Math.min(this.#part, 1);
    const next = this.#events[this.#next];
    if (next) this.model.now = this.#from + this.#part * (next.time - this.#from);
    this.#tell();
  }

  /** The next event happens. */
  #happen() {
    const event = this.#events[this.#next];
    this.#stepping = false;
    if (event === undefined) return;
    this.#next += 1;
    this.#part = this.#playing ? this.#part - 1 : 0;
    this.#from = event.time;
    this.scene.show(this.model.apply(event), !this.still && (!this.#playing || this.speed < STATES_FROM));
    this.#tell();
    this.#look();
  }

  /** Rest at the end of a replication, then begin the next one. */
  #goToNext(seconds) {
    this.#stepping = false;
    this.model.ended = true;
    this.#rest += seconds;
    if (this.#rest < REST || this.#fetching) return;
    this.#rest = 0;
    this.#before += this.model.setup.end;
    this.#fetching = this.begin(this.replication + 1)
      .catch((error) => {
        if (error.name !== "AbortError") this.pause();
      })
      .finally(() => {
        this.#fetching = null;
      });
  }

  #tell() {
    this.canvas.dataset.time = String(this.#before + this.model.now);
    this.canvas.dataset.replication = String(this.replication);
    this.canvas.dataset.waiting = String(this.model.frontier.length);
  }

  #draw(seconds) {
    if (!this.scene || this.canvas.clientWidth === 0) return;
    const begun = performance.now();
    const states = this.still || (this.#playing && this.speed >= STATES_FROM);
    this.scene.draw(seconds, { states, replication: this.replication });
    const taken = performance.now() - begun;
    this.stats.frames += 1;
    this.stats.milliseconds += taken;
    this.stats.longest = Math.max(this.stats.longest, taken);
  }
}
