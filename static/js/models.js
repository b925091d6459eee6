// Settings > Models and the first page: a key that is replaced, and the model that is chosen.
import { always, byId, on } from "./dom.js";
import { isAdrift } from "./focus.js";

on("click", "[data-replaces]", (button) => swapKey(button, true));
on("click", "[data-keeps]", (button) => swapKey(button, false));
on("keydown", "[data-replacement]", (form, event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  swapKey(form, false);
});

/** The key that is set gives way to a field for another one, or comes back. */
function swapKey(element, isReplaced) {
  const setting = element.closest(".setting");
  const [row, form] = [setting.querySelector("[data-replaced]"), setting.querySelector("[data-replacement]")];
  row.hidden = isReplaced;
  form.hidden = !isReplaced;
  form.reset();
  (isReplaced ? form.querySelector("[name=key]") : row.querySelector("[data-replaces]")).focus();
}

/** What the person has chosen, for a list that is drawn anew. */
let choice = "";

on("change", "#first-run [name=model]", (radio) => {
  choice = radio.value;
  byId("chosen-model").textContent = radio.dataset.name;
});

always(() => {
  const radio = choice && document.querySelector(`#first-run [name=model][value="${CSS.escape(choice)}"]`);
  if (!radio) return;
  radio.checked = true;
  byId("chosen-model").textContent = radio.dataset.name;
});

// The list came after the page: Up and Down choose at once, unless the reader is elsewhere.
always(() => {
  const chosen = document.querySelector("#first-run [name=model]:checked");
  if (chosen && !("seen" in chosen.form.dataset)) {
    chosen.form.dataset.seen = "";
    if (isAdrift()) chosen.focus();
  }
});
