// The list of lessons, and the text of one.

import { made } from "./numbers.js";

/** Fill it. Each is a link of its own, so that it can be opened beside this one. */
export function showLessons(nav, lessons, linkOf, open) {
  const links = lessons.map(({ key, title }) => {
    const link = made("a", title);
    link.dataset.testid = "lesson";
    link.dataset.lesson = key;
    link.href = linkOf(key);
    link.addEventListener("click", (click) => {
      if (click.ctrlKey || click.metaKey || click.shiftKey) return;
      click.preventDefault();
      open(key);
    });
    return link;
  });
  nav.replaceChildren(...links);
}

/** Mark the one that is open. */
export function markLesson(nav, key) {
  for (const link of nav.children) {
    if (link.dataset.lesson === key) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/** The text of a lesson, with `code` and *emphasis*. */
export function showText(place, text) {
  const parts = text.trim().split(/(`[^`]+`|\*[^*]+\*)/);
  const tags = { "`": "code", "*": "em" };
  const shown = parts.map((part, at) => (at % 2 ? made(tags[part[0]], part.slice(1, -1)) : part));
  place.replaceChildren(...shown);
}
