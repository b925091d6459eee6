// A link to a subtask: /plans/7/#s3 on the plan's page, /c/5/#subtask-7-s3 beside the conversation.
// Where it leads has the focus and a tint, also in a list that was folded.
import { atStart, byId } from "./dom.js";
import { open } from "./drawer.js";

function arrive() {
  const place = byId(decodeURIComponent(location.hash.slice(1)));
  if (!place?.matches(".page-subtasks > li, #subtasks > li")) return;
  if (place.closest("#subtasks")) unfold(place);
  place.scrollIntoView({ block: "center" });
  place.focus({ preventScroll: true });
}

function unfold(row) {
  open();
  for (const other of document.querySelectorAll("[data-arrived]")) other.removeAttribute("data-arrived");
  row.dataset.arrived = "";
  const button = row.querySelector("[data-shows-details]");
  if (button?.checkVisibility() && !("unfolded" in row.dataset)) button.click();
}

atStart(arrive);
addEventListener("hashchange", arrive);
