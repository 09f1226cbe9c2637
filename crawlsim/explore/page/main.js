// The live page: what is turned changes the state; the state stands in the address and is asked for.

import { fitFormulas, showAssumptions, showBroken, showFormula, showHolding, showSource } from "./assumptions.js";
import { clearClaim, showClaim, showMeasure } from "./claim.js";
import { Compared } from "./compare.js";
import { Course } from "./course.js";
import { copies, linkTo, showCommand, showExports } from "./exports.js";
import { Guess } from "./guess.js";
import { Seen } from "./history.js";
import { Knobs, showChanges, typedChange } from "./knobs.js";
import { markLesson, showLessons, showText } from "./lessons.js";
import { Levels } from "./levels.js";
import { Measures } from "./measures.js";
import { short, write } from "./numbers.js";
import { change, ownQuery, readState, scenarioQuery, writeState } from "./query.js";
import { Refused, Stream, documentOf } from "./server.js";
import { Stage } from "./stage.js";
import { Students } from "./students.js";

const SEED = "run.seed"; // a knob at it turns the seed of the address
const FEWEST = 2; // replications that have an interval

const find = (id) => document.getElementById(id);

const state = readState();
const seen = new Seen();
const stream = new Stream();
const stage = new Stage(() => pause());
const course = new Course(find("course"));
const levels = new Levels(find("levels-section"), find("levels"), find("levels-title"));
const measures = new Measures(find("measures"));
const compared = new Compared(find("compared"));
const students = new Students();
const knobs = new Knobs(find("knobs"), "knob", (key, value) => turn(key, value));
const otherKnobs = new Knobs(find("other-knobs"), "other-knob", (key, value) => turnOther(key, value));
const guess = new Guess({
  made: (value) => {
    state.guess = value;
    begin({ playing: true });
  },
  first: (on) => {
    state.guessFirst = on;
    writeState(state);
  },
});

let lesson = null; // what the server says of the open one
let playing = false;
let latest = null; // the last event
let drawn = null; // the last event that was drawn
let asking = new AbortController(); // what is asked beside the stream
let good = null; // the last changes that the server took

// What is shown

/** Draw the last event, once per frame. */
function drawSoon() {
  if (drawSoon.waits) return;
  drawSoon.waits = true;
  requestAnimationFrame(() => {
    drawSoon.waits = false;
    redraw();
  });
}

function redraw() {
  if (latest === null || lesson === null) return;
  if (latest !== drawn) {
    showClaim(latest, lesson.narrow);
    showBroken(lesson.assumptions, latest.broken);
    showSource(lesson.formula, latest.estimates[0]);
    compared.show(latest);
    measures.show(latest, !playing);
    showExports(state, latest.n);
    drawn = latest;
  }
  const { theory, sign, estimate } = latest.estimates[0];
  const isRight = theory !== null && sign === "" && latest.broken.length === 0;
  write(find("guess-said"), guess.said(state.guess, isRight ? theory : estimate));
  course.draw(seen.all(), { theory, sign, guess: guess.inMeasure(state.guess) });
  levels.draw(latest.estimates);
}

function hear(event) {
  const row = event.estimates[0];
  const other = event.other?.estimates[0].estimate ?? null;
  seen.add({
    n: event.n,
    estimate: row.estimate,
    low: row.low,
    high: row.high,
    alwaysLow: row.always_low,
    alwaysHigh: row.always_high,
    other,
  });
  latest = event;
  if (event.n === FEWEST) redraw();
  else drawSoon();
}

function clear() {
  stream.close();
  seen.clear();
  course.clear();
  levels.clear();
  compared.clear();
  latest = null;
  drawn = null;
  clearClaim();
  showHolding(false, null);
  write(find("guess-said"), "");
}

/** A sentence about what could not be had. */
function refuse(sentence) {
  find("refused").hidden = !sentence;
  write(find("refused"), sentence);
}

// Playing

