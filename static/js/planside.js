// Everything the page does by itself. The server renders; these modules keep what it sends in
// order, say how the connection is, and make the drawer and the message box pleasant.
import "./swaps.js";
import "./requests.js";
import "./clock.js";
import "./drawer.js";
import "./versions.js";
import "./editor.js";
import "./drag.js";
import "./composer.js";
import "./approvals.js";
import "./page.js";
import "./live.js";
