// The time axis of a run, drawn by Apache ECharts: all lanes share one zoom and one pointer.
// Data: axis.py. Keys: arrows move, plus and minus zoom, 0 shows all.
"use strict";
(() => {
  const BAR = 16, GAP = 34, TOP = 22, LEFT = 76, RIGHT = 14;
  const MOST_BARS = 2500; // tasks in view that are still drawn one by one
  const MOST_ROWS = 96; // rows of slots; with more, a row is an executor
  const BINS = 240;
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // A canvas takes no family by the word "inherit": it would keep the font that it drew last.
  const FONT = getComputedStyle(document.body).fontFamily;
  const hue = number => style("--c" + number % 8);
  const show = t => {
    if (t < 100) return t.toFixed(t < 10 ? 2 : 1) + " s";
    const all = Math.round(t), h = Math.floor(all / 3600), m = Math.floor(all % 3600 / 60), s = all % 60;
    return h ? `${h}:${String(m).padStart(2, "0")}:${String(s).padStart(2, "0")}` : `${m}:${String(s).padStart(2, "0")}`;
  };
  const percent = value => Math.round(value * 100) + " %";
  const named = name => /^\d+$/.test(name) ? "executor " + name : name;

  // Rows of task slots, the slots of an executor together.
  function taskRows(data) {
    const tasks = data.tasks, most = new Map();
    tasks.executor.forEach((e, i) => most.set(e, Math.max(most.get(e) ?? 0, tasks.slot[i] + 1)));
    const place = name => data.executors.indexOf(name);
    const order = [...most.keys()].sort((a, b) => place(tasks.executors[a]) - place(tasks.executors[b]));
    const slots = order.reduce((sum, e) => sum + most.get(e), 0), merged = slots > MOST_ROWS;
    const first = new Map(), labels = [];
    let row = 0;
    for (const e of order) {
      first.set(e, row);
      labels.push([row, named(tasks.executors[e])]);
      row += merged ? 1 : most.get(e);
    }
    return {
      count: row, labels, merged,
      rowOf: i => first.get(tasks.executor[i]) + (merged ? 0 : tasks.slot[i]),
      widthOf: i => merged ? most.get(tasks.executor[i]) : 1,
      colourOf: i => place(tasks.executors[tasks.executor[i]]),
    };
  }

  // What of the tasks is drawn between two moments: each one, or the share of each cell that is busy.
  function taskMarks(data, rows, from, to) {
    const tasks = data.tasks, seen = [];
    for (let i = 0; i < tasks.start_s.length; i++)
      if (tasks.end_s[i] >= from && tasks.start_s[i] <= to) seen.push(i);
    if (seen.length <= MOST_BARS && !rows.merged)
      return { density: false, marks: seen.map(i => [tasks.start_s[i], rows.rowOf(i), tasks.end_s[i], 1, rows.colourOf(i), i]) };
    const width = (to - from) / BINS, busy = new Float64Array(rows.count * BINS), colour = new Map();
    for (const i of seen) {
      const row = rows.rowOf(i), share = 1 / (width * rows.widthOf(i));
      colour.set(row, rows.colourOf(i));
      const last = Math.min(BINS - 1, Math.floor((tasks.end_s[i] - from) / width));
      for (let bin = Math.max(0, Math.floor((tasks.start_s[i] - from) / width)); bin <= last; bin++) {
        const low = Math.max(tasks.start_s[i], from + bin * width), high = Math.min(tasks.end_s[i], from + (bin + 1) * width);
        busy[row * BINS + bin] += Math.max(0, high - low) * share;
      }
    }
    const marks = [];
    busy.forEach((share, cell) => {
      const row = Math.floor(cell / BINS), start = from + cell % BINS * width;
      if (share > 0.005) marks.push([start, row, start + width, Math.min(1, share), colour.get(row), -1]);
    });
    return { density: true, marks };
  }

  const clip = (params, shape) => echarts.graphic.clipRectByRect(shape, {
    x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height });
  // A bar from data[0] to data[2] in row data[1].
  const bar = paint => (params, api) => {
    const start = api.coord([api.value(0), api.value(1)]), end = api.coord([api.value(2), api.value(1)]);
    const high = api.size([0, 1])[1], gap = high > 6 ? 2 : 0;
    const shape = clip(params, { x: start[0], y: start[1] - high / 2 + gap / 2, width: Math.max(end[0] - start[0] + (api.value(5) < 0 ? 0.4 : 0), 0.8), height: Math.max(high - gap, 1) });
    return shape && { type: "rect", shape, ...paint(api, shape) };
  };
  const inked = (fill, opacity, stroke) => ({ style: { fill, opacity, stroke, lineWidth: stroke ? 1.5 : 0 } });

  function lanes(data) {
    const lanes = [], rows = data.tasks && taskRows(data);
    const at = values => values.map((value, i) => [data.t[i], value]);
    const area = (name, values, colour, stack) => ({ name, type: "line", data: at(values), showSymbol: false, step: "end", stack,
      lineStyle: { width: 1, color: colour }, itemStyle: { color: colour }, areaStyle: { opacity: 0.5 } });
    const line = (name, values, colour) => ({ name, type: "line", data: at(values), showSymbol: false, step: "end",
      lineStyle: { width: 1.6, color: colour }, itemStyle: { color: colour } });
    const list = (series, colour, kind, name = n => n) => Object.entries(series).map(([key, values], i) => kind(name(key), values, colour(key, i)));
    const byExecutor = key => hue(data.executors.indexOf(key));
    const share = { min: 0, max: 1, axisLabel: { formatter: percent }, interval: 0.5 };

    if (data.stages.length) {
      const high = Math.min(14, 1 + Math.max(...data.stages.map(s => s[6])));
      lanes.push({ key: "stages", title: `stages (${data.stages.length})`, height: high * BAR, rows: high, series: [{
        type: "custom", encode: { x: [0, 2], y: 1 },
        data: data.stages.map(s => [s[3], s[6] % high, s[4] ?? data.wall_s, s[0]]),
        renderItem: bar((api, shape) => ({ ...inked(style("--stage"), api.value(3) % 2 ? 0.95 : 0.7),
          textContent: shape.width > 12 + 7 * String(api.value(3)).length ? { style: { text: String(api.value(3)), fill: style("--paper"), fontSize: 12 } } : undefined,
          textConfig: { position: "inside" } })) }] });
    }
    if (rows) {
      const each = Math.max(4, Math.min(24, 480 / rows.count));
      lanes.push({ key: "tasks", title: "", height: Math.max(24, rows.count * each), rows: rows.count, labels: rows.labels, taskRows: rows, series: [{
        id: "tasks", type: "custom", progressive: 0, encode: { x: [0, 2], y: 1 }, data: [],
        renderItem: bar(api => {
          const i = api.value(5), tasks = data.tasks;
          if (i < 0) return inked(hue(api.value(4)), 0.12 + 0.78 * api.value(3));
          const fill = tasks.state[i] === "success" ? hue(api.value(4)) : style("--bad");
          return inked(fill, tasks.stage[i] % 2 ? 0.85 : 0.6, tasks.straggler[i] ? style("--ink") : undefined);
        }) }] });
    }
    if (data.running && data.slots) lanes.push({ key: "running", title: "running tasks (area) of task slots (line)", height: 64, value: { min: 0, minInterval: 1 },
      series: [area("running tasks", data.running, style("--c0")), line("task slots", data.slots, style("--ink"))] });
    if (data.ended) lanes.push({ key: "ended", title: "tasks that ended a second", height: 64, value: { min: 0 },
      series: [line("tasks a second", data.ended, style("--c0"))] });
    if (data.cpus) {
      const series = list(data.cpus.by_executor, byExecutor, (n, v, c) => area(n, v, c, "cpu"), named);
      if (data.cpus.other) series.push(area("other programs", data.cpus.other, style("--quiet"), "cpu"));
      lanes.push({ key: "cpus", title: "busy CPUs: by executor" + (data.cpus.other ? ", and of other programs (grey)" : ""), height: 84,
        value: { min: 0, max: data.cpus.all ?? undefined }, series });
    }
    if (data.node_cpu) lanes.push({ key: "node_cpu", title: "share of each node's CPUs that is busy", height: 60, value: share,
      series: list(data.node_cpu, (_, i) => hue(i + 3), line, n => "node " + n) });
    if (data.pauses.length) {
      const names = [...new Set(data.pauses.map(p => p[0]))].sort((a, b) => data.executors.indexOf(a) - data.executors.indexOf(b));
      lanes.push({ key: "pauses", title: "garbage-collection pauses", height: names.length * BAR, rows: names.length, labels: names.map((n, i) => [i, named(n)]), series: [{
        type: "custom", encode: { x: [0, 2], y: 1 }, data: data.pauses.map(p => [p[1], names.indexOf(p[0]), p[1] + p[2] / 1000, data.executors.indexOf(p[0])]),
        renderItem: bar(api => inked(hue(api.value(3)), 1)) }] });
    }
    if (data.local) lanes.push({ key: "local", title: "share of anonymous memory on the executor's node", height: 60, value: share,
      series: list(data.local, byExecutor, line, named) });
    if (data.bandwidth && Object.keys(data.bandwidth.share).length) {
      const series = list(data.bandwidth.share, (_, i) => hue(i + 3), line, n => "node " + n);
      const region = (name, low, high, opacity) => [{ name, yAxis: low, itemStyle: { color: style("--bad"), opacity }, label: { show: true, position: "insideTopRight", color: style("--quiet"), fontSize: 12 } }, { yAxis: high }];
      series[0].markArea = { silent: true, data: [region("constant", 0, 0.4, 0), region("linear", 0.4, 0.8, 0.1), region("exponential", 0.8, "max", 0.25)] };
      lanes.push({ key: "bandwidth", title: "share of sustained bandwidth, latency (Awan 2016)", height: 84,
        value: { min: 0, max: v => Math.max(1, v.max), axisLabel: { formatter: percent }, interval: 0.5 }, series });
    }
    if (data.bandwidth && Object.keys(data.bandwidth.gb_s).length) lanes.push({ key: "gb_s", title: "memory bandwidth, GB/s", height: 64, value: { min: 0 },
      series: list(data.bandwidth.gb_s, (_, i) => hue(i + 3), line, n => "node " + n) });
    if (data.threads) {
      const cpus = data.threads.cpus;
      const groups = Array.from({ length: 8 }, () => []);
      data.threads.t.forEach((t, i) => groups[data.threads.thread[i] % 8].push([t, data.threads.row[i]]));
      lanes.push({ key: "threads", title: "CPUs that threads were seen on (a colour each)", height: cpuHeight(cpus), rows: cpus.length, labels: cpuLabels(cpus),
        series: groups.map((points, i) => places(undefined, points, cpus, hue(i))) });
    }
    return lanes;
  }

  // What all lanes say of one moment; the task under the pointer where it is on one.
  function readout(data, t, task) {
    const parts = [show(t)];
    if (task !== undefined) {
      const all = data.tasks, name = named(all.executors[all.executor[task]]);
      parts.push(`task of stage ${all.stage[task]} on ${name}: ${show(all.start_s[task])} to ${show(all.end_s[task])}, ${all.state[task]}` + (all.straggler[task] ? ", straggler" : ""));
    }
    const stages = data.stages.filter(s => s[3] <= t && t <= (s[4] ?? data.wall_s)).slice(0, 3);
    for (const s of stages) parts.push(`stage ${s[0]}${s[2] ? ": " + s[2] : ""}`);
    let i = data.t.findIndex(moment => moment > t);
    i = (i < 0 ? data.t.length : i) - 1;
    if (i >= 0) {
      if (data.running && data.slots) parts.push(`${data.running[i]} tasks on ${data.slots[i]} slots`);
      const each = (series, words) => Object.entries(series ?? {}).filter(([, v]) => v[i] !== null && v[i] !== undefined).slice(0, 8).forEach(([key, v]) => parts.push(words(key, v[i])));
      each(data.cpus?.by_executor, (key, v) => `${named(key)} ${v.toFixed(1)} CPUs`);
      if (data.cpus?.other?.[i] != null) parts.push(`other programs ${data.cpus.other[i].toFixed(1)} CPUs`);
      each(data.node_cpu, (key, v) => `node ${key} ${percent(v)} busy`);
      each(data.local, (key, v) => `${named(key)} ${percent(v)} local`);
      each(data.bandwidth?.share, (key, v) => `node ${key} ${percent(v)} of bandwidth`);
      each(data.bandwidth?.gb_s, (key, v) => `node ${key} ${v.toFixed(1)} GB/s`);
    }
    return parts.join(" · ");
  }

  // One zoom of all charts of a figure, by pointer and keys; `shown` is told what is in view.
  function zoomable(figure, chart, whole, shown) {
    const said = figure.querySelector("output");
    let view = [0, whole], asked = false;
    const say = () => { said.textContent = `Shown: ${show(view[0])} to ${show(view[1])}`; };
    function move(start, span) {
      const wide = Math.min(whole, Math.max(span, Math.min(0.005, whole))), low = Math.max(0, Math.min(start, whole - wide));
      chart.dispatchAction({ type: "dataZoom", startValue: low, endValue: low + wide });
      view = [low, low + wide];
      say();
    }
    function zoomed() {
      const option = chart.getOption().dataZoom[0];
      view = [option.startValue ?? 0, option.endValue ?? whole];
      shown(view);
      say();
    }
    chart.on("datazoom", () => { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; zoomed(); }); } });
    figure.onkeydown = event => {
      const span = view[1] - view[0], middle = (view[0] + view[1]) / 2;
      const zoom = factor => move(middle - span * factor / 2, span * factor);
      const act = { ArrowLeft: () => move(view[0] - span / 8, span), ArrowRight: () => move(view[0] + span / 8, span),
        "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": () => move(0, whole) }[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { act(); event.preventDefault(); }
    };
  }

  const zooms = (whole, axes) => [
    { type: "inside", xAxisIndex: axes, zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, moveOnMouseWheel: false, preventDefaultMouseMove: false, filterMode: "none", minValueSpan: Math.min(0.005, whole) },
    { type: "slider", xAxisIndex: axes, bottom: 4, height: 22, left: LEFT, right: RIGHT, filterMode: "none", showDataShadow: false, labelFormatter: show, brushSelect: false, textStyle: { color: style("--quiet"), fontSize: 12 }, handleSize: "110%" },
  ];
  const cpuLabels = cpus => {
    const every = Math.max(1, Math.ceil(cpus.length / 24));
    return cpus.map(([cpu, node], i) => [i, `CPU ${cpu}` + (node === null ? "" : ` (${node})`)]).filter((_, i) => i % every === 0);
  };
  const cpuHeight = cpus => Math.max(60, Math.min(cpus.length * 14, 420));
  const places = (name, points, cpus, colour) => ({ name, type: "scatter", large: true, largeThreshold: 500, symbol: "rect", symbolSize: [4, Math.min(8, 300 / cpus.length)], data: points, itemStyle: { color: colour } });
  const rowNames = lane => {
    const each = lane.height / (lane.rows || 1);
    let last = -Infinity;
    return (lane.labels ?? []).flatMap(([row, name]) => {
      const y = lane.top + row * each;
      if (y < last + 13) return [];
      last = y;
      return [{ type: "text", left: 0, top: y, silent: true, style: { text: name, fill: style("--quiet"), font: "12px sans-serif", width: LEFT - 6, overflow: "truncate" } }];
    });
  };
  const ROWS = { type: "value", inverse: true, interval: 1, axisLabel: { show: false }, splitLine: { show: false }, axisLine: { show: false }, axisTick: { show: false } };

  // Threads of several runs: beside each other where there is room, else below, on the same axes.
  function drawThreads(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const box = figure.querySelector(".chart"), wide = box.clientWidth >= 720, height = cpuHeight(data.cpus);
    const quiet = style("--quiet"), whole = Math.max(data.wall_s, 0.001), count = data.runs.length;
    const columns = wide ? Math.min(count, 3) : 1, lines = Math.ceil(count / columns), step = height + 76;
    const width = (box.clientWidth - LEFT - RIGHT * columns) / columns;
    const all = data.runs.map((run, i) => ({ run, left: LEFT + (i % columns) * (width + RIGHT), top: 42 + Math.floor(i / columns) * step }));
    const edges = data.cpus.flatMap(([, node], i) => i && node !== data.cpus[i - 1][1] ? [{ yAxis: i - 0.5 }] : []);
    box.style.height = lines * step + 30 + "px";
    const chart = echarts.init(box, null, { renderer: "canvas" });
    chart.setOption({
      animation: false, aria: { enabled: false }, backgroundColor: "transparent", textStyle: { fontFamily: FONT, color: style("--ink") },
      grid: all.map(({ left, top }) => ({ left, top, width, height, show: true, borderColor: style("--line"), borderWidth: 1 })),
      xAxis: all.map((_, i) => ({ type: "value", gridIndex: i, min: 0, max: whole, axisLine: { show: false }, axisTick: { show: false }, splitLine: { lineStyle: { color: style("--line") } }, axisLabel: { formatter: show, color: quiet, fontSize: 12, hideOverlap: true, alignMinLabel: "left", alignMaxLabel: "right" } })),
      yAxis: all.map((_, i) => ({ ...ROWS, gridIndex: i, min: -0.5, max: data.cpus.length - 0.5 })),
      dataZoom: zooms(whole, all.map((_, i) => i)),
      graphic: all.flatMap(({ run, left, top }, i) => [
        ...[[run.label, "600 13px sans-serif", style("--ink"), 38], [run.moves, "12px sans-serif", quiet, 20]].map(([text, font, fill, up]) => ({ type: "text", left, top: top - up, silent: true, style: { text, font, fill, width: width - 4, overflow: "truncate" } })),
        ...(i % columns ? [] : rowNames({ top, height, rows: data.cpus.length, labels: cpuLabels(data.cpus) })),
      ]),
      series: all.flatMap(({ run }, i) => run.points.map(([colour, name, points], j) => ({ silent: true, clip: true, ...places(name, points, data.cpus, hue(colour)), xAxisIndex: i, yAxisIndex: i,
        markLine: j ? undefined : { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: quiet, type: "solid", width: 1 }, data: edges } }))),
    });
    zoomable(figure, chart, whole, () => {});
    figure.querySelector("output").textContent = `Shown: ${show(0)} to ${show(whole)}`;
    figure.dataset.drawn = String(data.runs.reduce((sum, run) => sum + run.points.reduce((s, p) => s + p[2].length, 0), 0));
    return chart;
  }

  function draw(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const box = figure.querySelector(".chart"), said = figure.querySelector("output");
    const all = lanes(data), whole = Math.max(data.wall_s, 0.001);
    let top = TOP, view = [0, whole];
    for (const lane of all) { lane.top = top; top += lane.height + GAP; }
    box.style.height = top + 44 + "px";
    const chart = echarts.init(box, null, { renderer: "canvas" });
    const text = style("--ink"), quiet = style("--quiet"), rule = style("--line");
    const labelled = lane => {
      return { ...ROWS, min: -0.5, max: lane.rows - 0.5 };
    };
    chart.setOption({
      animation: false, aria: { enabled: false }, backgroundColor: "transparent",
      textStyle: { fontFamily: FONT, color: text },
      title: all.map(lane => ({ id: lane.key, text: lane.title, left: 0, top: lane.top - 20, textStyle: { ...(box.clientWidth < 480 ? { fontSize: 12, fontWeight: 400 } : { fontSize: 13, fontWeight: 600 }), color: text, width: box.clientWidth - 10, overflow: "truncate" } })),
      grid: all.map(lane => ({ left: LEFT, right: RIGHT, top: lane.top, height: lane.height })),
      xAxis: all.map((lane, i) => ({ type: "value", gridIndex: i, min: 0, max: whole, axisLine: { show: false }, splitLine: { lineStyle: { color: rule } },
        axisTick: { show: false }, axisLabel: { show: i === all.length - 1, formatter: show, color: quiet, fontSize: 12, hideOverlap: true } })),
      yAxis: all.map((lane, i) => ({ gridIndex: i, ...(lane.rows ? labelled(lane) : { type: "value", splitNumber: 2, splitLine: { lineStyle: { color: rule } }, ...lane.value,
        axisLabel: { color: quiet, fontSize: 12, ...lane.value.axisLabel } }) })),
      axisPointer: { show: true, type: "line", link: [{ xAxisIndex: "all" }], triggerTooltip: false, label: { show: false }, lineStyle: { color: quiet }, triggerOn: "mousemove|click" },
      dataZoom: zooms(whole, all.map((_, i) => i)),
      graphic: all.flatMap(lane => rowNames(lane)),
      series: all.flatMap((lane, i) => lane.series.map(series => ({ silent: true, clip: true, ...series, xAxisIndex: i, yAxisIndex: i }))),
    });

    const tasks = all.find(lane => lane.key === "tasks");
    let hits = [];
    function shown() {
      if (tasks) {
        const { density, marks } = taskMarks(data, tasks.taskRows, view[0], view[1]);
        hits = density ? [] : marks;
        const count = data.tasks.start_s.length.toLocaleString("en"), of = data.tasks.stride > 1 ? ` (every ${data.tasks.stride}th)` : "";
        const words = density ? "share of time with a task; zoom in for single tasks" : "failed red, stragglers outlined";
        chart.setOption({ title: [{ id: "tasks", text: `${count} tasks${of} by ${tasks.taskRows.merged ? "executor" : "slot"}: ${words}` }], series: [{ id: "tasks", data: marks }] });
        figure.dataset.tasks = density ? "density" : "single";
      }
    }
    zoomable(figure, chart, whole, seen => { view = seen; shown(); });
    function point(event) {
      const lane = all.findIndex(l => event.offsetY >= l.top - TOP && event.offsetY <= l.top + l.height + GAP - TOP);
      if (lane < 0 || event.offsetX < LEFT) return;
      const [t, y] = chart.convertFromPixel({ gridIndex: lane }, [event.offsetX, event.offsetY]);
      const row = Math.round(y);
      const under = all[lane] === tasks ? hits.find(m => m[1] === row && m[0] <= t && t <= m[2]) : undefined;
      said.textContent = readout(data, Math.max(0, Math.min(whole, t)), under?.[5]);
    }
    chart.getZr().on("mousemove", point);
    chart.getZr().on("click", point);
    shown();
    figure.dataset.drawn = String(data.tasks ? data.tasks.start_s.length : 0);
    return chart;
  }

  const drawn = figure => figure.classList.contains("threads") ? drawThreads(figure) : draw(figure);
  const figures = [...document.querySelectorAll("figure.axis")], charts = figures.map(drawn);
  const again = () => figures.forEach((figure, i) => { charts[i].dispose(); charts[i] = drawn(figure); });
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; again(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
