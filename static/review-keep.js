/* A form that the server stores only when it is sent (`data-keep` names it and its reader): what is filled in stays
   on this device until then, and comes back with the page. */
(() => {
  "use strict";
  const forms = () => document.querySelectorAll("form[data-keep]");
  const keyOf = (form) => `keep:${form.dataset.keep}`;
  const unkept = new Set();

  const fieldsOf = (form) =>
    [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && value !== "");

  const keep = (form) => {
    try {
      localStorage.setItem(keyOf(form), JSON.stringify({ fields: fieldsOf(form), at: Date.now() }));
      unkept.delete(form);
    } catch {
      unkept.add(form);
    }
  };
  const drop = (form) => {
    unkept.delete(form);
    try {
      localStorage.removeItem(keyOf(form));
    } catch {
      /* There was none. */
    }
  };
  const read = (form) => {
    try {
      return JSON.parse(localStorage.getItem(keyOf(form)));
    } catch {
      return null;
    }
  };

  const say = (form, text) => {
    const place = form.querySelector("[data-kept]");
    place.hidden = text === "";
    place.querySelector("[data-kept-words]").textContent = text;
  };

  const fill = (form, fields) => {
    const values = new Map(fields);
    for (const control of form.querySelectorAll("input:not([type=hidden]), textarea")) {
      if (control.type === "radio") control.checked = values.get(control.name) === control.value;
      else control.value = values.get(control.name) ?? "";
    }
  };

  const restore = (form) => {
    if (form.dataset.returned !== undefined) return keep(form);
    const kept = read(form);
    if (!kept || JSON.stringify(kept.fields) === JSON.stringify(fieldsOf(form))) return;
    fill(form, kept.fields);
    const when = new Date(kept.at);
    const two = (number) => String(number).padStart(2, "0");
    const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
    say(form, `Not sent yet: what you filled in on ${day} ${two(when.getHours())}:${two(when.getMinutes())} is back, from this device.`);
  };

  document.addEventListener("input", (event) => {
    const form = event.target instanceof Element ? event.target.closest("form[data-keep]") : null;
    if (form) keep(form);
  });
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-kept-discard]") : null;
    if (!button) return;
    const form = button.closest("form");
    drop(form);
    form.reset();
    say(form, "");
    form.querySelector("input:not([type=hidden]), textarea").focus();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { requestConfig, xhr } = event.detail;
    if (requestConfig.elt.matches("form[data-keep]") && xhr.status >= 200 && xhr.status < 400) drop(requestConfig.elt);
  });
  window.addEventListener("beforeunload", (event) => {
    if ([...unkept].some((form) => form.isConnected)) event.preventDefault();
  });

  const start = () => {
    for (const form of forms()) {
      if (form.dataset.keepSeen !== undefined) continue;
      form.dataset.keepSeen = "";
      restore(form);
    }
  };
  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
