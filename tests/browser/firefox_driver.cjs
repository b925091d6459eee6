// Lets Playwright drive a Firefox as it is shipped: without this, opening a page fails where that
// Firefox does not know the command which sets the colour scheme.
const Module = require("node:module");
const { _compile } = Module.prototype;
const SENT = /\.send\("emulation\.setMediaFeaturesOverride"/g;

Module.prototype._compile = function (source, file) {
  const isDriver = file.endsWith("coreBundle.js");
  const mended = isDriver ? source.replace(SENT, '.sendMayFail("emulation.setMediaFeaturesOverride"') : source;
  return _compile.call(this, mended, file);
};
