// At the message that was found: its words are in view and marked, until something else is done.
import { atStart, byId, on, unfoldAround } from "./dom.js";

const TINTED = 2000; // ms
const NEAR = 130; // signs in which found words belong together, as in a snippet (console/snippets.py)
const NAME = "found"; // of the highlight, in css/palette.css
/** Scripts that put no spaces between words: there a word begins anywhere (agents/words.py). */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Mymr}\p{sc=Khmr}]/u;

atStart(() => {
  const asked = new URLSearchParams(location.search);
  const found = asked.get("at");
  if (!byId("log") || !(found || asked.has("deleted"))) return;
  history.replaceState(null, "", location.pathname);
  if (found) goTo(found, asked.get("words") ?? "");
});

// A file leads to the call that changed it last.
on("click", "a[data-goes-to]", ({ dataset }, event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || !goTo(dataset.goesTo, "")) return;
  event.preventDefault();
  const call = byId(`call-${dataset.opensCall}`);
  if (!call) return;
  call.open = true;
  call.scrollIntoView({ block: "nearest" });
});

/** Whether it is on this page; then it has the focus and is tinted for a while, and the found words
 * are in view, else its beginning. */
export function goTo(message, words) {
  const element = byId(`message-${message}`);
  if (!element) return false;
  unfoldAround(element);
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  const [first, ...others] = rangesOf(element, words);
  bringIntoView(element, first);
  if (first) mark([first, ...others]);
  element.dataset.found = "";
  setTimeout(() => delete element.dataset.found, TINTED);
  return true;
}

/** A whole message where it fits; of a longer one the line with the words. */
function bringIntoView(element, range) {
  const log = byId("log");
  const fits = element.offsetHeight < log.clientHeight;
  element.scrollIntoView({ block: fits ? "center" : "start" });
  if (!range || fits) return;
  const [line, view] = [range.getBoundingClientRect(), log.getBoundingClientRect()];
  log.scrollTop += line.top - view.top - (view.height - line.height) / 2;
}

/** Drawn by the browser over the text, which stays as it is. */
function mark(ranges) {
  if (!globalThis.Highlight) return;
  CSS.highlights.set(NAME, new Highlight(...ranges));
  const done = new AbortController();
  const end = () => {
    CSS.highlights.delete(NAME);
    done.abort();
  };
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, end, { signal: done.signal });
}

/** Where the words stand, the first of them where most are nearest to each other. */
function rangesOf(element, words) {
  const parts = [...new Set(signsOf(words).split(" ").filter(Boolean))];
  if (!parts.length) return [];
  const signs = textOf(element);
  const text = signs.map(({ sign }) => sign).join("");
  const spans = parts.flatMap((part) => spansOf(text, part)).sort((a, b) => a.start - b.start);
  const best = Math.max(...spans.map((span) => (span.score = scoreOf(span, spans))));
  const first = spans.find(({ score }) => score === best);
  return [first, ...spans.filter((span) => span !== first)].filter(Boolean).map(({ start, end }) => {
    const range = new Range();
    range.setStart(signs[start].node, signs[start].at);
    range.setEnd(signs[end - 1].node, signs[end - 1].end);
    return range;
  });
}

/** More for each other word that follows, less for the way to it. */
function scoreOf({ start }, spans) {
  const next = new Map(); // word: how far it is
  for (const span of spans) {
    const far = span.start - start;
    if (far >= 0 && far < NEAR && !next.has(span.part)) next.set(span.part, far);
  }
  return next.size * NEAR - Math.max(...next.values());
}

function spansOf(text, part) {
  const spans = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    const before = text[at - 1] ?? " ";
    if (before === " " || UNSPACED.test(part[0]) || UNSPACED.test(before)) {
      spans.push({ part, start: at, end: at + part.length });
    }
  }
  return spans;
}

/** Each sign of what can be read there, as search reads it, and where it stands. Between two blocks
 * is a space. */
function textOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const signs = [];
  let block = null;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".message-foot") || !node.parentElement.checkVisibility()) continue;
    const around = node.parentElement.closest(":is(p, li, td, th, pre, h1, h2, h3, h4, h5, h6, div)");
    if (around !== block) signs.push({ sign: " ", node, at: 0, end: 0 });
    block = around;
    let at = 0;
    for (const letter of node.data) {
      const end = at + letter.length;
      for (const sign of signsOf(letter).split("")) signs.push({ sign, node, at, end });
      at = end;
    }
  }
  return signs;
}

/** Without letter case and accents; what is no part of a word is a space. */
function signsOf(text) {
  const plain = text.normalize("NFKD").replace(/[\u0300-\u036f]|\p{Cf}/gu, "").toLowerCase();
  return plain.replace(/[^\p{L}\p{M}\p{N}]/gu, " ");
}
