// Guess first: a number on a line. While one guesses, the numbers are veiled; they run on behind it.

import { number, short, write } from "./numbers.js";

const RIGHT = 0.05; // so near, as a share of what is right, is as good as right
const TIMES = 1.95; // from here on in times, below in per cent

export class Guess {
  /** @param {{made: function(number|null), first: function(boolean)}} tell */
  constructor(tell) {
    this.form = document.getElementById("guess");
    this.line = document.getElementById("guess-line");
    this.field = document.getElementById("guess-value");
    this.first = document.getElementById("guess-first");
    this.unit = document.getElementById("guess-unit");
    this.scale = null;
    this.line.addEventListener("input", () => {
      this.field.value = short(this.line.value).replace("−", "-");
    });
    this.field.addEventListener("input", () => {
      this.line.value = this.field.value;
    });
    for (const input of [this.line, this.field]) {
      input.addEventListener("focus", () => this.#veil(true));
    }
    this.form.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.form.contains(relatedTarget) && !this.first.checked) this.#veil(false);
    });
    this.form.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.#veil(false);
    });
    this.form.addEventListener("submit", (submit) => {
      submit.preventDefault();
      this.#veil(false);
      tell.made(this.field.value === "" ? null : Number(this.field.value));
    });
    this.first.addEventListener("change", () => {
      this.#veil(this.first.checked);
      tell.first(this.first.checked);
    });
  }

  /** Ask for the guess of a lesson; it waits for the answer if the state says so. */
  ask(lesson, state) {
    this.scale = lesson.guess;
    this.form.hidden = lesson.guess === null;
    this.first.checked = state.guessFirst;
    if (lesson.guess === null) {
      this.#veil(false);
      return;
    }
    const { low, high, unit } = lesson.guess;
    write(this.unit, unit === null ? `(${short(low)} to ${short(high)})` : `(${unit})`);
    this.line.min = low;
    this.line.max = high;
    this.line.step = (high - low) / 200;
    this.line.value = state.guess ?? (low + high) / 2;
    this.field.value = state.guess ?? "";
    this.#veil(state.guessFirst && state.guess === null);
  }

  /** Whether the numbers wait for the guess. */
  get waits() {
    return this.first.checked && document.body.classList.contains("veiled");
  }

  /** The guess in units of the measure, for the charts; null where it is about something else. */
  inMeasure(guess) {
    if (guess === null || this.scale === null || this.scale.students) return null;
    return this.scale.zero + this.scale.one * guess;
  }

  /** What became of a guess, against the number that was asked for; empty where there is none yet. */
  said(guess, truth) {
    const asked = this.inMeasure(guess);
    if (asked === null || truth === null || !Number.isFinite(truth)) return "";
    const right = (truth - this.scale.zero) / this.scale.one;
    return `You said ${short(guess)}; it is ${number(right, 3)}: ${distance(guess, right)}.`;
  }

  #veil(on) {
    document.body.classList.toggle("veiled", on);
  }
}

/** How far a guess is from what is right, in words. */
function distance(guess, right) {
  const off = guess - right;
  if (Math.abs(off) <= RIGHT * Math.abs(right)) return "well guessed";
  const way = off > 0 ? "too high" : "too low";
  if (guess * right <= 0) return way;
  const ratio = Math.max(guess / right, right / guess);
  if (ratio >= TIMES) return `${number(ratio, 2)} times ${way}`;
  return `${number((100 * Math.abs(off)) / Math.abs(right), 2)}\u202f% ${way}`;
}
