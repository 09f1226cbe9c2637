// A formula that is wider than the page scrolls: by the keyboard, too.
function scrollByKeyboard() {
  for (const each of document.querySelectorAll(".math-display")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}
addEventListener("load", scrollByKeyboard);
addEventListener("resize", scrollByKeyboard);
