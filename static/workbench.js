/* The frame's behaviour: theme, times in the reader's zone, shortcuts of every page, and what htmx may swap. */
(() => {
  "use strict";
  const root = document.documentElement;

  /* Is the focus where letters are typed? Radio buttons and check boxes are not such places. */
  const typing = (target) =>
    target instanceof Element &&
    target.closest("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])") !== null;

  /* A bare key, pressed once, meant for the page. */
  const isShortcut = (event) =>
    !(event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.repeat) &&
    !(event.ctrlKey || event.metaKey || event.altKey) &&
    !typing(event.target);


  /* Theme: system, light, dark, in turn. */
  const themes = ["system", "light", "dark"];
  const showTheme = () => {
    const theme = root.dataset.theme ?? "system";
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.textContent = `Theme: ${theme}`;
    }
  };
  const switchTheme = () => {
    const next = themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      /* Not remembered, but switched. */
    }
    showTheme();
  };

  /* The server writes times in UTC; here they turn into the reader's own. */
  const localTimes = (within) => {
    for (const time of within.querySelectorAll("time[data-form]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const two = (number) => String(number).padStart(2, "0");
      const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
      const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
      time.title = time.dateTime;
      time.textContent = time.dataset.form === "clock" ? clock : `${day} ${clock}`;
      delete time.dataset.form;
    }
  };

  const notice = (text, ...more) => {
    const box = document.getElementById("notice");
    if (!box) return;
    box.replaceChildren(text, ...more);
    box.hidden = text === "";
  };
  const signedOut = (address) => {
    const link = document.createElement("a");
    link.href = address ?? "/";
    link.target = "_blank";
    link.textContent = "Sign in in another window";
    notice("You are signed out. ", link, ", then go on here: nothing on this page is lost.");
  };

  /* Signing in anew, in another window, makes a new token: the one that came with the page is void then. */
  const token = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1];
  document.addEventListener(
    "submit",
    (event) => {
      const field = event.target.querySelector("[name=csrfmiddlewaretoken]");
      if (field && token()) field.value = token();
    },
    true,
  );
  document.addEventListener("htmx:configRequest", (event) => {
    const { verb, headers, formData } = event.detail;
    if (verb === "get" || !token()) return;
    headers["X-CSRFToken"] = token();
    if (formData.has("csrfmiddlewaretoken")) formData.set("csrfmiddlewaretoken", token());
  });

  window.workbench = { isShortcut, notice, signedOut, token };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest("[data-theme-switch]")) switchTheme();
    const copy = event.target.closest("[data-copy-link]");
    if (copy) {
      navigator.clipboard?.writeText(location.origin + location.pathname).then(() => {
        copy.textContent = "Copied";
      });
    }
  });

  document.addEventListener("keydown", (event) => {
    if (!isShortcut(event)) return;
    if (event.key === "?") {
      document.getElementById("shortcuts")?.togglePopover();
    } else if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    }
  });

  /* A part that is polled leaves alone what a person is using: an open panel, marked text. */
  const inUse = (part) => {
    const marked = document.getSelection();
    return (
      part.querySelector("details[open]") !== null ||
      (marked !== null && !marked.isCollapsed && part.contains(marked.anchorNode))
    );
  };
  const isPoll = (detail) => !detail.requestConfig?.triggeringEvent;

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isPoll(event.detail) && document.hidden && event.detail.elt.hasAttribute("data-live")) {
      event.preventDefault();
    } else if (!isPoll(event.detail)) {
      root.classList.add("loading");
    }
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { elt, target } = event.detail;
    if (elt?.hasAttribute?.("data-live") && inUse(target)) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    root.classList.remove("loading");
    if (event.detail.successful) notice("");
  });
  document.addEventListener("htmx:sendError", () =>
    notice("The server cannot be reached. Nothing on this page is lost; try again in a moment."),
  );
  document.addEventListener("htmx:responseError", (event) => {
    const { status, responseText } = event.detail.xhr;
    if (status === 401) return signedOut(JSON.parse(responseText).sign_in);
    notice(
      status === 403
        ? "The server refused this: you may have been signed out. Open the sign-in page in another tab, then try again."
        : `The server answered ${status}. Nothing on this page is lost; try again, or reload.`,
    );
  });
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    for (const [name, value] of [...event.detail.formData.entries()]) {
      if (value === "") event.detail.formData.delete(name);
    }
  });

  document.addEventListener("htmx:load", (event) => {
    localTimes(event.detail.elt);
    showTheme();
  });
  const start = () => {
    localTimes(document);
    showTheme();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
