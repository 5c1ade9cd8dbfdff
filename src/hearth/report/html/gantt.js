// Task Gantt on a canvas: arrow keys or a drag to move, + and - or Ctrl with the wheel to zoom, 0 for all.
"use strict";
for (const figure of document.querySelectorAll("figure.gantt")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const canvas = figure.querySelector("canvas"), said = figure.querySelector("output");
  const rows = new Map();
  data.executor.forEach((executor, i) => rows.set(executor + ":" + data.slot[i], [executor, data.slot[i]]));
  const order = [...rows.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const rowOf = new Map(order.map((key, i) => [key, i]));
  const row = Uint32Array.from(data.executor, (executor, i) => rowOf.get(executor + ":" + data.slot[i]));
  const high = Math.max(1, order.length), left = 70, whole = [0, data.wall_s || 1];
  let view = whole.slice(), rowHeight = 6, asked = false;
  const colours = () => [0, 1, 2, 3, 4, 5, 6, 7].map(i => getComputedStyle(document.documentElement).getPropertyValue("--c" + i).trim());

  function draw() {
    asked = false;
    const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
    rowHeight = Math.max(2, Math.min(14, 480 / high));
    const height = Math.ceil(high * rowHeight) + 22;
    canvas.width = width * scale; canvas.height = height * scale; canvas.style.height = height + "px";
    const pen = canvas.getContext("2d"), ink = getComputedStyle(canvas).color, palette = colours();
    pen.scale(scale, scale); pen.clearRect(0, 0, width, height);
    const per = (width - left) / (view[1] - view[0]);
    for (let i = 0; i < row.length; i++) {
      if (data.end_s[i] < view[0] || data.start_s[i] > view[1]) continue;
      const x = left + Math.max(0, (data.start_s[i] - view[0]) * per);
      const end = left + Math.min(width - left, (data.end_s[i] - view[0]) * per);
      pen.fillStyle = palette[data.stage[i] % 8];
      pen.globalAlpha = data.state[i] === "success" ? 0.85 : 0.35;
      pen.fillRect(x, row[i] * rowHeight, Math.max(end - x, 0.7), rowHeight - (rowHeight > 4 ? 1 : 0));
      if (data.straggler[i]) { pen.globalAlpha = 1; pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.strokeRect(x, row[i] * rowHeight + 0.5, Math.max(end - x, 2), rowHeight - 1); }
    }
    pen.globalAlpha = 1; pen.fillStyle = ink; pen.font = "11px system-ui, sans-serif"; pen.textAlign = "right";
    let lastName = null;
    order.forEach((key, i) => { const name = rows.get(key)[0]; if (name !== lastName) { pen.fillText("exec. " + data.executors[name], left - 6, i * rowHeight + 10); lastName = name; } });
    pen.textAlign = "center";
    for (let i = 0; i <= 4; i++) {
      const t = view[0] + (view[1] - view[0]) * i / 4;
      pen.fillText(t.toFixed(t < 10 ? 2 : 1) + " s", Math.min(width - 24, Math.max(left + 14, left + (t - view[0]) * per)), height - 6);
    }
  }
  const later = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
  function zoom(factor, at) {
    const span = Math.min(whole[1] - whole[0], Math.max(1e-3, (view[1] - view[0]) * factor));
    const share = (at - view[0]) / (view[1] - view[0]);
    move(at - share * span, span);
  }
  function move(start, span) {
    const low = Math.max(whole[0], Math.min(start, whole[1] - span));
    view = [low, low + span]; later();
    said.textContent = `Shown: ${view[0].toFixed(2)} to ${view[1].toFixed(2)} s`;
  }
  const middle = () => (view[0] + view[1]) / 2, span = () => view[1] - view[0];
  canvas.addEventListener("keydown", event => {
    const act = { ArrowLeft: () => move(view[0] - span() / 8, span()), ArrowRight: () => move(view[0] + span() / 8, span()),
      "+": () => zoom(0.6, middle()), "=": () => zoom(0.6, middle()), "-": () => zoom(1 / 0.6, middle()), "0": () => move(whole[0], whole[1] - whole[0]) }[event.key];
    if (act) { act(); event.preventDefault(); }
  });
  const timeAt = x => view[0] + Math.max(0, x - left) / (canvas.clientWidth - left) * span();
  canvas.addEventListener("wheel", event => { if (event.ctrlKey) { zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX)); event.preventDefault(); } }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", event => { held = [event.offsetX, view[0]]; });
  window.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", event => {
    if (held) { move(held[1] - (event.offsetX - held[0]) / (canvas.clientWidth - left) * span(), span()); return; }
    const t = timeAt(event.offsetX), wanted = Math.floor(event.offsetY / rowHeight);
    for (let i = row.length - 1; i >= 0; i--) {
      if (row[i] === wanted && data.start_s[i] <= t && t <= data.end_s[i]) {
        said.textContent = `Task of stage ${data.stage[i]} on executor ${data.executors[data.executor[i]]}: ${data.start_s[i].toFixed(3)} to ${data.end_s[i].toFixed(3)} s, ${data.state[i]}${data.straggler[i] ? ", straggler" : ""}`;
        return;
      }
    }
  });
  window.addEventListener("resize", later);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  draw();
  figure.dataset.drawn = String(row.length);
}
