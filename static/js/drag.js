// Moving a subtask by its grip, with the mouse or a finger.
import { on } from "./dom.js";
import { move, rowOf, rows } from "./editor.js";

let drag = null;

on("pointerdown", ".grip", (grip, event) => {
  if (event.button !== 0) return;
  event.preventDefault();
  drag = { row: rowOf(grip), to: 0 };
  drag.row.dataset.dragged = "";
  grip.setPointerCapture(event.pointerId);
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  clearDrop();
  const over = rows().find((row) => isAcross(row, event.clientY));
  if (!over || over === drag.row || !("editable" in over.dataset)) return;
  const from = rows().indexOf(drag.row);
  const at = rows().indexOf(over);
  over.dataset.drop = at < from ? "before" : "after";
  drag.to = at + 1;
});

function isAcross(row, y) {
  const box = row.getBoundingClientRect();
  return y >= box.top && y < box.bottom;
}

function clearDrop() {
  drag.to = 0;
  for (const row of document.querySelectorAll("[data-drop]")) delete row.dataset.drop;
}

function endDrag(event) {
  if (!drag) return;
  const { row, to } = drag;
  clearDrop();
  delete row.dataset.dragged;
  drag = null;
  if (to && event.type === "pointerup") move(row, () => to);
}

document.addEventListener("pointerup", endDrag);
document.addEventListener("pointercancel", endDrag);
