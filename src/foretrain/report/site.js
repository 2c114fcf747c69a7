"use strict";
// The tables of verdicts, one for each document: rows that match the filters.
(() => {
  const form = document.getElementById("filters"), all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const rows = all(".verdicts [data-verdict]"), words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  form.hidden = false;
  function filter(event) {
    const text = form.text.value.toLowerCase().split(/\s+/);
    const verdicts = new Set([...form.verdict].filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const fits = ["rank", "size"].every((name) => !form[name].value || form[name].value === row.dataset[name]);
      const here = !form.document.value || form.document.value === row.closest("details").dataset.document;
      row.hidden = !(fits && here && verdicts.has(row.dataset.verdict) && text.every((word) => words.get(row).includes(word)));
      shown += !row.hidden;
    }
    for (const part of all(".verdicts tbody, [data-document]")) part.hidden = !part.querySelector("[data-verdict]:not([hidden])");
    if (event) for (const fold of all("[data-document]")) fold.open = shown < rows.length;
    form.querySelector("output").textContent = `${shown} of ${rows.length}`;
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
