// What a plan tells its agent, folded and unfolded. Before a yes all of it is shown; who folds it
// finds it folded again, until there is another version. After the yes each name opens its own.
import { always, atStart, byId, on, setIcon } from "./dom.js";
import { gettext } from "./texts.js";

const app = byId("app");
const list = () => byId("subtasks");
const plan = () => byId("plan");

// The list in the drawer

const listKey = () => `folded-${plan().dataset.planId}`;

function applyList() {
  if (!list()) return;
  const isFolded = localStorage.getItem(listKey()) === plan().dataset.version;
  list().toggleAttribute("data-folded", "proposed" in list().dataset && isFolded);
  label(plan().querySelector("[data-fold-list]"), isFolded);
  for (const row of list().children) {
    const isOpen = "unfolded" in row.dataset;
    for (const button of row.querySelectorAll("[data-shows-details], [data-shows-outcome]")) {
      button.setAttribute("aria-expanded", String(isOpen));
    }
  }
}

on("click", "[data-fold-list]", () => {
  if ("folded" in list().dataset) localStorage.removeItem(listKey());
  else localStorage.setItem(listKey(), plan().dataset.version);
  for (const row of list().children) row.removeAttribute("data-unfolded");
  applyList();
});

on("click", "#subtasks :is([data-shows-details], [data-unfolds])", (element) => {
  element.closest("li").toggleAttribute("data-unfolded");
  applyList();
});

// The card in the conversation: names beside an open drawer, everything without one

const cardKey = (card) => `card-${card.dataset.plan}`;

function applyCards() {
  for (const card of document.querySelectorAll("article.card[data-plan]")) {
    const [version, choice] = (localStorage.getItem(cardKey(card)) ?? "").split(" ");
    if (version === card.dataset.version) card.dataset.kept = choice;
    else delete card.dataset.kept;
    label(card.querySelector("[data-fold-card]"), isFolded(card));
  }
}

function isFolded(card) {
  return card.dataset.kept ? card.dataset.kept === "shut" : app.dataset.drawer === "open";
}

on("click", "[data-fold-card]", (button) => {
  const card = button.closest("article");
  localStorage.setItem(cardKey(card), `${card.dataset.version} ${isFolded(card) ? "open" : "shut"}`);
  applyCards();
});

// How a plan has ended: one line beside the drawer, which says the rest

on("click", "[data-unfold-closing]", (button) => {
  button.closest("article").dataset.unfolded = "";
  button.closest("article").querySelector(".card a, .card button")?.focus();
});

function label(button, isFolded) {
  if (!button) return;
  const [span, words] = [button.querySelector("span"), isFolded ? gettext("Unfold") : gettext("Fold")];
  if (span.textContent !== words) span.textContent = words;
  setIcon(button, isFolded ? "unfold" : "fold");
}

always(() => {
  applyList();
  applyCards();
});
atStart(() => {
  if (app) new MutationObserver(applyCards).observe(app, { attributeFilter: ["data-drawer"] });
});
