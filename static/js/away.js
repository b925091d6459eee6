// The page that says that the database is away: it goes back by itself when the server is ready.
const EVERY = 2000; // ms

document.addEventListener("DOMContentLoaded", () => {
  setInterval(async () => {
    const answer = await fetch("/readyz").catch(() => null);
    if (answer?.ok) document.querySelector("[data-again]").click();
  }, EVERY);
});
