// The state of the page, which stands in its address: a link is a demonstration.

/** What the address says. */
export function readState() {
  const given = new URLSearchParams(location.search);
  return {
    token: given.get("token") ?? "",
    lesson: given.get("lesson"),
    seed: given.get("seed"),
    until: given.has("until") ? Number(given.get("until")) : null,
    speed: given.get("speed"),
    play: given.get("play") !== "0",
    sets: changesOf(given.getAll("set")),
    others: changesOf(given.getAll("other")),
    guess: given.has("guess") ? Number(given.get("guess")) : null,
    guessFirst: given.get("first") !== "0",
  };
}

/** Keys and values; what is not a KEY=VALUE is kept as it is, so that the server can say so. */
function changesOf(texts) {
  return new Map(
    texts.map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? [text, null] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}

/** Put the state into the address. */
export function writeState(state) {
  const query = scenarioQuery(state);
  if (state.until !== null) query.set("until", state.until);
  if (state.speed !== null) query.set("speed", state.speed);
  if (!state.play) query.set("play", "0");
  if (state.guess !== null) query.set("guess", state.guess);
  if (!state.guessFirst) query.set("first", "0");
  history.replaceState(null, "", `?${query}`);
}

/** What is simulated, and what it is compared with: the part of the query that every answer needs. */
export function scenarioQuery(state) {
  const query = new URLSearchParams({ token: state.token });
  if (state.lesson !== null) query.set("lesson", state.lesson);
  if (state.seed !== null) query.set("seed", state.seed);
  for (const [name, changes] of [["set", state.sets], ["other", state.others]]) {
    for (const [key, value] of changes) query.append(name, value === null ? key : `${key}=${value}`);
  }
  return query;
}

/** The same without the comparison. */
export function ownQuery(state) {
  return scenarioQuery({ ...state, others: new Map() });
}

/** Change a key, after all others: another law replaces what was changed within the law before. */
export function change(changes, key, value) {
  for (const each of [...changes.keys()]) {
    if (each === key || each.startsWith(`${key}.`)) changes.delete(each);
  }
  changes.set(key, value);
}
