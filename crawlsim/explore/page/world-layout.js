// Where everything of a search engine is drawn.

export const ANY_PAGES = 24; // sheets of a web whose pages are all alike
export const INDEXED = 48; // of them that are seen in the index
const LARGEST = 48; // pixels of a page
const FEW = 12; // pages that are drawn larger

/** A grid of so many square cells that fills a rectangle as well as it can; a queue has few rows. */
function gridOf(count, { x, y, width, height }, largest, isQueue = false) {
  let best = { size: 0, columns: 1, skew: 0 };
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const size = Math.min(width / columns, height / rows, largest);
    const skew = isQueue ? rows : Math.abs(columns - rows);
    if (size > best.size || (size === best.size && skew < best.skew)) best = { size, columns, skew };
  }
  const { size, columns } = best;
  const at = (place) => [x + (place % columns) * size, y + Math.floor(place / columns) * size];
  const moved = (by) => ({ size, columns, at: (place) => [at(place)[0] + by, at(place)[1]] });
  return { size, columns, height: size * Math.ceil(count / columns), at, moved };
}

/** What is left of a zone below its title. */
function below({ x, y, width, height }, title) {
  return { x, y: y + title, width, height: height - title - 4 };
}

/**
 * The zones, the grids within them, and where each robot is at home.
 *
 * With a buffer, pages go round: from the web down to the buffer, across to the indexer, up into the
 * index. Without one robots bring them across.
 */
export function zonesOf(setup, room, counts) {
  const title = room.size * 1.5;
  const inner = { ...room, title, top: room.size * 2.6, tall: room.height - room.size * 2.6 - room.margin };
  const zones = setup.buffer === null ? across(setup, inner) : around(inner, counts);
  const grids = gridsOf(setup, zones, title, counts.pages);
  const homes = setup.buffer === null ? onTheSide : inRows;
  return { title, ...zones, ...grids, ...homes({ ...zones, ...grids }, title, room.size, counts.robots) };
}

function around({ margin, title, top, tall, width }, { places, indexers }) {
  const inner = width - 3 * margin;
  const left = inner * 0.52;
  const right = inner - left;
  const x = 2 * margin + left;
  const parts = [0, 0.38, 0.63, 0.88, 1].map((part) => top + part * tall);
  const zone = (part, at, wide) => ({ x: at, y: parts[part], width: wide, height: parts[part + 1] - parts[part] });
  const buffer = zone(2, margin, left - margin);
  const desk = zone(2, x, right);
  return {
    across: false,
    web: zone(0, margin, left),
    index: zone(0, x, right),
    lane: zone(1, margin, left),
    asking: zone(1, x, right),
    buffer,
    desk,
    bins: zone(3, margin, inner),
    slotGrid: gridOf(Math.max(1, places), below(buffer, title), 40, true),
    deskGrid: gridOf(Math.max(1, indexers), below(desk, title), 60, true),
  };
}

function across(setup, { margin, title, top, tall: whole, width }) {
  const due = setup.frontier ? Math.max(5 * title, 0.3 * whole) : 0;
  const tall = whole - due;
  const lane = Math.max(70, width * 0.2);
  const side = (width - lane - 2 * margin) / 2;
  const searchers = setup.searchers ? Math.min(tall * 0.2, 4 * title) : 0;
  const index = { x: margin + side + lane, y: top, width: side, height: tall - searchers };
  return {
    across: true,
    web: { x: margin, y: top, width: side, height: tall },
    lane: { x: margin + side, y: top, width: lane, height: tall },
    index,
    asking: { ...index, y: top + tall - searchers, height: searchers },
    frontier: { x: margin, y: top + tall, width: width - 2 * margin, height: due },
  };
}

/** The mosaics: of known pages both alike, so that a copy is where its page is. */
function gridsOf(setup, { web, index }, title, pages) {
  if (setup.pages === null) {
    return {
      webGrid: gridOf(ANY_PAGES, below(web, title), LARGEST),
      indexGrid: gridOf(INDEXED, below(index, title), LARGEST),
    };
  }
  const indexGrid = gridOf(pages, below(index, title), pages <= FEW ? 2 * LARGEST : LARGEST);
  return { indexGrid, webGrid: indexGrid.moved(web.x - index.x) };
}

/** Homes beside the index, one below the other. */
function onTheSide({ lane, indexGrid }, title, size, robots) {
  const begin = title + size;
  const room = Math.min(lane.height, title + indexGrid.height + size) - begin;
  const step = Math.min(42, (lane.height - begin) / robots);
  const robot = Math.max(5, Math.min(32, step * 0.8, lane.width * 0.3));
  const x = lane.x + lane.width - 1.4 * robot;
  const y = lane.y + begin + Math.max(0, room - step * robots) / 2;
  return { robot, homes: Array.from({ length: robots }, (_, at) => [x, y + step * (at + 0.5)]) };
}

/** Homes above the buffer, in so many rows that the robots are large. */
function inRows({ lane }, title, _size, robots) {
  const free = 0.5 * (lane.height - title);
  const sizeIn = (rows) => Math.min(32, (0.85 * lane.width) / Math.ceil(robots / rows), free / rows);
  const rows = [1, 2, 3].reduce((best, each) => (sizeIn(each) > sizeIn(best) ? each : best));
  const columns = Math.ceil(robots / rows);
  const step = Math.min(46, lane.width / columns);
  const robot = Math.max(5, sizeIn(rows));
  const home = (at) => [
    lane.x + step * ((at % columns) + 0.5),
    lane.y + lane.height - robot * (0.95 + 1.2 * (rows - 1 - Math.floor(at / columns))),
  ];
  return { robot, homes: Array.from({ length: robots }, (_, at) => home(at)) };
}
