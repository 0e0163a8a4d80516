/* The review room by keyboard and by hand: checks, verdicts, decisions, panels. The keys come with the page. */
(() => {
  "use strict";
  const room = () => document.querySelector("[data-room]");
  const form = () => document.getElementById("decide");
  const checks = () => [...document.querySelectorAll("#decide .check")];
  const current = () => document.querySelector("#decide .check.is-current");
  const open = (check) => check.querySelector("input:checked") === null;

  /* A word to the reviewer, spoken by screen readers too, gone after a while. */
  let silence;
  const say = (text) => {
    const place = document.getElementById("said");
    if (!place) return;
    place.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => (place.textContent = ""), 6_000);
  };

  window.workbench.review = { form, checks, current, say };

  const makeCurrent = (check) => {
    for (const each of checks()) each.classList.toggle("is-current", each === check);
  };

  const focusCheck = (check) => {
    makeCurrent(check);
    check.scrollIntoView({ block: "nearest" });
    (check.querySelector("input:checked") ?? check.querySelector("input")).focus({ preventScroll: true });
  };

  const count = () => {
    const place = document.querySelector("[data-judged]");
    if (place) place.textContent = `${checks().filter((check) => !open(check)).length} of ${checks().length}`;
  };

  /* Sets the verdict and goes on to the next check without one, if there is any. */
  const setVerdict = (verdict) => {
    const check = current();
    if (!check) return;
    const input = check.querySelector(`input[value="${verdict}"]`);
    input.checked = true;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    const all = checks();
    const next = [...all.slice(all.indexOf(check) + 1), ...all].find(open);
    focusCheck(next ?? check);
  };

  const press = (action) => {
    const control = document.querySelector(`[data-do="${action}"]`);
    control?.click();
    return control;
  };

  const toggleFlag = () => {
    press("flag");
    const box = document.querySelector(".flag-menu");
    if (box?.open) box.querySelector("textarea").focus();
  };

  const scrollTexts = (step) =>
    document.dispatchEvent(new CustomEvent("review:scroll", { detail: { step } }));

  const acts = {
    pass: () => setVerdict("pass"),
    fail: () => setVerdict("fail"),
    unsure: () => setVerdict("unsure"),
    note: () => current()?.querySelector("textarea")?.focus(),
    evidence: () => current()?.dispatchEvent(new CustomEvent("review:quote", { bubbles: true })),
    flag: toggleFlag,
    down: () => scrollTexts(1),
    up: () => scrollTexts(-1),
  };

  const act = (action) => {
    if (action.startsWith("check-")) {
      const check = checks()[Number(action.slice(6)) - 1];
      if (check) focusCheck(check);
    } else {
      (acts[action] ?? (() => press(action)))();
    }
  };

  const actionOf = (key) => {
    const keys = JSON.parse(room()?.dataset.keys ?? "{}");
    return Object.keys(keys).find((action) => keys[action] === key);
  };

  /* Esc leaves a field for its check; in the flag's form it closes the form. A link that looks like a button
     takes the space bar too. */
  const leaveField = (event) => {
    const check = event.target.closest(".check");
    const box = event.target.closest(".flag-menu");
    if (check) focusCheck(check);
    if (box) {
      box.open = false;
      box.querySelector("summary").focus();
    }
  };

  document.addEventListener("keydown", (event) => {
    if (!room() || !(event.target instanceof Element)) return;
    if (event.key === "Escape" && event.target.matches("textarea, select") && !event.isComposing) return leaveField(event);
    if (event.key === " " && event.target.matches("a[role=button]")) {
      event.preventDefault();
      return event.target.click();
    }
    /* Enter on a verdict would send the form. */
    if (event.key === "Enter" && event.target.matches(".verdict input")) return event.preventDefault();
    if (!window.workbench.isShortcut(event)) return;
    const action = actionOf(event.key.toLowerCase());
    const panel = document.querySelector(":popover-open");
    if (!action || (panel && !(action === "guidelines" && panel.id === "guidelines"))) return;
    event.preventDefault();
    act(action);
  });

  /* A row must not move away between the two halves of a click, nor under a hand that goes down the rows and
     passes them: a pass opens nothing. */
  let pointing = false;
  document.addEventListener("mousedown", () => (pointing = true), true);
  document.addEventListener("mouseup", () => setTimeout(() => (pointing = false)), true);
  document.addEventListener("focusin", (event) => {
    const check = event.target instanceof Element ? event.target.closest("#decide .check") : null;
    if (check && !pointing) makeCurrent(check);
  });

  document.addEventListener("input", (event) => {
    if (event.target instanceof Element && event.target.closest("#decide .check")) count();
  });
  document.addEventListener("review:filled", count);

  /* Hints that stand there already are not put there again: they would be read out again. */
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const words = (of) => of.textContent.split(/\s+/).join(" ").trim();
    if (target.matches(".hints") && words(target) === words(fragment)) event.detail.shouldSwap = false;
  });

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const check = event.target.closest("#decide .check");
    if (check && !event.target.closest(".verdict-pass")) makeCurrent(check);
    if (event.target.closest(".sheet-switch")) toggleSheet();
    const box = document.querySelector(".flag-menu[open]");
    if (box && !box.contains(event.target)) box.open = false;
  });

  /* On a phone the checks are a sheet above the bar, however high that is. */
  const aboveBar = new ResizeObserver(([bar]) =>
    document.getElementById("checks")?.style.setProperty("--bar-height", `${bar.target.offsetHeight}px`),
  );
  const toggleSheet = () => {
    const sheet = document.getElementById("checks");
    aboveBar.disconnect();
    aboveBar.observe(document.querySelector(".decision-bar"));
    const shown = sheet.classList.toggle("is-open");
    document.querySelector(".sheet-switch").setAttribute("aria-expanded", String(shown));
  };

  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.id !== "guidelines" || event.newState !== "open") return;
      document.getElementById(`guideline-${current()?.dataset.check}`)?.scrollIntoView({ block: "start" });
    },
    true,
  );

  const start = (event) => {
    if (!form() || current()) return;
    const all = checks();
    makeCurrent(all.find((check) => check.classList.contains("has-problem")) ?? all.find(open) ?? all[0]);
    count();
    if (event?.type === "htmx:load" && !document.querySelector(".decision-problem")) {
      document.getElementById("main").focus({ preventScroll: true });
    }
  };

  /* 'Today' on the server is the reader's own day. */
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `timezone=${zone}; path=/; max-age=31536000; samesite=lax`;

  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
