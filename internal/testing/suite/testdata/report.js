"use strict";

/** What happened in this document, in order: the same as what was reported. */
window.log = [];

/**
 * Tells the server, and window.log, that something happened.
 * @param {string} kind mostly the type of an event
 * @param {string} id mostly the id of the element that got it
 * @param {object} [more] further fields of a report
 */
function report(kind, id, more = {}) {
  const entry = { kind, id, ...more };
  log.push(entry);
  navigator.sendBeacon("/report/{{case}}", JSON.stringify(entry));
}

/** Reports an event with all that a case may ask about it. */
function reportEvent(event) {
  const element = event.currentTarget;
  report(event.type, element.id, {
    value: String(element.value ?? (element.isContentEditable ? element.innerText : "")),
    trusted: event.isTrusted,
    button: event.button ?? 0,
    count: event.detail ?? 0,
    mods: (event.altKey ? "A" : "") + (event.ctrlKey ? "C" : "") + (event.metaKey ? "M" : "") + (event.shiftKey ? "S" : ""),
    moving: Boolean(window.moving),
  });
}

/** Reports the events that data-report names on each element in root. */
function watch(root) {
  for (const element of root.querySelectorAll("[data-report]"))
    for (const type of element.dataset.report.split(" ")) element.addEventListener(type, reportEvent);
}

document.addEventListener("DOMContentLoaded", () => watch(document));
