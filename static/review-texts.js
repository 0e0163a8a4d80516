/* The two texts of a review: tabs, scrolling together, the difference, quoted passages.
   Places in a text are counted in characters (code points), as the server counts them. */
(() => {
  "use strict";
  const { review } = window.workbench;
  const SIDES = ["source", "reconstruction"];
  const LONGEST = 5_000;
  const sheet = (side) => document.querySelector(`#texts .sheet[data-text="${side}"]`);
  const reading = (side) => sheet(side)?.querySelector(":scope > .reading");
  const other = (side) => SIDES[1 - SIDES.indexOf(side)];

  /* Tabs, where only one text has room. */
  const showText = (side) => {
    const texts = sheet(side)?.closest(".texts");
    if (!texts) return;
    texts.dataset.shown = side;
    for (const tab of texts.querySelectorAll("[data-show-text]")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.showText === side));
    }
  };

  /* Places */
  const points = (text) => {
    let number = 0;
    for (const _ of text) number += 1;
    return number;
  };
  const unitsAt = (text, point) => {
    let units = 0;
    for (const character of text) {
      if (point === 0) break;
      point -= 1;
      units += character.length;
    }
    return units;
  };
  const boundary = (element, units) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode();
    while (node && units > node.length) {
      units -= node.length;
      node = walker.nextNode();
    }
    return [node ?? element, node ? units : 0];
  };
  const rangeOfUnits = (element, start, end) => {
    const range = document.createRange();
    range.setStart(...boundary(element, start));
    range.setEnd(...boundary(element, end));
    return range;
  };
  const rangeOf = (side, start, end) => {
    const element = reading(side);
    const text = element.textContent;
    return rangeOfUnits(element, unitsAt(text, start), unitsAt(text, end));
  };

  /* The passage that is selected in one of the texts, without the space around it; null if there is none. */
  const selected = () => {
    const marked = document.getSelection();
    if (!marked?.rangeCount || marked.isCollapsed) return null;
    const chosen = marked.getRangeAt(0);
    for (const side of SIDES) {
      const element = reading(side);
      if (!element || !chosen.intersectsNode(element)) continue;
      const before = document.createRange();
      before.selectNodeContents(element);
      const within = before.cloneRange();
      if (element.contains(chosen.startContainer)) within.setStart(chosen.startContainer, chosen.startOffset);
      if (element.contains(chosen.endContainer)) within.setEnd(chosen.endContainer, chosen.endOffset);
      before.setEnd(within.startContainer, within.startOffset);
      const text = within.toString();
      if (!text.trim()) continue;
      const start = points(before.toString()) + points(text) - points(text.trimStart());
      return { side, start, end: start + points(text.trim()), text: text.trim() };
    }
    return null;
  };

  /* Evidence */
  const field = (check, part) => review.form().elements[`${check.dataset.check}-${part}`];

  const setEvidence = (check, passage) => {
    check.classList.remove("is-quoting");
    field(check, "evidence").removeAttribute("aria-invalid");
    field(check, "evidence").value = passage?.text ?? "";
    for (const part of ["side", "start", "end"]) field(check, `evidence-${part}`).value = passage?.[part] ?? "";
    field(check, "evidence").dispatchEvent(new Event("input", { bubbles: true }));
    showEvidence(check);
    highlight();
  };

  const showEvidence = (check) => {
    const figure = check.querySelector(".evidence-quote");
    figure.hidden = field(check, "evidence-start").value === "";
    figure.querySelector("blockquote").textContent = field(check, "evidence").value;
    figure.querySelector("[data-evidence-side]").textContent = field(check, "evidence-side").value;
  };
  const showAllEvidence = () => {
    for (const check of review.checks()) {
      showEvidence(check);
      check.classList.toggle("is-quoting", find(check) === undefined);
    }
    highlight();
  };

  /* The passage in the check's field, where it stands; null without one, undefined when it stands in neither
     text. Any space stands for any other. */
  const find = (check) => {
    const [passage, side, start, end] = ["", "-side", "-start", "-end"].map((part) => field(check, `evidence${part}`).value);
    if (passage.trim() === "") return null;
    if (start !== "") return { side, start: Number(start), end: Number(end), text: passage };
    const words = passage.trim().split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const pattern = new RegExp(words.join("\\s+"), "u");
    for (const each of side ? [side] : [...SIDES].reverse()) {
      const text = reading(each)?.textContent ?? "";
      const found = pattern.exec(text);
      if (!found) continue;
      const at = points(text.slice(0, found.index));
      return { side: each, start: at, end: at + points(found[0]), text: found[0] };
    }
    return undefined;
  };
  review.unplaced = () => review.checks().filter((check) => find(check) === undefined).map((check) => check.dataset.check);

  /* By keyboard: the passage is typed or pasted, and looked up on leaving. */
  const writePassage = (check) => {
    check.classList.add("is-quoting");
    field(check, "evidence").focus();
    review.say("Nothing is selected: type or paste the passage. Esc looks it up.");
  };
  const lookUp = (check) => {
    const passage = find(check);
    field(check, "evidence").setAttribute("aria-invalid", String(passage === undefined));
    if (passage === undefined) return review.say("The passage stands in neither text as it is written here.");
    if (passage || field(check, "evidence-side").value) setEvidence(check, passage);
    else check.classList.remove("is-quoting");
    if (passage) review.say(`Quoted ${points(passage.text)} characters of the ${passage.side}.`);
  };

  const quote = (check) => {
    const passage = selected();
    if (!passage) return writePassage(check);
    if (points(passage.text) > LONGEST) return review.say(`Quote at most ${LONGEST} characters.`);
    setEvidence(check, passage);
    review.say(`Quoted ${points(passage.text)} characters of the ${passage.side}.`);
    document.getSelection().removeAllRanges();
  };

  /* Quoted passages are marked in the texts without touching them. */
  const highlight = (shown) => {
    if (!window.Highlight || !review.form()) return;
    const ranges = [];
    for (const check of review.checks()) {
      const [side, start, end] = ["side", "start", "end"].map((part) => field(check, `evidence-${part}`).value);
      if (start !== "" && reading(side)) ranges.push(rangeOf(side, Number(start), Number(end)));
    }
    CSS.highlights.set("evidence", new Highlight(...ranges));
    CSS.highlights.set("passage", new Highlight(...(shown ? [shown] : [])));
  };

  const showPassage = (side, start, end) => {
    showText(side);
    const range = rangeOf(side, start, end);
    highlight(range);
    const box = sheet(side);
    const place = range.getBoundingClientRect();
    if (box.scrollHeight > box.clientHeight + 1) {
      leader = side;
      box.scrollTo({ top: box.scrollTop + place.top - box.getBoundingClientRect().top - box.clientHeight / 3 });
    } else {
      document.getElementById("checks").classList.remove("is-open");
      window.scrollTo({ top: window.scrollY + place.top - window.innerHeight / 3 });
    }
  };

  /* Scrolling together: the paragraph at the top of one text is brought to the top of the other. */
  let linked = true;
  let leader = "reconstruction";
  let anchors = {};

  /* Where each paragraph begins, in pixels from the top of the text, ending with the last scroll position. */
  const anchorsOf = (side) => {
    const box = sheet(side);
    const key = `${box.scrollHeight} ${box.clientHeight} ${box.clientWidth}`;
    if (anchors[side]?.key === key && anchors[side].box === box) return anchors[side].tops;
    const element = reading(side);
    const text = element?.textContent ?? "";
    const origin = box.getBoundingClientRect().top - box.scrollTop;
    const furthest = Math.max(0, box.scrollHeight - box.clientHeight);
    const tops = [0];
    for (const match of text.matchAll(/\n\s*(?=\S)/g)) {
      const at = match.index + match[0].length;
      const top = rangeOfUnits(element, at, at + 1).getBoundingClientRect().top - origin - 40;
      if (top > tops.at(-1) && top < furthest) tops.push(top);
    }
    tops.push(furthest);
    anchors[side] = { key, box, tops };
    return tops;
  };

  const follow = () => {
    const [from, to] = [sheet(leader), sheet(other(leader))];
    if (!linked || !from || !to || to.scrollHeight <= to.clientHeight) return;
    const [ones, others] = [anchorsOf(leader), anchorsOf(other(leader))];
    const last = ones.length - 2;
    const place = Math.max(0, Math.min(last, ones.findLastIndex((top) => top <= from.scrollTop)));
    const share = (from.scrollTop - ones[place]) / Math.max(1, ones[place + 1] - ones[place]);
    const point = ((place + Math.min(1, share)) / (last + 1)) * (others.length - 1);
    const below = Math.min(others.length - 2, Math.floor(point));
    to.scrollTop = others[below] + (point - below) * (others[below + 1] - others[below]);
  };

  const lead = (event) => {
    const box = event.target instanceof Element ? event.target.closest("#texts .sheet") : null;
    if (box) leader = box.dataset.text;
  };
  for (const kind of ["pointerdown", "wheel", "touchstart", "focusin", "keydown"]) {
    document.addEventListener(kind, lead, { passive: true, capture: true });
  }
  document.addEventListener(
    "scroll",
    (event) => {
      if (event.target instanceof Element && event.target === sheet(leader)) requestAnimationFrame(follow);
    },
    { passive: true, capture: true },
  );
  document.addEventListener("review:scroll", (event) => {
    const box = sheet(sheet(leader)?.offsetParent ? leader : other(leader));
    if (!box) return;
    const alone = box.scrollHeight > box.clientHeight + 1;
    const height = alone ? box.clientHeight : window.innerHeight;
    (alone ? box : window).scrollBy({ top: event.detail.step * height * 0.85 });
  });

  const toggleLink = (button) => {
    linked = !linked;
    showLink(button);
    if (linked) follow();
  };
  const showLink = (button) => button?.setAttribute("aria-pressed", String(linked));

  /* The difference comes from the server, in the place of the texts. */
  const toggleDifference = async (link) => {
    const tops = SIDES.map((side) => sheet(side).scrollTop);
    const shown = sheet("source").closest(".texts").dataset.shown;
    await window.htmx.ajax("GET", link.href, { target: "#texts", swap: "outerHTML" });
    const on = document.querySelector("#texts [data-difference]") !== null;
    link.setAttribute("aria-pressed", String(on));
    link.href = link.pathname + (on ? "" : "?difference=1");
    showText(shown);
    SIDES.forEach((side, place) => (sheet(side).scrollTop = tops[place]));
    highlight();
  };

  document.addEventListener("review:quote", (event) => quote(event.target));
  document.addEventListener("input", (event) => {
    const check = event.isTrusted && event.target instanceof Element && event.target.closest(".is-quoting");
    if (!check || !event.target.closest(".evidence-fields")) return;
    for (const part of ["start", "end"]) field(check, `evidence-${part}`).value = "";
    field(check, "evidence").removeAttribute("aria-invalid");
    showEvidence(check);
    highlight();
  }, true);
  document.addEventListener("focusout", (event) => {
    const fields = event.target instanceof Element ? event.target.closest(".is-quoting .evidence-fields") : null;
    if (fields && !fields.contains(event.relatedTarget)) lookUp(fields.closest(".check"));
  });
  document.addEventListener("mousedown", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-do=evidence]")) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const at = (selector) => event.target.closest(selector);
    const check = at(".check");
    const hint = at("[data-show-start]");
    if (at("[data-show-text]")) showText(at("[data-show-text]").dataset.showText);
    else if (at("[data-do=link]")) toggleLink(at("[data-do=link]"));
    else if (at("[data-do=evidence]")) quote(check);
    else if (at("[data-drop-evidence]")) setEvidence(check, null);
    else if (hint) showPassage(hint.dataset.showSide, Number(hint.dataset.showStart), Number(hint.dataset.showEnd));
    else if (at("[data-show-evidence]")) {
      const [side, start, end] = ["side", "start", "end"].map((part) => field(check, `evidence-${part}`).value);
      showPassage(side, Number(start), Number(end));
    } else if (at("[data-do=difference]") && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      toggleDifference(at("[data-do=difference]"));
    }
  });
  document.addEventListener("review:filled", showAllEvidence);

  let seen = null;
  const start = () => {
    if (!review.form() || review.form() === seen) return;
    seen = review.form();
    anchors = {};
    leader = "reconstruction";
    showLink(document.querySelector("[data-do=link]"));
    showAllEvidence();
  };
  document.addEventListener("htmx:load", start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
