// Knobs: a native input or select for each key that the lesson lets one turn.

import { made, short, write } from "./numbers.js";

const WAIT = 120; // milliseconds without a further turn, after which a knob counts

export class Knobs {
  /**
   * @param {Element} place
   * @param {string} testid
   * @param {function(string, string)} turned - called with the key and the new value
   */
  constructor(place, testid, turned) {
    this.place = place;
    this.testid = testid;
    this.turned = turned;
    this.inputs = new Map();
    this.timer = 0;
  }

  /** Show the knobs of a lesson; those that are there already stay, with their focus. */
  show(knobs) {
    const keys = knobs.map((knob) => knob.key);
    if (keys.join(" ") !== [...this.inputs.keys()].join(" ")) {
      this.inputs = new Map(knobs.map((knob) => [knob.key, this.#made(knob)]));
      this.place.replaceChildren(...[...this.inputs.values()].map((each) => each.row));
    }
    for (const knob of knobs) this.#set(this.inputs.get(knob.key), knob);
  }

  #made(knob) {
    const row = made("div", "", "knob");
    const input = document.createElement(knob.choices.length ? "select" : "input");
    input.id = `${this.testid}-${knob.key.replaceAll(".", "-")}`;
    input.dataset.testid = this.testid;
    input.dataset.key = knob.key;
    const label = made("label", knob.label);
    label.htmlFor = input.id;
    const shown = made("output");
    shown.htmlFor = input.id;
    if (knob.choices.length) {
      input.append(...knob.choices.map(({ label: text, value }) => new Option(text, value)));
      row.append(label, input);
    } else {
      input.type = knob.min === null || knob.max === null ? "number" : "range";
      if (knob.min !== null) input.min = lowest(knob);
      if (knob.max !== null) input.max = knob.max;
      input.step = knob.step ?? "any";
      row.append(label, shown, input);
    }
    const turn = () => {
      if (input.type === "range") write(shown, short(input.value));
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#turn(input), WAIT);
    };
    input.addEventListener("input", turn);
    input.addEventListener("change", turn);
    return { row, input, shown, value: null };
  }

  #turn(input) {
    const each = this.inputs.get(input.dataset.key);
    if (each?.input !== input || input.value === each.value || input.value === "") return;
    each.value = input.value;
    this.turned(input.dataset.key, input.value);
  }

  #set(each, { value, choices }) {
    const { input, shown } = each;
    input.disabled = value === null && !choices.length;
    if (value === null) {
      write(shown, "–");
      return;
    }
    if (choices.length) {
      input.querySelector("option[data-own]")?.remove();
      if (!choices.some((choice) => choice.value === value)) {
        const own = new Option(value, value);
        own.dataset.own = "";
        input.append(own);
      }
    }
    if (document.activeElement !== input || input.tagName === "SELECT") input.value = value;
    write(shown, short(value));
    each.value = input.value;
  }
}

/** The lower end of a range whose steps meet the value that the knob has at first. */
function lowest({ min, step, value }) {
  const steps = (Number(value) - min) / step;
  if (value === null || !step || Math.abs(steps - Math.round(steps)) < 1e-6) return min;
  return Number((Number(value) - Math.floor(steps) * step).toPrecision(12));
}

/** What was changed, each with a button that takes it back. */
export function showChanges(list, changes, takeBack) {
  const items = [...changes].map(([key, value]) => {
    const item = made("li");
    const button = made("button", "✕");
    button.type = "button";
    button.setAttribute("aria-label", `Take back ${key}`);
    button.addEventListener("click", () => takeBack(key));
    item.append(made("code", `${key} = ${value}`), button);
    return item;
  });
  list.replaceChildren(...items);
  list.hidden = !items.length;
}

/** KEY = VALUE as it was typed, or null. */
export function typedChange(text) {
  const at = text.indexOf("=");
  const key = text.slice(0, at).trim();
  const value = text.slice(at + 1).trim();
  return at < 0 || !key || !value ? null : [key, value];
}
