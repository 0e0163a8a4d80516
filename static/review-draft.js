/* What is filled in goes to the server as one types, and stays on this device until the server has it. Each save
   says which stored version it goes on from: what another window has stored since is not written over, but
   offered, and what stands here is set aside. The time with the item in view is counted and sent along. */
(() => {
  "use strict";
  const { review, notice, signedOut, token } = window.workbench;
  const PAUSE = 600;
  const LONGEST_RETRY = 30_000;
  const IDLE = 60_000;
  const AWAY = 10 * 60_000;
  const KEEPALIVE_BYTES = 60_000;
  const OWN = /-(verdict|note|evidence(-\w+)?)$|^reason$/;
  const PLACE = /-evidence-\w+$/;

  let page = null; // what is known of the item on the page: see `start`

  const show = (text, problem = false) => {
    const place = document.getElementById("saved");
    if (!place) return;
    place.textContent = text;
    place.classList.toggle("is-unsaved", problem);
  };
  const clock = (time) => new Date(time).toLocaleTimeString("en-GB", { hour12: false });

  /* The reviewer's own fields, by name; what is empty is left out. */
  const filled = () => {
    const fields = {};
    for (const [name, value] of new FormData(page.form)) if (OWN.test(name) && value !== "") fields[name] = value;
    return fields;
  };
  const fill = (fields) => {
    for (const control of page.form.querySelectorAll(".check [name], #reason")) {
      if (control.type === "radio") control.checked = fields[control.name] === control.value;
      else control.value = fields[control.name] ?? "";
    }
    document.dispatchEvent(new Event("review:filled"));
  };
  const judged = (fields) => Object.keys(fields).filter((name) => name.endsWith("-verdict")).length;
  const same = (some, others) => {
    const words = (fields) =>
      Object.keys(fields)
        .filter((name) => !PLACE.test(name))
        .map((name) => `${name} ${fields[name].split(/\s+/).join(" ").trim()}`)
        .sort();
    return words(some).join("\n") === words(others).join("\n");
  };

  /* Copies on this device: of what the server has not, and of what was set aside. */
  const write = (key, value) => {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      /* No room or no storage: the server's copy has to do. */
    }
  };
  const drop = (key) => {
    try {
      localStorage.removeItem(key);
    } catch {
      /* There was none. */
    }
  };
  const read = (key) => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null;
    }
  };
  const keepCopy = () =>
    write(page.key, {
      fields: filled(),
      version: page.version,
      unanswered: page.pending?.fields,
      at: Date.now() + page.ahead,
      seconds: page.seconds,
    });

  /* What the server is told with everything, and what it tells. */
  const stamp = (sent) => {
    sent.set("csrfmiddlewaretoken", token() ?? page.form.elements.csrfmiddlewaretoken.value);
    sent.set("version", page.version);
    sent.set("seconds", page.seconds.toFixed(1));
    sent.set("known-seconds", page.known.toFixed(1));
    return sent;
  };
  const body = () => {
    const sent = new URLSearchParams(new FormData(page.form));
    for (const check of review.unplaced()) {
      for (const name of [...sent.keys()]) if (name.startsWith(`${check}-evidence`)) sent.delete(name);
    }
    return stamp(sent);
  };
  const goOnFrom = (version) => {
    page.version = version;
    page.form.elements.version.value = version;
  };
  /* The server's count has the time of other windows too; `since` is this page's count at that moment. */
  const hear = (seconds, since) => {
    page.seconds += seconds - since;
    page.known = seconds;
  };

  /* Saving */
  const changed = () => {
    page.edits += 1;
    keepCopy();
    if (!page.held) plan(PAUSE);
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
  const unsaved = () => page.pending !== null || page.saved !== page.edits;

  /* An attempt that was not answered is repeated as it was, so that the server knows it again. */
  const save = async () => {
    clearTimeout(page.timer);
    if (page.sending || page.left || page.held || !unsaved()) return;
    const here = page;
    if (!here.pending) {
      here.pending = { edits: page.edits, seconds: page.seconds, fields: filled(), content: body().toString() };
      keepCopy();
    }
    const content = new URLSearchParams(here.pending.content);
    content.set("csrfmiddlewaretoken", token() ?? content.get("csrfmiddlewaretoken"));
    here.sending = new AbortController();
    const answer = await ask({
      method: "POST",
      body: content,
      signal: here.sending.signal,
      keepalive: here.pending.content.length < KEEPALIVE_BYTES,
    });
    here.sending = null;
    const reply = await answer?.json().catch(() => ({}));
    if (here === page && !here.left) take(answer, reply, here.pending);
  };

  const ask = (options) =>
    fetch(page.form.dataset.draft, {
      headers: { Accept: "application/json" },
      redirect: "manual",
      ...options,
    }).catch(() => null);

  const take = (answer, reply, attempt) => {
    if (answer === null) return tryAgain(navigator.onLine ? "the server cannot be reached" : "you are offline");
    if (answer.status >= 500) return tryAgain(`the server answered ${answer.status}`);
    page.pending = null;
    if (answer.status === 401) {
      signedOut(reply.sign_in);
      return tryAgain("you are signed out. What you typed is kept here");
    }
    if (answer.type === "opaqueredirect" || answer.status === 403) {
      return tryAgain("you may have been signed out. Sign in in another tab; what you typed is kept here");
    }
    if (answer.ok && reply.saved_at) return stored(reply, attempt);
    if (reply.newer) hear(reply.newer.seconds, attempt.seconds);
    if (reply.newer) return hold(reply.newer);
    show(`Not saved: ${reply.message ?? `the server answered ${answer.status}`}`, true);
  };

  const stored = (reply, attempt) => {
    page.saved = attempt.edits;
    page.retry = 0;
    goOnFrom(reply.version);
    hear(reply.seconds, attempt.seconds);
    notice("");
    show(`Saved ${clock(reply.saved_at)}`);
    if (unsaved()) plan(PAUSE);
    if (unsaved() || review.unplaced().length) keepCopy();
    else drop(page.key);
    count(judged(attempt.fields));
  };
  const count = (verdicts) => {
    if (verdicts > page.verdicts) window.htmx.trigger("#hint-source", "review:judged");
    page.verdicts = verdicts;
  };

  /* Two windows: what stands here is held back until somebody has chosen. */
  const offer = (words, showIt, keepIt) => {
    const box = document.getElementById("newer");
    box.hidden = words === "";
    box.classList.toggle("is-aside", !page.held);
    box.querySelector("[data-newer-words]").textContent = words;
    box.querySelector("[data-newer=show]").textContent = showIt;
    box.querySelector("[data-newer=keep]").textContent = keepIt;
  };
  const hold = (newer) => {
    page.held = newer;
    show("Not saved", true);
    offer(
      `Another window has newer input on this item, saved ${clock(newer.saved_at)}. What stands here is not stored, but kept on this page.`,
      "Show the newer input",
      "Keep what stands here",
    );
  };
  const offerAside = () => {
    const aside = read(`${page.key}:aside`);
    const when = aside ? clock(aside.at) : "";
    offer(aside ? `Other input on this item is set aside on this device, from ${when}.` : "", "Show it instead", "Discard it");
  };
  const setAside = (fields, at) => {
    if (Object.keys(fields).length) write(`${page.key}:aside`, { fields, at });
    else drop(`${page.key}:aside`);
    offerAside();
  };
  const adopt = (newer) => {
    page.held = null;
    page.saved = page.edits;
    goOnFrom(newer.version);
    fill(newer.fields);
    drop(page.key);
    show(`Saved ${clock(newer.saved_at)}`);
    count(judged(newer.fields));
  };

  const choose = async (choice) => {
    const here = page;
    const newer = page.held === "unknown" ? await lookUp() : page.held;
    if (here !== page || (page.held && !newer?.version)) return;
    if (!page.held && choice === "keep") return setAside({}, 0);
    const other = newer ? { fields: newer.fields, at: newer.saved_at } : read(`${page.key}:aside`);
    if (newer && choice === "keep") {
      page.held = null;
      goOnFrom(newer.version);
      changed();
      return setAside(other.fields, other.at);
    }
    setAside(filled(), Date.now());
    if (newer) return adopt(newer);
    fill(other.fields);
    changed();
  };
  document.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-newer]") : null;
    if (!page || !pressed) return;
    event.preventDefault();
    choose(pressed.dataset.newer);
  });

  /* Back on this page: it goes on from what was stored meanwhile. */
  const lookUp = async () => {
    const answer = await ask({ cache: "no-store" });
    const reply = (await answer?.json().catch(() => null)) ?? null;
    if (answer?.status === 401) signedOut(reply?.sign_in);
    if (answer?.ok) notice("");
    return answer?.ok ? reply : null;
  };
  const catchUp = async () => {
    if (!page || page.left || page.held) return;
    if (unsaved()) return save();
    const here = page;
    const reply = await lookUp();
    if (here !== page || page.left || page.held || unsaved() || !reply?.version) return;
    hear(reply.seconds, page.known);
    if (reply.version === page.version) return;
    adopt(reply);
    review.say(`Brought up to date: filled in in another window at ${clock(reply.saved_at)}.`);
  };
  window.addEventListener("focus", catchUp);

  /* The page goes away: what is not there yet is sent without waiting for an answer. */
  const leave = () => {
    if (!page || page.left) return;
    const whole = unsaved() && !page.held;
    if (!whole && page.seconds - page.known < 1) return;
    page.sending?.abort();
    const sent = whole ? body() : stamp(new URLSearchParams());
    if (whole && page.pending) sent.set("unanswered", page.pending.content);
    navigator.sendBeacon(page.form.dataset.draft, sent);
    page.known = page.seconds;
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
    if (page && event.target instanceof Element && event.target.closest("#decide .check, #reason")) changed();
  });
  document.addEventListener("focusout", (event) => {
    if (page && event.target instanceof Element && event.target.matches("#decide textarea")) save();
  });
  document.addEventListener("visibilitychange", () => {
    if (page && document.visibilityState === "hidden") save();
  });
  window.addEventListener("pagehide", leave);
  window.addEventListener("online", () => page && save());

  /* Nobody is there: the heartbeat rests, and the item comes free when its lease runs out. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    if (elt.id === "lease" && (document.hidden || performance.now() - lastInput > AWAY)) event.preventDefault();
    if (!page || elt !== page.form) return;
    page.left = true;
    page.sending?.abort(); // the form carries it, and it might come second
    document.getElementById("unsent").hidden = true;
  });
  document.addEventListener("htmx:configRequest", (event) => {
    if (!page || event.detail.elt !== page.form) return;
    stamp(event.detail.formData);
    if (page.pending) event.detail.formData.set("unanswered", page.pending.content);
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
    const { status } = event.detail.xhr;
    if (!page || event.detail.elt !== page.form || !page.form.isConnected) return;
    sentInVain(status === 401 ? "you are signed out" : `the server answered ${status}`);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { requestConfig, xhr } = event.detail; // its `elt` is another one when the form is gone
    if (!page || requestConfig.elt !== page.form || xhr.status < 200 || xhr.status >= 400) return;
    drop(page.key);
    if (pressed?.name === "decision") drop(`${page.key}:aside`);
  });

  /* What this device has and the server has not comes back, unless another window has stored something since. */
  const restore = (copy) => {
    const shown = filled();
    if (same(copy.fields, shown)) return drop(page.key);
    const ours = copy.version === page.version || (copy.unanswered && same(copy.unanswered, shown));
    if (!ours && page.version !== "") {
      drop(page.key);
      return setAside(copy.fields, copy.at);
    }
    fill(copy.fields);
    page.seconds = Math.max(page.seconds, copy.seconds || 0);
    show("Not saved yet: restored from this device", true);
    changed();
    plan(0);
  };
  const start = () => {
    const form = review.form();
    if (page?.form === form) return;
    clearTimeout(page?.timer);
    if (!form) return void (page = null);
    const { item, reviewer, now, savedAt, returned, outdated } = form.dataset;
    const seconds = Number(form.elements.seconds.value) || 0;
    page = { form, seconds, known: seconds, edits: 0, saved: 0, retry: 0, pending: null, sending: null };
    page.key = `review:${reviewer}:${item}`;
    page.version = form.elements.version.value;
    page.ahead = Date.parse(now) - Date.now();
    page.verdicts = judged(filled());
    page.held = outdated === undefined ? null : "unknown";
    if (savedAt && !page.held) show(`Saved ${clock(savedAt)}`);
    if (page.held) return keepCopy();
    const copy = read(page.key);
    if (returned !== undefined) return void (copy && changed());
    offerAside();
    if (copy?.fields) restore(copy);
  };
  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
