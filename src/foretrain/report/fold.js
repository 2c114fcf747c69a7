"use strict";
// Folds open for what a link points into, and for printing.
(() => {
  function open(hash) {
    const target = hash ? document.getElementById(decodeURIComponent(hash.slice(1))) : null;
    const inside = target?.querySelector(":scope > details");
    for (let fold = inside ?? target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    return target;
  }
  document.addEventListener("click", (event) => open(event.target.closest("a[href^='#']")?.hash));
  for (const name of ["hashchange", "load"]) addEventListener(name, () => open(location.hash)?.scrollIntoView());
  let shut = [];
  addEventListener("beforeprint", () => {
    shut = [...document.querySelectorAll("details:not([open])")];
    for (const fold of shut) fold.open = true;
  });
  addEventListener("afterprint", () => shut.forEach((fold) => (fold.open = false)));
})();
