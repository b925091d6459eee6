// The model of the conversation, or of one reply that is asked for again: found by name and chosen.
import { atStart, byId, on } from "./dom.js";
import { askAgain } from "./messages.js";
import { openAt, openerOf } from "./popovers.js";
import { headers, send, show, swap } from "./requests.js";
import { gettext } from "./texts.js";

const PAUSE = 120; // ms after the last key
const picker = byId("model-picker");
const field = byId("find-model");
/** Where its models come from and the choice goes: in Settings the button says it. */
let place = { ...picker?.dataset };
let again = ""; // the reply's address that the choice is for; empty for the conversation
let asked = 0; // only the answer to the last question is drawn
let typing = 0;
let drawn = Promise.resolve(); // the list, by the last question

atStart(() => {
  picker?.addEventListener("toggle", async ({ newState }) => {
    if (newState !== "open") return void (again = "");
    place = { ...picker.dataset, ...openerOf(picker)?.dataset };
    field.value = "";
    field.focus();
    select(null);
    await draw();
    await draw("ask");
  });
});

on("click", "[data-another]", () => {
  const menu = byId("again-menu");
  const button = openerOf(menu);
  menu.hidePopover();
  again = button.dataset.again;
  openAt(picker, button);
});

/** The list for what is typed; with `ask` or `anew` after the providers have been asked. */
function draw(how = "") {
  drawn = bring(how);
  return drawn;
}

async function bring(how) {
  const number = (asked += 1);
  const query = new URLSearchParams({ find: field.value, ...(how && { [how]: "1" }) });
  const response = await fetch(`${place.models}?${query}`, { headers: headers() }).catch(() => null);
  const text = response && response.status < 500 ? await response.text().catch(() => "") : "";
  if (number !== asked || !text) return;
  byId("model-alert").textContent = "";
  if (!response.ok) return void (await swap(text));
  const before = selected()?.dataset.model;
  await swap(text);
  const rows = options();
  select(rows.find((row) => row.dataset.model === before) ?? rows.find((row) => "current" in row.dataset) ?? rows[0]);
}

const options = () => [...picker.querySelectorAll("[role=option]")];
const selected = () => picker.querySelector("[role=option][aria-selected=true]");

function select(row) {
  selected()?.setAttribute("aria-selected", "false");
  field.removeAttribute("aria-activedescendant");
  if (!row) return;
  row.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", row.id);
  row.scrollIntoView({ block: "nearest" });
}

on("input", "#find-model", () => {
  clearTimeout(typing);
  typing = setTimeout(find, PAUSE);
});

function find() {
  clearTimeout(typing);
  typing = 0;
  select(null);
  draw();
}

/** Enter is for what is typed: where its list has not come yet, for the first of that. */
async function chooseTyped() {
  const wanted = field.value;
  if (typing) find();
  for (let last = null; !selected() && last !== drawn; ) await (last = drawn);
  if (selected() && field.value === wanted && picker.matches(":popover-open")) choose(selected().dataset);
}

on("keydown", "#find-model", (_field, event) => {
  if (event.isComposing) return;
  const rows = options();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && rows.length) select(rows.at((rows.indexOf(selected()) + step) % rows.length));
  else if (event.key === "Enter") chooseTyped();
  else return;
  event.preventDefault();
});

on("click", "#model-picker [role=option]", (row) => choose(row.dataset));
on("click", "[data-use-model]", ({ dataset }) => choose({ model: dataset.useModel, name: dataset.name }));
on("click", "#model-picker [data-own-model]", (button) => choose({ model: "", name: button.dataset.name }));
on("click", "#model-picker [data-look-again]", () => {
  field.focus();
  draw("anew");
});

export async function choose({ model, name }) {
  const address = again;
  picker.hidePopover();
  if (address) return askAgain(address, model);
  const answer = await send(place.chooses, { model });
  await show(answer);
  const said = gettext("{name} answers from now on.", { name });
  if (answer.ok && byId("status")) byId("status").textContent = said;
  else if (answer.error) alertHere().textContent = answer.error;
}

const alertHere = () => byId("say-alert") ?? byId(`${openerOf(picker).closest("article").id}-alert`);
