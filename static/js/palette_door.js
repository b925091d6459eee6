// Ctrl K opens the search at once; what finds comes with the first one (palette.js).
import { byId, on } from "./dom.js";
import { bring } from "./parts.js";
import { gettext } from "./texts.js";

const palette = byId("palette");

document.addEventListener("keydown", (event) => {
  if (!palette || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  if (palette.open) palette.close();
  else open();
});
on("click", "[data-opens-palette]", () => open());
on("click", "#palette-close", () => palette.close());
// Beside it is the backdrop, which belongs to the dialog.
on("click", "#palette", (dialog, event) => event.target === dialog && dialog.close());

function open() {
  byId("palette-field").value = "";
  palette.showModal();
  byId("palette-field").focus();
  bring("palette").then(({ start }) => start(), lost);
}

function lost(error) {
  if (!(error instanceof TypeError)) reportError(error);
  byId("palette-status").textContent = gettext("The search did not get through. Check the connection.");
}
