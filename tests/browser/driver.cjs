// Changes Playwright's driver as it is loaded. It looks again for what has not come yet soon enough,
// and not after half a second: waiting for that was a tenth of what these tests took. A page knows that
// its requests are caught before the test goes on: Chromium says so sooner, and a key pressed then could
// overtake it, so that what it sent was not caught. And it drives a Firefox as it is shipped: without
// this, opening a page fails where that Firefox does not know the command which sets the colour scheme.
const Module = require("node:module");
const { _compile } = Module.prototype;
const CHANGES = [
  [/= \[20, 50, 100, 100, 500\]/g, "= [20, 50]"], // ms between two looks at what is expected
  [/= \[0, 20, 100, 100, 500\]/g, "= [0, 20, 50]"], // and at what is to be pressed
  [
    /(?<=await Promise\.all\(\[cachePromise, fetchPromise\]\);)/g,
    'if (!initial) await info.session._sendMayFail("Runtime.evaluate", { expression: "0" });',
  ],
  [/\.send\("emulation\.setMediaFeaturesOverride"/g, '.sendMayFail("emulation.setMediaFeaturesOverride"'],
];

function changed(source, [old, fresh]) {
  if (source.search(old) < 0) throw new Error(`tests/browser/driver.cjs: Playwright has no ${old} any more`);
  return source.replace(old, fresh);
}

Module.prototype._compile = function (source, file) {
  const isDriver = file.endsWith("coreBundle.js");
  return _compile.call(this, isDriver ? CHANGES.reduce(changed, source) : source, file);
};