/** Listen to the stream from where the page is, to a number of replications or without end. */
function listen(until) {
  const query = scenarioQuery(state);
  if (latest !== null) query.set("after", latest.n);
  if (until !== null) query.set("until", until);
  if (state.speed !== null) query.set("speed", state.speed);
  stream.open(query, {
    event: hear,
    done: () => {
      if (playing) setPlaying(false);
      drawn = null;
      drawSoon();
    },
    refused: (sentence) => {
      setPlaying(false);
      refuse(sentence);
    },
  });
}

function setPlaying(on) {
  playing = on;
  find("play").setAttribute("aria-pressed", String(on));
  if (on) stage.play();
  else stage.pause();
}

function play() {
  if (state.until !== null && latest !== null && latest.n >= state.until) state.until = null;
  state.play = true;
  setPlaying(true);
  writeState(state);
  listen(state.until);
}

function pause() {
  state.play = false;
  stream.close();
  setPlaying(false);
  writeState(state);
  drawn = null;
  drawSoon();
}

/** Exactly one replication more. */
function oneMore() {
  pause();
  const until = latest === null ? FEWEST : latest.n + 1;
  if (state.until !== null && until > state.until) {
    state.until = null;
    writeState(state);
  }
  listen(until);
}

// Asking

/** Begin anew with what the state says: the first replications come at once, the texts beside them. */
async function begin({ playing: plays }) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  refuse("");
  clear();
  state.play = plays;
  writeState(state);
  setPlaying(plays);
  listen(playing ? state.until : FEWEST);
  const own = ownQuery(state);
  stage.open(own, playing);
  try {
    const [said, sides] = await Promise.all([
      documentOf("/api/lesson", own, signal),
      documentOf("/api/scenario", scenarioQuery(state), signal),
    ]);
    showLesson(said, sides);
    if (state.others.size) showOthers((await documentOf("/api/lesson", otherQuery(), signal)).knobs);
    else showOthers(said.knobs);
    good = { lesson: state.lesson, sets: new Map(state.sets), others: new Map(state.others) };
    showFormula(await formulaWithNumbers(own, signal));
    if (sides.broken.length) showHolding(true, await holding(own, signal));
  } catch (error) {
    if (error instanceof Refused) takeBack(error.message);
    else if (error.name !== "AbortError") throw error;
  }
}

/** The formula of the lesson with its numbers; without them where they cannot be had. */
async function formulaWithNumbers(query, signal) {
  try {
    return (await documentOf("/api/theory", query, signal)).formula;
  } catch (error) {
    if (error instanceof Refused) return lesson.formula;
    throw error;
  }
}

