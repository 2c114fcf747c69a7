"use strict";
// The table of verdicts: rows that match the filters, sorted by the column that is chosen, within each document.
(() => {
  const form = document.getElementById("filters"), table = document.querySelector(".verdicts");
  const bodies = [...table.tBodies], rows = bodies.flatMap((body) => [...body.rows].slice(1));
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  form.hidden = false;
  function filter() {
    const text = form.text.value.toLowerCase().split(/\s+/);
    const verdicts = new Set([...form.verdict].filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const row of rows) {
      const fits = ["rank", "size"].every((name) => !form[name].value || form[name].value === row.dataset[name]);
      const here = !form.document.value || form.document.value === row.parentElement.dataset.document;
      row.hidden = !(fits && here && verdicts.has(row.dataset.verdict) && text.every((word) => words.get(row).includes(word)));
      shown += !row.hidden;
    }
    for (const body of bodies) body.hidden = [...body.rows].slice(1).every((row) => row.hidden);
    form.querySelector("output").textContent = `${shown} of ${rows.length}`;
  }
  function sort(column, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent.trim();
      const number = parseFloat(text);
      return Number.isNaN(number) ? text : number;
    };
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    for (const body of bodies) {
      const sorted = [...body.rows].slice(1).sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
      body.append(...sorted);
    }
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = head.querySelector("button");
    button.disabled = false;
    button.addEventListener("click", () => sort(column, head));
  }
  filter();
})();
