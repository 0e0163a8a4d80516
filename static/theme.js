/* Runs before the page is drawn, so that the remembered theme is there from the first pixel. */
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    /* Storage is switched off: the system's theme it is. */
  }
})();
