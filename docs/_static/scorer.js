/* How pages are ordered in the search: pages that explain before names of Python; news last. The
   glossary, which has every word of the field, comes before pages that only use one. */
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^reference\/(changes|benchmarks|nightly)$/.test(page)) return score - 12;
    return page === "reference/glossary" ? score + 10 : score;
  },
  objNameMatch: 9,
  objPartialMatch: 2,
  objPrio: { 0: 15, 1: 1, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
