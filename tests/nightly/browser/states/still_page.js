// Holds a page still and reads it: what differs from one run to the next is made the same, and
// nothing arrives any more.

/** Before the page: what a socket says later is not heard once the page is still. */
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", (event) => window.isStill && event.stopImmediatePropagation());
  }
};

const VARYING_TEXT = [
  [/\b\d+:\d\d(:\d\d)?\b/g, "0:00"],
  [/\b\d+(\.\d+)? s\b/g, "0 s"],
  [/\btry\s+\d of \d/g, "try 2 of 5"],
  [/127\.0\.0\.1:\d{2,5}/g, "127.0.0.1:0"],
  [/\/[^\s"]*\/(?=tests\/)/g, "/"],
];
const VARYING = [
  ...["datetime", "data-since", "data-until", "data-silence", "data-seq", "data-now"],
  ...["data-tag", "data-seen"],
];
const PASSING = ["data-htmx-powered", "style"];
/** Numbers of rows. */
const ROWS =
  "message|call|turn|alone|plan|subtask|conversation|approval|question|try|attempt|nested|budget|left-out";
const ROW_NUMBERS = [
  new RegExp(`((?:${ROWS})-)\\d+`, "g"),
  /(\/(?:c|conversations|plans|attempts|messages|calls)\/)\d+/g,
  /((?:plan|turn|before|to|call|retry)=)\d+/g,
];
const ROW_ATTRIBUTES = ["data-plan-id", "data-plan", "data-conversation", "data-approval", "data-of-plan"];

function sameText(text) {
  return VARYING_TEXT.reduce((same, [pattern, by]) => same.replace(pattern, by), text);
}

window.holdStill = () => {
  window.isStill = true;
  const last = setTimeout(() => {});
  for (let timer = 0; timer <= last; timer += 1) clearTimeout(timer);
  for (const element of document.querySelectorAll("time")) {
    element.textContent = "00:00";
    element.removeAttribute("title");
  }
  for (const element of document.querySelectorAll("[data-since], [data-until]")) element.textContent = "0 s";
  // Whether it was lost and found again in between is chance.
  document.querySelector("#connection[title^='Updates arrive']")?.removeAttribute("title");
  for (const bar of document.querySelectorAll("ol[aria-label^='How long'] rect")) {
    bar.setAttribute("x", 0);
    bar.setAttribute("width", 500);
  }
  for (const field of document.querySelectorAll("input, textarea")) field.value = sameText(field.value);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const same = sameText(texts.currentNode.data);
    if (same !== texts.currentNode.data) texts.currentNode.data = same;
  }
};

/** Every element as [depth, tag, {attribute: value}], every text as [depth, text]. */
window.readPage = () => {
  const rows = [];

  function sameValue(element, name, value) {
    if (name === "content" && element.name === "csrf") return "*";
    if (name === "content") return value.startsWith("{") ? JSON.stringify(JSON.parse(value)) : value;
    if (name === "value" && /^(csrfmiddlewaretoken|digest|plan|question|asking|current)$/.test(element.name)) return "*";
    if (VARYING.includes(name) || ROW_ATTRIBUTES.includes(name)) return value && "*";
    const numbered = ROW_NUMBERS.reduce((same, pattern) => same.replace(pattern, "$1#"), value);
    return sameText(numbered).replace(/(after|since)=[0-9a-f]+/, "$1=*");
  }

  function read(node, depth) {
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentElement; // none in a template
      const keeps = parent && /pre/.test(getComputedStyle(parent).whiteSpace);
      const text = keeps ? node.data : node.data.replace(/\s+/g, " ").trim();
      if (text.trim()) rows.push([depth, text]);
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      const named = node.getAttributeNames().filter((name) => !PASSING.includes(name));
      const attributes = Object.fromEntries(
        named.map((name) => [name, sameValue(node, name, node.getAttribute(name))]),
      );
      rows.push([depth, node.localName, attributes]);
      const inside = node.localName === "template" ? node.content : node;
      if (!["symbol", "script"].includes(node.localName)) for (const child of inside.childNodes) read(child, depth + 1);
    }
  }

  for (const child of document.documentElement.childNodes) read(child, 0);
  return { rows, text: sameText(document.body.innerText) };
};

/** More than two drawings of one page differ at the edges of letters and lines. */
const NOISE = 48; // of 255, in one colour

/** The share of pixels in which two pictures differ, and a third one that shows where. */
window.comparePictures = async (one, other) => {
  const [before, after] = await Promise.all([one, other].map(pixels));
  if (before.width !== after.width || before.height !== after.height) return { share: 1, picture: other };
  let count = 0;
  const [a, b] = [before.data.data, after.data.data];
  for (let i = 0; i < a.length; i += 4) {
    const differs = [0, 1, 2].some((colour) => Math.abs(a[i + colour] - b[i + colour]) > NOISE);
    count += differs;
    if (differs) b.set([255, 0, 128, 255], i);
    else for (let c = 0; c < 3; c += 1) b[i + c] = 192 + b[i + c] / 4;
  }
  after.pen.putImageData(after.data, 0, 0);
  return { share: (4 * count) / a.length, picture: after.canvas.toDataURL("image/png") };
};

async function pixels(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  return { canvas, pen, width: image.width, height: image.height, data: pen.getImageData(0, 0, image.width, image.height) };
}
