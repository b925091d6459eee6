// A file that is edited as text, with its faults under the lines. A text field has no room there, so the
// text is edited in an element that flows around the faults: floats before it, each as far down as its
// line ends. The field stays the form's own and has the same text.

const places = new CSSStyleSheet(); // the policy of the pages forbids style attributes
addEventListener("DOMContentLoaded", () => document.adoptedStyleSheets.push(places));
const APART = 0.5; // px: a fault begins behind its line, however sizes are rounded
const ABOVE = 3; // lines that stay in view above the one that is gone to

let field = null;
let box = null;
let pitch = 0; // px from one line to the next
let asked = ""; // the text that the server was asked about
let judged = ""; // the one that the faults on the page are about

const list = () => document.getElementById("file-faults");
const page = () => box.closest(".typed");
const linesOf = (text) => text.replace(/\n$/, "").split("\n");

addEventListener("DOMContentLoaded", start, { once: true });
document.addEventListener("htmx:after:swap", start);
addEventListener("resize", () => box?.isConnected && steadily(measure));

function start() {
  const found = document.querySelector("textarea[data-faults]");
  if (found === field && box?.isConnected) return;
  field = found;
  box = found && editable();
  if (!box) return;
  asked = judged = field.value;
  box.textContent = field.value;
  const isChosen = field.autofocus || document.activeElement === field;
  field.after(box);
  field.hidden = true;
  measure();
  if (isChosen) box.focus({ preventScroll: true });
}

/** Nothing where a browser has no plain text to edit: there the field stays, below the faults. */
function editable() {
  const made = document.createElement("div");
  try {
    made.contentEditable = "plaintext-only";
  } catch {
    return null;
  }
  Object.assign(made, { className: "json typed-text", role: "textbox", ariaMultiLine: "true", spellcheck: false });
  made.tabIndex = 0; // it is anyway, which not every reader of a page knows of plain text
  made.ariaLabel = field.ariaLabel;
  made.setAttribute("aria-describedby", field.getAttribute("aria-describedby"));
  made.addEventListener("input", typed);
  field.addEventListener("input", givenBack);
  return made;
}

const written = () => [...box.childNodes].map((node) => node.data ?? "\n").join("");

/** What a program types in one go, as dictation does, comes in blocks: they become lines. */
function withoutBlocks() {
  const [was, is] = [field.value, box.innerText];
  let same = 0;
  while (same < Math.min(was.length, is.length) && was.at(-1 - same) === is.at(-1 - same)) same += 1;
  box.textContent = is;
  getSelection().collapse(box.firstChild ?? box, box.firstChild ? is.length - same : 0);
}

/** The faults go with their lines until the server has read what is typed now. */
function typed() {
  if (box.querySelector("div")) withoutBlocks();
  field.value = written();
  if (faults().length) steadily(place);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Text that was kept over a sign-in is put into the form's field (unsent.js). */
function givenBack() {
  if (field.value === written()) return;
  box.textContent = field.value;
  place();
}

// What the server says

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (field && [field, field.form].includes(ctx.sourceElement)) asked = field.value;
});

let stood = null; // what stood where as an answer came

document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  if (!box?.isConnected || !tasks.some(({ target }) => target === list())) return;
  stood = steadyLine();
  judged = asked;
});

document.addEventListener("htmx:after:swap", () => {
  if (stood && box?.isConnected) {
    place();
    keep(stood);
  }
  stood = null;
});

// Where the faults stand

const faults = () => [...list().children];

let lines = []; // of each of them, in the text as it is now

/** From a line of the text that was judged to the present one, or the one that took its place. */
function follower() {
  const [was, is] = [judged, field.value].map(linesOf);
  const shortest = Math.min(was.length, is.length);
  let [start, end] = [0, 0];
  while (start < shortest && was[start] === is[start]) start += 1;
  while (end < shortest - start && was.at(-1 - end) === is.at(-1 - end)) end += 1;
  return (line) => {
    if (line <= start) return line;
    if (line > was.length - end) return line + is.length - was.length;
    return Math.max(1, Math.min(line, is.length - end));
  };
}

/** A line with nothing in it fits beside a fault: the caret in it would stand on words. */
function behindEmpty(rows, line) {
  while (rows[line] === "") line += 1;
  return line;
}

function measure() {
  places.replaceSync("#file-faults > li { display: none; }");
  pitch = box.getBoundingClientRect().height / linesOf(field.value).length;
  place();
}

function place() {
  const [follow, rows] = [follower(), linesOf(field.value)];
  lines = faults().map(({ dataset }) => behindEmpty(rows, follow(Number(dataset.line))));
  const rules = lines.map((line, number) => {
    const down = (line - (lines[number - 1] ?? 0)) * pitch + APART;
    return `#file-faults > :nth-child(${number + 1}) { margin-block-start: ${down}px; }`;
  });
  places.replaceSync(rules.join("\n"));
  box.ariaInvalid = faults().some(({ dataset }) => dataset.level === "error") ? "true" : null;
}

// Nothing jumps: the line with the caret stays where it is on the screen, else the first one in view

function topOf(line) {
  const above = faults().filter((_fault, number) => lines[number] < line);
  const gaps = above.map((fault) => fault.getBoundingClientRect().height + APART);
  return gaps.reduce((sum, gap) => sum + gap, (line - 1) * pitch);
}

function steadyLine() {
  const { scrollTop, clientHeight } = page();
  const caret = caretLine();
  const isInView = caret && topOf(caret) >= scrollTop && topOf(caret) < scrollTop + clientHeight;
  const line = isInView ? caret : lineAt(scrollTop);
  return { line, top: topOf(line) };
}

/** The first whose top is not above this. */
function lineAt(y) {
  let [from, to] = [1, linesOf(field.value).length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (topOf(middle) < y) from = middle + 1;
    else to = middle;
  }
  return from;
}

function keep({ line, top }) {
  page().scrollTop += topOf(line) - top;
}

function steadily(act) {
  const line = steadyLine();
  act();
  keep(line);
}

// The caret

/** 0 where it is elsewhere. */
function caretLine() {
  const { focusNode, focusOffset } = getSelection();
  if (!box.contains(focusNode)) return 0;
  const range = new Range();
  range.setStart(box, 0);
  range.setEnd(focusNode, focusOffset);
  const { textContent, childNodes } = range.cloneContents();
  return textContent.split("\n").length + [...childNodes].filter(({ nodeName }) => nodeName === "BR").length;
}

function goTo(line) {
  const rows = linesOf(field.value);
  const start = rows.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const end = start + (rows[line - 1]?.length ?? 0);
  if (!box) {
    field.focus();
    return field.setSelectionRange(start, end);
  }
  box.focus({ preventScroll: true });
  getSelection().setBaseAndExtent(...placeAt(start), ...placeAt(end));
  page().scrollTop = topOf(line) - ABOVE * pitch;
}

/** The text may have come apart while it was edited. */
function placeAt(offset) {
  let rest = offset;
  for (const node of box.childNodes) {
    const { length } = node.data ?? "\n";
    if (rest <= length && node.data !== undefined) return [node, rest];
    rest -= length;
  }
  return [box, box.childNodes.length];
}

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("[data-goes-to-fault], [data-next-fault]")) return;
  const fault = target.closest("li");
  const known = box ? lines : faults().map(({ dataset }) => Number(dataset.line));
  const caret = box ? caretLine() : 0;
  goTo(fault ? known[faults().indexOf(fault)] : (known.find((line) => line > caret) ?? known[0]));
});
