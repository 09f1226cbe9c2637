/* How pages are ordered in the search, for words of the same weight: pages that teach; the glossary
   and theory; results; papers, names of Python and news last. It counts how much of the query the
   title has, but for words that lead to a page whatever its title. */
const SECTIONS = [
  [/^(tutorials|notebooks(?!\/solutions)|howto)\//, 6],
  [/^(reference\/(glossary|measur|scenario-file|model|crawl-logs)|theory\/(?!results)|gallery\/)/, 3],
  [/^reference\/(papers|python)\//, -3],
  [/^reference\/(changes|benchmarks|nightly)$/, -12],
];
const QUERY = new URLSearchParams(location.search).get("q") ?? "";
const WORDS = QUERY.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    const section = SECTIONS.find(([path]) => path.test(page));
    const named = WORDS.filter((word) => title.toLowerCase().includes(word)).length;
    const share = kind === "index" ? 0 : named / Math.max(WORDS.length, 1);
    return score + (section ? section[1] : 0) + 10 * share;
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

/* Single letters are no words: M/M/1/K is found as a whole, or not at all. */
var splitQuery = (query) => query.match(/[\p{Letter}\p{Number}_]{2,}/gu) ?? [];

/* Excerpts are taken from the pages, which a browser does not fetch from a folder. */
if (location.protocol === "file:") {
  const load = () =>
    new Promise((loaded) => {
      const script = document.createElement("script");
      script.src = "_static/texts.js";
      script.onload = () => loaded(TEXTS);
      document.head.append(script);
    });
  let texts;
  window.fetch = async (page) => {
    texts ??= load();
    const name = new URL(page, "file:///").pathname.slice(1).replace(/\.html$/, "");
    return { text: async () => `<div role="main">${(await texts)[name] ?? ""}</div>` };
  };
}
