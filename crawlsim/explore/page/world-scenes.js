// Which scene a world has, and what its signs mean.

import { SearchScene } from "./world-search.js";
import { ProbesScene, ServersScene } from "./world-others.js";

export function sceneOf(model, paint) {
  const { servers, probes } = model.setup;
  if (servers !== null) return new ServersScene(model, paint);
  if (probes !== null) return new ProbesScene(model, paint);
  return new SearchScene(model, paint);
}

/** The legend: each sign with its meaning. */
export function legendOf(setup) {
  const signs = [];
  if (setup.servers !== null) signs.push(["▮", "estimate", "in service, and how far"]);
  if (setup.probes !== null) {
    signs.push(["○", "theory", "an update not seen yet"], ["●", "estimate", "seen"]);
    signs.push(["■", "ink", "a probe"], ["▬", "bar", "out of date"]);
  }
  if (setup.pages !== null) {
    signs.push(["■", "estimate", "up to date"], ["◪", "theory", "out of date: the page has changed"]);
  }
  if (setup.buffer?.patience) signs.push(["▬", "control", "patience that is left"]);
  if (setup.searchers) signs.push(["✓", "agrees", "fresh answer"], ["✕", "disagrees", "stale answer"]);
  const line = document.createElement("p");
  line.className = "legend";
  for (const [sign, colour, meaning] of signs) {
    const entry = document.createElement("span");
    const mark = document.createElement("span");
    mark.textContent = `${sign} `;
    mark.style.color = `var(--${colour})`;
    mark.setAttribute("aria-hidden", "true");
    entry.append(mark, meaning);
    line.append(entry);
  }
  return [line];
}
