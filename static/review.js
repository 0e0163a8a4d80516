/* The review room by keyboard: 1-5 a check, p/f/u its verdict, n its note, a/r/s accept, reject, skip. */
(() => {
  "use strict";
  const form = () => document.getElementById("decide");
  const checks = () => [...document.querySelectorAll("#decide .check")];
  const current = () => document.querySelector("#decide .check.is-current");
  const verdicts = { p: "pass", f: "fail", u: "unsure" };
  const decisions = { a: "accept", r: "reject", s: "skip" };

  const makeCurrent = (check) => {
    for (const each of checks()) each.classList.toggle("is-current", each === check);
  };

  const focusCheck = (check) => {
    makeCurrent(check);
    check.scrollIntoView({ block: "nearest" });
    (check.querySelector("input:checked") ?? check.querySelector("input")).focus({ preventScroll: true });
  };

  const open = (check) => check.querySelector("input:checked") === null;

  /* Sets the verdict and goes on to the next check without one, if there is any. */
  const setVerdict = (check, verdict) => {
    check.querySelector(`input[value="${verdict}"]`).checked = true;
    const all = checks();
    const rest = [...all.slice(all.indexOf(check) + 1), ...all];
    const next = rest.find(open);
    if (next) focusCheck(next);
    else focusCheck(check);
  };

  document.addEventListener("keydown", (event) => {
    if (!form()) return;
    if (event.key === "Escape" && event.target instanceof HTMLTextAreaElement && !event.isComposing) {
      const check = event.target.closest(".check");
      if (check) focusCheck(check);
      return;
    }
    if (!window.workbench.isShortcut(event) || document.querySelector(":popover-open")) return;
    const key = event.key.toLowerCase();
    const number = Number(key);
    const check = current();
    if (number >= 1 && number <= checks().length) focusCheck(checks()[number - 1]);
    else if (verdicts[key] && check) setVerdict(check, verdicts[key]);
    else if (key === "n" && check) check.querySelector("textarea").focus();
    else if (decisions[key]) form().querySelector(`[data-decision="${decisions[key]}"]`).click();
    else return;
    event.preventDefault();
  });

  document.addEventListener("focusin", (event) => {
    const check = event.target instanceof Element ? event.target.closest("#decide .check") : null;
    if (check) makeCurrent(check);
  });

  document.addEventListener("click", (event) => {
    const tab = event.target instanceof Element ? event.target.closest("[data-show-text]") : null;
    if (!tab) return;
    tab.closest(".texts").dataset.shown = tab.dataset.showText;
    for (const each of tab.parentElement.children) each.setAttribute("aria-pressed", String(each === tab));
  });

  const start = () => {
    if (form() && !current()) makeCurrent(checks().find(open) ?? checks()[0]);
  };
  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
