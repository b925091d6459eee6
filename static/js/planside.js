// What a page does, in this order. A server joins these into one file when it starts
// (console/static_files.py); each is edited by itself.
import "./texts.js";
import "./swaps.js";
import "./unsent.js";
import "./requests.js";
import "./clock.js";
import "./fields.js";
import "./drawer.js";
import "./fold.js";
import "./versions.js";
import "./editor.js";
import "./comments.js";
import "./clashes.js";
import "./drag.js";
import "./composer.js";
import "./approvals.js";
import "./whole_text.js";
import "./models.js";
import "./messages.js";
import "./popovers.js";
import "./model_picker.js";
import "./settings.js";
import "./page.js";
import "./appearance.js";
import "./focus.js";
import "./sidebar.js";
import "./live.js";