/** The exact prediction for what is simulated; null where there is none. */
async function holding(query, signal) {
  const ofSimulated = new URLSearchParams([...query, ["side", "simulated"]]);
  try {
    const { predictions } = await documentOf("/api/theory", ofSimulated, signal);
    const { measure, subject } = lesson;
    const isOwn = (row) => row.kind === "exact" && row.measure === measure && row.subject === subject;
    return predictions.find(isOwn) ?? null;
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

/** What B is, as if it were asked for by itself. */
function otherQuery() {
  return ownQuery({ ...state, sets: bothChanges() });
}

/** The changes of A and, after them, those of B. */
function bothChanges() {
  const both = new Map(state.sets);
  for (const [key, value] of state.others) change(both, key, value);
  return both;
}

/** Back to what the server took before, with its sentence about what it did not take. */
function takeBack(sentence) {
  if (good === null) {
    setPlaying(false);
    stream.close();
    stage.close();
    refuse(sentence);
    return;
  }
  Object.assign(state, { lesson: good.lesson, sets: new Map(good.sets), others: new Map(good.others) });
  good = null; // never twice
  begin({ playing: state.play });
  refuse(sentence);
}

function showLesson(said, sides) {
  const another = lesson === null || lesson.key !== said.key;
  lesson = said;
  document.title = `${said.title} · crawlsim`;
  write(find("question"), said.question);
  showText(find("text"), said.text);
  showText(find("after"), said.after);
  markLesson(find("lessons"), said.key);
  showMeasure(said);
  showAssumptions(said.assumptions);
  showBroken(said.assumptions, sides.broken);
  if (another) {
    measures.clear();
    guess.ask(said, state);
    if (guess.waits) {
      setPlaying(false);
      if (latest === null) listen(FEWEST);
      else stream.close();
    }
    showFormula(said.formula);
    students.offer(said);
  } else {
    find("formula").classList.add("pending");
  }
  knobs.show(said.knobs);
  showChanges(find("changes"), state.sets, (key) => {
    state.sets.delete(key);
    begin({ playing: state.play });
  });
  if (document.activeElement !== find("seed")) find("seed").value = said.seed;
  find("speed").value = Math.log10(state.speed ?? said.speed);
  showSpeed();
  showCommand(sides.simulated);
  showExports(state, latest?.n ?? null);
  drawn = null;
  drawSoon();
}

function showOthers(theirs) {
  otherKnobs.show(theirs.filter((knob) => knob.key !== SEED));
  showChanges(find("other-changes"), state.others, (key) => {
    state.others.delete(key);
    begin({ playing: state.play });
  });
}

// What the user does

/** What was done before is one step back. */
function remember() {
  history.pushState(null, "", location.href);
}

function turn(key, value) {
  remember();
  if (key === SEED) state.seed = value;
  else change(state.sets, key, value);
  begin({ playing: state.play });
}

function turnOther(key, value) {
  remember();
  change(state.others, key, value);
  begin({ playing: state.play });
}

function openLesson(key) {
  Object.assign(state, { lesson: key, seed: null, until: null, speed: null, guess: null });
  Object.assign(state, { sets: new Map(), others: new Map() });
  lesson = null;
  find("lessons-button").setAttribute("aria-expanded", "false");
  remember();
  begin({ playing: true });
}

/** Go on at another pace. */
function pace() {
  const speed = String(Math.round(10 ** Number(find("speed").value)));
  if (speed === state.speed) return;
  state.speed = speed;
  showSpeed();
  writeState(state);
  if (playing) listen(state.until);
}

function showSpeed() {
  write(find("speed-shown"), short(Math.round(10 ** Number(find("speed").value))));
}

find("play").addEventListener("click", () => (playing ? pause() : play()));
find("step").addEventListener("click", oneMore);
find("reset").addEventListener("click", () => {
  Object.assign(state, { seed: null, speed: null, until: null });
  Object.assign(state, { sets: new Map(), others: new Map() });
  begin({ playing: true });
});
find("speed").addEventListener("input", () => {
  showSpeed();
  clearTimeout(pace.timer);
  pace.timer = setTimeout(pace, 120);
});
find("speed").addEventListener("change", pace);
find("seed").addEventListener("change", () => {
  const { value } = find("seed");
  if (value !== "" && value !== (state.seed ?? String(lesson?.seed))) turn(SEED, value);
});
find("lessons-button").addEventListener("click", () => {
  const button = find("lessons-button");
  button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
});
for (const [form, field, act] of [["any-key", "any-text", turn], ["other-any", "other-text", turnOther]]) {
  find(form).addEventListener("submit", (submit) => {
    submit.preventDefault();
    const typed = typedChange(find(field).value);
    if (typed === null) refuse("Write section.key = value, such as buffer.waiting_places = 8.");
    else act(...typed);
  });
}
find("students-go").addEventListener("click", () => {
  if (playing) pause();
  students.watch(state);
});
copies(find("copy-command"), () => find("export-command").textContent);
copies(find("copy-link"), () => linkTo(state, latest?.n ?? null));

new ResizeObserver(() => {
  fitFormulas();
  drawSoon();
}).observe(document.querySelector("main"));
addEventListener("pagehide", () => {
  stream.close();
  stage.close();
  students.close();
});
addEventListener("popstate", () => {
  Object.assign(state, readState());
  lesson = null;
  begin({ playing: state.play });
});
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) begin({ playing: state.play });
});

begin({ playing: state.play });
showLessons(
  find("lessons"),
  await documentOf("/api/lessons", new URLSearchParams({ token: state.token })),
  (key) => `?${new URLSearchParams({ token: state.token, lesson: key })}`,
  openLesson,
);
if (lesson !== null) markLesson(find("lessons"), lesson.key);
