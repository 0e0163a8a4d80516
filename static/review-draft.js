/* What is filled in goes to the server as one types, and stays on this device until the server has it.
   The time with the item in view is counted and sent along. */
(() => {
  "use strict";
  const { review } = window.workbench;
  const PAUSE = 600;
  const LONGEST_RETRY = 30_000;
  const IDLE = 60_000;
  const AWAY = 10 * 60_000;
  const KEEPALIVE_BYTES = 60_000;

  let page = null; // what is known of the item on the page: see `start`

  const show = (text, problem = false) => {
    const place = document.getElementById("saved");
    if (!place) return;
    place.textContent = text;
    place.classList.toggle("is-unsaved", problem);
  };
  const clock = (time) => time.toLocaleTimeString("en-GB", { hour12: false });

  /* Fields of the checks, by name. */
  const filled = () => {
    const fields = {};
    for (const [name, value] of new FormData(page.form)) {
      if (/-(verdict|note|evidence(-\w+)?)$/.test(name)) fields[name] = value;
    }
    return fields;
  };
  const fill = (fields) => {
    for (const control of page.form.querySelectorAll(".check [name]")) {
      if (control.type === "radio") control.checked = fields[control.name] === control.value;
      else control.value = fields[control.name] ?? "";
    }
    document.dispatchEvent(new Event("review:filled"));
  };
  const judged = (fields) => Object.keys(fields).filter((name) => name.endsWith("-verdict")).length;

  /* The copy on this device. Its time is the server's, as far as this device can tell. */
  const keepCopy = () => {
    const at = Math.max(Date.now() + page.ahead, page.savedAt + 1);
    const copy = { fields: filled(), at, seconds: page.seconds };
    try {
      localStorage.setItem(page.key, JSON.stringify(copy));
    } catch {
      /* No room or no storage: the server's copy has to do. */
    }
  };
  const dropCopy = (key) => {
    try {
      localStorage.removeItem(key);
    } catch {
      /* There was none. */
    }
  };
  const readCopy = () => {
    try {
      return JSON.parse(localStorage.getItem(page.key));
    } catch {
      return null;
    }
  };

  /* Saving */
  const body = () => {
    page.form.elements.seconds.value = page.seconds.toFixed(1);
    return new URLSearchParams(new FormData(page.form));
  };
  const changed = () => {
    page.edits += 1;
    keepCopy();
    plan(PAUSE);
  };
  const plan = (delay) => {
    clearTimeout(page.timer);
    page.timer = setTimeout(save, delay);
  };
  const tryAgain = (why) => {
    page.retry = Math.min(LONGEST_RETRY, (page.retry || 1_000) * 2);
    show(`Not saved: ${why}, trying again`, true);
    plan(page.retry);
  };

  const save = async () => {
    clearTimeout(page.timer);
    if (page.sending || page.left || page.saved === page.edits) return;
    const { edits } = page;
    const here = page;
    const verdicts = judged(filled());
    const content = body();
    here.sending = new AbortController();
    let answer = null;
    try {
      answer = await fetch(here.form.dataset.draft, {
        method: "POST",
        body: content,
        redirect: "manual",
        signal: here.sending.signal,
        keepalive: content.toString().length < KEEPALIVE_BYTES,
      });
    } catch {
      answer = null;
    }
    here.sending = null;
    if (here !== page || here.left) return;
    await take(answer, edits, verdicts);
  };

  const take = async (answer, edits, verdicts) => {
    if (answer === null) return tryAgain(navigator.onLine ? "the server cannot be reached" : "you are offline");
    if (answer.type === "opaqueredirect" || answer.status === 403) {
      return tryAgain("you may have been signed out. Sign in in another tab; what you typed is kept here");
    }
    const reply = await answer.json().catch(() => ({}));
    if (answer.ok && reply.saved_at) return stored(reply.saved_at, edits, verdicts);
    if (answer.status >= 500) return tryAgain(`the server answered ${answer.status}`);
    show(`Not saved: ${reply.message ?? `the server answered ${answer.status}`}`, true);
  };

  const stored = (at, edits, verdicts) => {
    page.saved = edits;
    page.savedAt = Date.parse(at);
    page.retry = 0;
    page.sent = page.seconds;
    show(`Saved ${clock(new Date(at))}`);
    if (page.saved === page.edits) dropCopy(page.key);
    else plan(PAUSE);
    if (verdicts > page.verdicts) window.htmx.trigger("#hint-source", "review:judged");
    page.verdicts = verdicts;
  };

  /* The page goes away: what is not there yet is sent without waiting for an answer. */
  const leave = () => {
    if (!page || page.left || (page.saved === page.edits && page.seconds - page.sent < 1)) return;
    page.sending?.abort();
    navigator.sendBeacon(page.form.dataset.draft, body());
  };

  /* Time in view: only while the page is seen and in focus, and somebody has done something within a minute. */
  let lastInput = performance.now();
  let lastTick = performance.now();
  const tick = () => {
    const now = performance.now();
    const passed = Math.min(now - lastTick, 2_000);
    lastTick = now;
    const inView = document.visibilityState === "visible" && document.hasFocus() && now - lastInput < IDLE;
    if (page && inView) page.seconds += passed / 1_000;
  };
  setInterval(tick, 1_000);
  const noticed = () => {
    const away = performance.now() - lastInput;
    lastInput = performance.now();
    if (away > AWAY && document.getElementById("lease")) window.htmx.trigger("#lease", "review:back");
  };
  for (const kind of ["pointermove", "pointerdown", "keydown", "wheel", "scroll", "touchstart", "input"]) {
    document.addEventListener(kind, noticed, { passive: true, capture: true });
  }

  document.addEventListener("input", (event) => {
    if (page && event.target instanceof Element && event.target.closest("#decide .check")) changed();
  });
  document.addEventListener("focusout", (event) => {
    if (page && event.target instanceof Element && event.target.matches("#decide textarea")) save();
  });
  document.addEventListener("visibilitychange", () => {
    if (page && document.visibilityState === "hidden") save();
  });
  window.addEventListener("pagehide", leave);
  window.addEventListener("online", () => page && page.saved !== page.edits && save());

  /* Nobody is there: the heartbeat rests, and the item comes free when its lease runs out. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    if (elt.id === "lease" && (document.hidden || performance.now() - lastInput > AWAY)) event.preventDefault();
    if (!page || elt !== page.form) return;
    page.left = true;
    document.getElementById("unsent").hidden = true;
  });
  document.addEventListener("htmx:configRequest", (event) => {
    if (page && event.detail.elt === page.form) event.detail.parameters.seconds = page.seconds.toFixed(1);
  });

  /* A decision that did not get through is offered again; it is never sent by itself. */
  let pressed = null;
  document.addEventListener("submit", (event) => (pressed = event.submitter), true);
  const sentInVain = (why) => {
    page.left = false;
    keepCopy();
    const place = document.getElementById("unsent");
    const again = document.createElement("button");
    const button = pressed;
    again.type = "button";
    again.className = "button";
    again.textContent = "Try again";
    again.addEventListener("click", () => button?.click());
    place.replaceChildren(`Not sent: ${why}. Your input is kept. `, again);
    place.hidden = false;
  };
  document.addEventListener("htmx:sendError", (event) => {
    if (page && event.detail.elt === page.form) sentInVain("the server cannot be reached");
  });
  document.addEventListener("htmx:responseError", (event) => {
    if (page && event.detail.elt === page.form && page.form.isConnected) {
      sentInVain(`the server answered ${event.detail.xhr.status}`);
    }
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (page && event.detail.elt === page.form && event.detail.successful) dropCopy(page.key);
  });

  const start = () => {
    const form = review.form();
    if (!form) return void (page = null);
    if (page?.form === form) return;
    const { item, reviewer, now, savedAt, returned } = form.dataset;
    const seconds = Number(form.elements.seconds.value) || 0;
    page = { form, seconds, sent: seconds, edits: 0, saved: 0, retry: 0, sending: null, left: false };
    page.key = `review:${reviewer}:${item}`;
    page.ahead = Date.parse(now) - Date.now();
    page.savedAt = savedAt ? Date.parse(savedAt) : 0;
    page.verdicts = judged(filled());
    if (savedAt) show(`Saved ${clock(new Date(savedAt))}`);
    const copy = readCopy();
    if (!copy) return;
    if (returned !== undefined) return changed();
    if (savedAt && copy.at <= page.savedAt) return dropCopy(page.key);
    fill(copy.fields);
    page.seconds = Math.max(page.seconds, copy.seconds || 0);
    show("Not saved yet: restored from this device", true);
    page.edits += 1;
    plan(0);
  };
  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
