// Twenty students watch a band, each with a seed of her own: how many see it leave the formula?

import { made, write } from "./numbers.js";
import { ownQuery } from "./query.js";
import { Stream } from "./server.js";

const STUDENTS = 20;
const REPLICATIONS = 300;
const FIRST_SEED = 21; // the seeds before are those that one turns by hand

const find = (id) => document.getElementById(id);

export class Students {
  constructor() {
    this.stream = new Stream();
    this.#forget();
  }

  #forget() {
    this.stream.close();
    this.seen = { students: 0, interval: 0, band: 0 };
    find("students-seen").replaceChildren();
    write(find("students-said"), "");
    find("students-go").disabled = false;
  }

  /** Offer it in a lesson whose guess is about students. */
  offer(lesson) {
    this.#forget();
    find("students").hidden = !lesson.guess?.students;
  }

  /** Let twenty more of them watch, one after the other; of each only the last look is asked for. */
  async watch(state) {
    const { seen } = this;
    find("students-go").disabled = true;
    find("students-said").setAttribute("aria-busy", "true");
    for (let count = 0; count < STUDENTS; count += 1) {
      const last = await this.#lastLook({ ...state, seed: FIRST_SEED + seen.students });
      if (last === null) return;
      const { interval_left_at: interval, band_left_at: band } = last.estimates[0];
      seen.students += 1;
      seen.interval += interval !== null;
      seen.band += band !== null;
      const name = band !== null ? "band" : interval !== null ? "interval" : "never";
      find("students-seen").append(made("i", "", name));
      write(find("students-said"), words(seen, state.guess));
    }
    find("students-said").setAttribute("aria-busy", "false");
    find("students-go").disabled = false;
  }

  /** What one of them has seen in the end; null if she was interrupted. */
  #lastLook(state) {
    const query = ownQuery(state);
    query.set("after", REPLICATIONS - 1);
    query.set("until", REPLICATIONS);
    let last = null;
    return new Promise((resolve) => {
      this.stream.open(query, {
        event: (event) => {
          last = event;
        },
        done: () => resolve(last),
        refused: () => resolve(null),
      });
    });
  }

  close() {
    this.stream.close();
  }
}

function words({ students, interval, band }, guess) {
  const guessed = guess === null ? "" : ` You guessed ${guess} of ${STUDENTS}.`;
  return (
    `Of ${students}, with the seeds from ${FIRST_SEED} on and ${REPLICATIONS} replications each, ` +
    `${interval} saw the formula outside of the 95 % interval, ${band} outside of the always-valid band.${guessed}`
  );
}
