// Curves that can be looked into: values under the pointer, seeds and theory switched, scales, a slider per swept axis, CSV.
(() => {
  const box = document.getElementById("curves-board");
  if (!box) return;
  const data = JSON.parse(document.getElementById("curves-data").textContent);
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const sliders = data.explore?.sliders ?? [], inputs = box.querySelectorAll("[data-explore]"), axes = box.querySelectorAll("[data-axis]");
  const find = (name) => box.querySelector(`[data-act="${name}"]`);
  const chosen = { moved: null, variable: Number(find("variable")?.value ?? 0), place: data.axes.map(() => 0), seeds: true, theory: true, logx: false, logy: false };
  const plotArea = box.querySelector(".curves-plot");
  let plot = null;

  const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  function text(value, digits = 4) {
    if (value == null) return "–";
    const near = Number(value.toPrecision(digits)), size = Math.abs(near);
    return near && (size < 1e-3 || size >= 1e6) ? near.toExponential().replace("e+", "e") : near.toString();
  }

  function columns() {
    // Series of the cell and variable that are chosen: mean, seeds and theory of every line.
    const cell = data.cells[chosen.place.join(",")];
    if (!cell) return null;
    const variable = data.variables[chosen.variable];
    const found = [];
    // Of two results the first is drawn wide and pale, to be seen where the second lies on it.
    const [slider, at] = chosen.moved ?? [];
    function theoryOf(curve, n) {
      if (!slider) return curve.theory;
      const moved = new Map(slider.theory[at][chosen.variable][n]?.map((value, k) => [data.explore.places[k], value]));
      return moved.size ? cell.x.map((_, k) => moved.get(k) ?? null) : null;
    }
    const half = data.joined ? variable.lines.length / 2 : 0;
    variable.lines.forEach((words, n) => {
      const curve = cell.curves[chosen.variable][n];
      const colour = COLOURS[(half > 1 ? n % Math.ceil(half) : n) % COLOURS.length];
      const name = words || variable.name;
      if (chosen.seeds) {
        (curve.seeds || []).forEach((run, k) => found.push({ name: `${name}, seed ${k}`, values: run, colour, kind: "seed" }));
      }
      const many = curve.seeds ? ", mean" : "";
      found.push({ name: `${name}${many}`, values: curve.mean, colour, kind: "mean", below: n < half });
      const values = theoryOf(curve, n), there = slider ? `${data.explore.seed} at ${slider.name} ${slider.values[at]}` : curve.of ?? "";
      if (chosen.theory && values) found.push({ name: `${name}, theory${there}`, values, colour, kind: "theory" });
    });
    return { x: cell.x, xlabel: cell.xlabel, ylabel: variable.label, series: found };
  }

  // Logarithms are taken here: below 1e-16 the ticks of a logarithmic scale of uPlot come to no end.
  const drawn = (values, log) => (log ? values.map((value) => (value > 0 ? Math.log10(value) : null)) : values);
  const meant = (value, log) => (log && value != null ? 10 ** value : value);

  function decades(low, high) {
    // Places of the ticks between two exponents: of the powers of ten at most some nine, of few their doubles and fives, too.
    const apart = Math.max(1, Math.ceil((high - low) / 8)), within = high - low < 2.5 ? [1, 2, 5] : [1], found = [];
    for (let power = apart * Math.floor(low / apart); power <= high; power += apart) {
      found.push(...within.map((times) => power + Math.log10(times)).filter((at) => at >= low && at <= high));
    }
    return found.length > 1 ? found : [low, high];
  }

  function ruled(label, log, more) {
    const ink = dark() ? "#e6e8ea" : "#1b1f23", rule = dark() ? "#363c42" : "#e3e6e9";
    const look = { stroke: ink, grid: { stroke: rule }, ticks: { stroke: rule }, font: "13px system-ui", labelFont: "14px system-ui" };
    const values = (_, all) => all.map((one) => text(meant(one, log), 8));
    return { ...look, label, values, ...(log ? { splits: (_, n, low, high) => decades(low, high) } : {}), ...more };
  }

  function draw() {
    if (!data.variables.length) return;
    const board = columns();
    if (plot) plot.destroy();
    plot = null;
    plotArea.textContent = board ? "" : "No run is in this cell.";
    if (!board) return;
    const { logx, logy } = chosen;
    const first = board.x.findIndex((value) => !logx || value > 0);
    if (first < 0 || (logy && !board.series.some((one) => one.values.slice(first).some((value) => value > 0)))) {
      plotArea.textContent = "Nothing here is positive, so that there is no logarithm to draw.";
      return;
    }
    plot = new uPlot({
      width: plotArea.clientWidth,
      height: Math.round(Math.min(320, Math.max(260, plotArea.clientWidth * 0.5))),
      scales: { x: { time: false } },
      axes: [ruled(board.xlabel, logx), ruled(board.ylabel, logy, { size: 70 })],
      series: [
        { label: board.xlabel, value: (_, value) => text(meant(value, logx)) },
        ...board.series.map((one) => ({
          label: one.name,
          stroke: one.kind === "theory" ? (dark() ? "#e6e8ea" : "#1b1f23") : one.colour,
          width: { seed: 1, mean: one.below ? 7 : 2.5, theory: 1.5 }[one.kind],
          dash: one.kind === "theory" ? [6, 4] : undefined,
          alpha: one.kind === "seed" || one.below ? 0.5 : 1,
          points: { show: false },
          paths: uPlot.paths.spline(),
          spanGaps: Boolean(data.joined || (chosen.moved && one.kind === "theory")),
          value: (_, value) => text(meant(value, logy)),
        })),
      ],
    }, [drawn(board.x.slice(first), logx), ...board.series.map((one) => drawn(one.values.slice(first), logy))], plotArea);
    // A legend of single runs would be longer than the picture.
    plot.root.querySelectorAll(".u-series").forEach((row, n) => {
      if (n > 0 && board.series[n - 1].kind === "seed") row.hidden = true;
    });
  }

  function csv() {
    const board = columns();
    const head = [board.xlabel, ...board.series.map((one) => one.name)].map((name) => `"${name.replaceAll('"', '""')}"`);
    const rows = board.x.map((x, n) => [x, ...board.series.map((one) => one.values[n] ?? "")].join(","));
    return [head.join(","), ...rows].join("\n") + "\n";
  }

  find("variable")?.addEventListener("change", (event) => { chosen.variable = Number(event.target.value); draw(); });
  for (const name of ["seeds", "theory", "logx", "logy"]) {
    find(name)?.addEventListener("change", (event) => { chosen[name] = event.target.checked; draw(); });
  }
  function tell(input, name, text) {
    input.nextElementSibling.textContent = text;
    input.setAttribute("aria-valuetext", `${name} ${text}`);
  }
  function move(moved) {
    // Theory is moved by one slider at a time, in the first cell.
    chosen.moved = moved;
    for (const slider of axes) {
      const number = Number(slider.dataset.axis), [name, values] = data.axes[number];
      if (moved) slider.value = 0;
      chosen.place[number] = Number(slider.value);
      tell(slider, name, values[slider.value]);
    }
    inputs.forEach((input, n) => {
      const { name, values, start, texts, phrases, notes } = sliders[n];
      if (sliders[n] !== moved?.[0]) input.value = start;
      tell(input, name, values[input.value]);
      if (sliders[n] !== (moved?.[0] ?? sliders[0])) return;
      box.querySelectorAll(".predicted output").forEach((output, k) => (output.textContent = texts[input.value][k]));
      box.querySelector("[role=status]").textContent = phrases[notes[input.value]];
    });
    draw();
  }
  for (const slider of axes) slider.addEventListener("input", () => move(null));
  inputs.forEach((input, n) => input.addEventListener("input", () => move([sliders[n], Number(input.value)])));
  find("csv")?.addEventListener("click", () => foretrainSave(`${data.variables[chosen.variable].name}.csv`, "text/csv", csv()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const curves = Object.values(data.cells).flatMap((cell) => cell.curves.flat());
  if (curves.length) find("seeds").parentElement.hidden = Boolean(data.joined) || !curves.some((curve) => curve.seeds && curve.seeds.length);
  if (curves.length) find("theory").parentElement.hidden = !curves.some((curve) => curve.theory);
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(plotArea.clientWidth - width) > 1) { width = plotArea.clientWidth; draw(); }
  }).observe(plotArea);
  box.hidden = false;
  if (inputs.length) move(null);
})();
