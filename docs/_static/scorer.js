/* How pages are ordered in the search: pages that explain before names of Python; news last. */
var Scorer = {
  score: (result) =>
    result[4] - (/^reference\/(changes|benchmarks|nightly)$/.test(result[0]) ? 12 : 0),
  objNameMatch: 9,
  objPartialMatch: 2,
  objPrio: { 0: 15, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
