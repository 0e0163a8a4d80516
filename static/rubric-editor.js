/* The rubric editor: Alt and an arrow move a dimension, nothing can be typed that an answer under way would
   overwrite, and leaving with unsaved text asks first. */
(() => {
  "use strict";
  let changed = false;

  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
    const way = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    const dimension = event.target instanceof Element ? event.target.closest("[data-dimension]") : null;
    if (!way || !dimension) return;
    event.preventDefault();
    dimension.querySelector(`[data-move="${way}"]:not(:disabled)`)?.click();
  });

  const within = (event) => event.target instanceof Element && event.target.closest("[data-editor]") !== null;
  document.addEventListener("input", (event) => {
    if (within(event)) changed = true;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (within(event)) changed = true;
  });
  const hold = (event, held) => {
    if (!within(event)) return;
    for (const field of document.querySelectorAll("[data-editor] :is(input, textarea)")) field.readOnly = held;
  };
  document.addEventListener("htmx:beforeRequest", (event) => hold(event, true));
  document.addEventListener("htmx:afterRequest", (event) => hold(event, false));
  document.addEventListener("submit", () => {
    changed = false;
  });
  window.addEventListener("beforeunload", (event) => {
    if (changed) event.preventDefault();
  });
})();
