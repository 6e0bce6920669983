"use strict";

// Shows the template that the address names first, as the page: its title is
// the page's. What is marked data-shadow goes into a shadow root of that mode.
const shown = document.getElementById([...new URLSearchParams(location.search).keys()][0]);
document.title = shown.dataset.title;
document.body.append(shown.content.cloneNode(true));
for (const host of document.querySelectorAll("[data-shadow]")) {
  const inside = [...host.childNodes];
  host.attachShadow({ mode: host.dataset.shadow }).append(...inside);
}
for (const dialog of document.querySelectorAll("dialog")) dialog.showModal();
