// The sign-in page. A link that signs in opens a page of its own: whoever comes back to this one then
// goes on where they were.
document.addEventListener("visibilitychange", async () => {
  if (document.hidden) return;
  const { value: next } = document.querySelector("[name=next]");
  const address = `/signin/?${new URLSearchParams({ next })}`;
  const answer = await fetch(address, { redirect: "manual" }).catch(() => null);
  if (answer?.type === "opaqueredirect") location.replace(next);
});
