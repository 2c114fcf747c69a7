(() => {
  const viewer = document.getElementById("viewer");
  const stage = viewer.querySelector(".viewer-stage");
  const image = stage.querySelector("img");
  const title = document.getElementById("viewer-title");
  const LARGEST = 16;
  const pointers = new Map();
  let scale = 1, left = 0, top = 0; // scale 1 fits the stage; left and top in pixels of the stage
  let fitWidth = 1, fitHeight = 1;

  function paint() {
    // A picture smaller than the stage stays centred, a larger one always covers it.
    const width = fitWidth * scale, height = fitHeight * scale;
    left = keepInside(left, width, stage.clientWidth);
    top = keepInside(top, height, stage.clientHeight);
    // Width rather than a scaling transform: the browser then draws the vectors anew and lines stay sharp.
    image.style.width = `${width}px`;
    image.style.height = `${height}px`;
    image.style.transform = `translate(${left}px, ${top}px)`;
    stage.classList.toggle("zoomed", scale > 1);
  }

  function keepInside(start, size, room) {
    return size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, start));
  }

  function fit() {
    const ratio = image.naturalWidth / image.naturalHeight || 1;
    fitWidth = Math.min(stage.clientWidth, stage.clientHeight * ratio);
    fitHeight = fitWidth / ratio;
    scale = 1;
    paint();
  }

  function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    // The point (x, y) of the stage stays where it is.
    const next = Math.min(LARGEST, Math.max(1, scale * factor));
    left = x - (x - left) * (next / scale);
    top = y - (y - top) * (next / scale);
    scale = next;
    paint();
  }

  function pan(x, y) {
    left += x;
    top += y;
    paint();
  }

  function open(button) {
    const picture = button.querySelector("img");
    image.src = picture.src;
    image.alt = picture.alt;
    title.textContent = button.dataset.title;
    viewer.showModal();
    image.decode().then(fit, fit);
  }

  const acts = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), fit, close: () => viewer.close() };
  const keys = {
    "+": acts.in, "=": acts.in, "-": acts.out, 0: fit,
    ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0),
    ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
  };

  for (const button of document.querySelectorAll("button.picture")) {
    button.addEventListener("click", () => open(button));
  }
  for (const button of viewer.querySelectorAll("[data-act]")) {
    button.addEventListener("click", () => acts[button.dataset.act]());
  }
  viewer.addEventListener("close", () => pointers.clear());
  viewer.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("resize", () => viewer.open && fit());

  function place(event) {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { x, y } = place(event);
    const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
    zoom(Math.exp(-Math.max(-300, Math.min(300, pixels)) / 400), x, y);
  }, { passive: false });

  stage.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    if (scale > 1) fit(); else zoom(2.5, x, y);
  });

  stage.addEventListener("pointerdown", (event) => {
    stage.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
  });

  stage.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    if (!other) return pan(now.x - before.x, now.y - before.y);
    const distance = (point) => Math.hypot(point.x - other.x, point.y - other.y) || 1;
    pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    zoom(distance(now) / distance(before), (now.x + other.x) / 2, (now.y + other.y) / 2);
  });

  // Whatever ends a pointer's stay, its capture is lost.
  stage.addEventListener("lostpointercapture", (event) => pointers.delete(event.pointerId));
})();
