// What can be taken along: files and a command for the replications that are shown now.

import { ownQuery, scenarioQuery } from "./query.js";
import { write } from "./numbers.js";

const find = (id) => document.getElementById(id);

/** Let the links name the replications that are shown. */
export function showExports(state, n) {
  const query = ownQuery(state);
  if (n !== null) query.set("until", n);
  for (const kind of ["toml", "csv", "html"]) {
    find(`export-${kind}`).href = `/api/export.${kind}?${query}`;
  }
}

/** The command that gives the same numbers, from the file that was saved. */
export function showCommand(scenario) {
  const file = `${scenario.name}.toml`;
  write(find("export-command"), `crawlsim run ${/^[\w.-]+$/.test(file) ? file : `'${file}'`}`);
}

/** The address of a demonstration that pauses where this one is now. */
export function linkTo(state, n) {
  const query = scenarioQuery(state);
  if (n !== null) query.set("until", n);
  if (state.speed !== null) query.set("speed", state.speed);
  return `${location.origin}${location.pathname}?${query}`;
}

/** A button that copies a text, and says so. */
export function copies(button, textOf) {
  const before = button.textContent;
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(textOf());
    } catch {
      said = "Not allowed here";
    }
    button.textContent = said;
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
