"use strict";
// Saves what stands in the page as a file: text that was made here, or a figure as it is (SVG) or drawn (PNG).
function foretrainSave(name, kind, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-save]");
  if (!button) return;
  const figure = button.closest("figure"), image = figure.querySelector("img"), name = figure.dataset.name;
  const kind = button.dataset.save;
  if (kind === "svg") {
    foretrainSave(`${name}.svg`, "image/svg+xml", decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1)));
  } else if (kind === "png") {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    const brush = canvas.getContext("2d");
    brush.fillStyle = "#ffffff";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => foretrainSave(`${name}.png`, "image/png", blob));
  } else {
    foretrainSave(`${name}.csv`, "text/csv", figure.querySelector("script").textContent.trim() + "\n");
  }
});
