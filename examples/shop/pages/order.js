"use strict";

// A shop that asks once more, so that the demo has a dialog to answer.
const form = /** @type {HTMLFormElement} */ (document.querySelector("form"));
form.addEventListener("submit", (event) => {
  const total = new FormData(form).has("gift") ? "93.00" : "89.00";
  if (!confirm(`Place the order for € ${total}?`)) event.preventDefault();
});
