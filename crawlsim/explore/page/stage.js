// The place of the world: its canvas, its own buttons, and the sentence where it cannot be shown.

import { short, write } from "./numbers.js";

const WAIT = 300; // milliseconds without a further turn of a knob, after which it is opened anew
const DEFAULT_SPEED = 1.0; // ten events a second

const find = (id) => document.getElementById(id);

export class Stage {
  /** @param {function()} paused - called when the user goes on event by event */
  constructor(paused) {
    this.world = null;
    this.playing = false;
    this.timer = 0;
    this.opened = 0;
    find("world-speed").value = DEFAULT_SPEED;
    find("world-speed").addEventListener("input", () => this.#speed());
    find("world-step").addEventListener("click", () => {
      paused();
      this.world?.step();
    });
    this.#speed();
  }

  /** Show another replication, soon. */
  open(query, playing) {
    this.close();
    this.playing = playing;
    this.timer = setTimeout(() => this.#open(query), WAIT);
  }

  async #open(query) {
    const opened = this.opened;
    const options = {
      query: query.toString(),
      legend: find("world-legend"),
      reducedMotion: matchMedia("(prefers-reduced-motion: reduce)").matches,
    };
    this.#refused("");
    try {
      const { openWorld } = await import("./world.js");
      const world = await openWorld(find("world"), options);
      if (opened !== this.opened) {
        world.close();
        return;
      }
      this.world = world;
      this.#speed();
      if (this.playing) world.play();
    } catch (error) {
      if (opened === this.opened) this.#refused(error.message);
    }
  }

  /** Say why there is nothing to be seen. */
  #refused(sentence) {
    const place = find("world-refused");
    place.hidden = !sentence;
    for (const id of ["world", "world-legend", "world-controls"]) find(id).hidden = Boolean(sentence);
    write(place, sentence);
  }

  play() {
    this.playing = true;
    this.world?.play();
  }

  pause() {
    this.playing = false;
    this.world?.pause();
  }

  close() {
    clearTimeout(this.timer);
    this.opened += 1;
    this.world?.close();
    this.world = null;
  }

  #speed() {
    const speed = 10 ** Number(find("world-speed").value);
    write(find("world-speed-shown"), short(speed < 10 ? speed.toPrecision(2) : Math.round(speed)));
    this.world?.speed(speed);
  }
}
