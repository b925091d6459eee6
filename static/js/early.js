// Read before everything else, so it imports nothing: says when a script of the page has failed, and
// keeps what is sent before the message box has its script.
(() => {
  const held = [];
  let isReady = false;

  // A script that does not load or throws leaves the others alone; a person is told once.
  addEventListener("error", (event) => isOurs(event) && showFault(), true);

  function isOurs({ target, filename }) {
    const source = target instanceof HTMLScriptElement ? target.src : (filename ?? "");
    return source.startsWith(`${location.origin}/static/`);
  }

  function showFault() {
    const note = document.getElementById("page-fault");
    if (note) note.hidden = false;
    else document.addEventListener("DOMContentLoaded", showFault, { once: true });
  }

  // Enter in the message box: sent by its script when that is there, else as an ordinary form.

  document.addEventListener("keydown", onKey, true);
  document.addEventListener("submit", onSubmit, true);
  addEventListener("load", () => setTimeout(sendWithoutScript));

  function onKey(event) {
    const isEnter = event.key === "Enter" && !event.shiftKey && !event.altKey && !event.isComposing;
    if (isReady || event.target.id !== "say" || !isEnter) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  }

  function onSubmit(event) {
    if (isReady || event.target.id !== "composer" || document.readyState === "complete") return;
    event.preventDefault();
    event.stopPropagation();
    const box = document.getElementById("say");
    if (box.value.trim()) held.push(box.value);
    box.value = "";
  }

  function sendWithoutScript() {
    if (isReady || !held.length) return;
    const box = document.getElementById("say");
    box.value = [...held, box.value].filter(Boolean).join("\n\n");
    box.form.submit();
  }

  /** The message box's script takes over; what was sent before it is given to it. */
  window.takeHeldMessages = () => {
    isReady = true;
    return held.splice(0);
  };
})();
