// Texts that a reader does not get whole, or that run over the edge of their control. What is
// shortened by an ellipsis, scrolls, or is for screen readers alone is not among them.
window.cutOff = () => {
  const SLACK = 1.5; // px
  const faults = new Set();
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.add(`the page is ${width - innerWidth} px too wide: ${widest()}`);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const owner = node.parentElement;
    if (!node.data.trim() || !owner.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const fault = rect.width && rect.height && faultOf(owner, rect);
      if (fault) faults.add(`${fault}: ${named(owner)}`);
    }
  }
  return [...faults];

  function faultOf(owner, rect) {
    if (owner.closest(".visually-hidden")) return "";
    const control = owner.closest("button, summary, a.button, [role=tab], .tag");
    const isShortened = getComputedStyle(owner).textOverflow === "ellipsis";
    if (control && !isShortened && sticksOut(rect, control.getBoundingClientRect())) return "text runs out of its control";
    for (let box = owner; box && box !== document.documentElement; box = box.parentElement) {
      const style = getComputedStyle(box);
      if (box.clientWidth <= 1 || style.clipPath !== "none") return "";
      if (/(auto|scroll)/.test(style.overflowX + style.overflowY)) {
        // What scrolls up and down may still hide what is too wide.
        if (style.overflowX !== "hidden") return "";
      }
      const shortened = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
      const inner = innerBox(box);
      const isCut = (axis, over) => /(hidden|clip)/.test(style[axis]) && over > SLACK;
      if (isCut("overflowX", Math.max(rect.right - inner.right, inner.left - rect.left))) {
        return shortened ? "" : "text is cut at the side";
      }
      if (isCut("overflowY", Math.min(rect.bottom - inner.bottom, rect.height))) {
        return shortened ? "" : "text is cut below";
      }
      if (style.position === "fixed") break;
    }
    return rect.right > innerWidth + SLACK && rect.left < innerWidth ? "text leaves the window" : "";
  }

  function sticksOut(rect, box) {
    return (
      rect.right > box.right + SLACK || rect.left < box.left - SLACK || rect.bottom > box.bottom + 4 || rect.top < box.top - 4
    );
  }

  function innerBox(box) {
    const { left, top } = box.getBoundingClientRect();
    const [x, y] = [left + box.clientLeft, top + box.clientTop];
    return { left: x, top: y, right: x + box.clientWidth, bottom: y + box.clientHeight };
  }

  function widest() {
    const all = [...document.body.querySelectorAll("*")];
    const outside = all.filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5);
    return outside.slice(-2).map(named).join(" ");
  }

  function named(each) {
    const path = [each.closest("[id]")?.id && `#${each.closest("[id]").id}`, each.outerHTML.slice(0, 110)];
    return path.filter(Boolean).join(" ").replace(/\s+/g, " ");
  }
};
