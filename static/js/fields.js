// One rule for the Enter key in every form: Enter saves from a field of one line, Ctrl+Enter from a
// field of several, where Enter begins a new line. The message box has keys of its own.
import { on } from "./dom.js";

const ENTER_SAVES = "input, textarea[data-one-line]";

on("keydown", "form", (form, event) => {
  if (event.key !== "Enter" || event.isComposing || event.defaultPrevented || form.id === "composer") return;
  const isOneLine = event.target.matches(ENTER_SAVES);
  if (!isOneLine && !event.target.matches("textarea, [role=textbox]")) return;
  if (!isOneLine && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const button = form.querySelector("button:not([type=button])");
  // What counts as soon as it is chosen is not sent once more.
  const isSent = button || (form.getAttribute("hx-trigger") ?? "submit").includes("submit");
  if (!event.repeat && isSent) form.requestSubmit(button);
});
