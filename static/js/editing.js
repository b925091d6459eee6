// The part of the script for changing a plan by hand: it comes when somebody begins to (parts.js).
import "./versions.js";
import "./editor.js";
import "./checks.js";
import "./comments.js";
import "./clashes.js";
import "./drag.js";
