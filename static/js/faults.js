// A script that does not come or throws leaves the others alone; a person is told. This one comes first
// and needs none of the others.
addEventListener("error", ({ target, filename }) => isOurs(target.src ?? filename ?? "") && showFault(), true);
document.addEventListener("DOMContentLoaded", () => globalThis.htmx || showFault());

const isOurs = (source) => source.startsWith(`${location.origin}/static/js/`);
const showFault = () => (document.getElementById("page-fault").hidden = false);
