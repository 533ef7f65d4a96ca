"use strict";
// The interactive parts of the page: a percentile graph and sortable tables.
(() => {
  const THIN_SPACE = "\u202f";
  const data = JSON.parse(document.getElementById("data").textContent);

  /** Writes a number with three significant digits, as `format.rs` does. */
  function significant(value) {
    const decimals = value === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    const scale = 10 ** decimals;
    return (Math.round(value * scale) / scale).toFixed(decimals);
  }

  /** Writes a latency, as `format.rs` does. */
  function latency(nanos) {
    if (nanos < 1000) return nanos + THIN_SPACE + "ns";
    const units = [["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
    const [unit, size] = units.find(([, size]) => Number(significant(nanos / size)) < 1000) ?? units[2];
    return significant(nanos / size) + THIN_SPACE + unit;
  }

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  /** A short line in the style of a curve, next to its switch. */
  function swatch(curve) {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    const line = document.createElementNS(space, "line");
    for (const [key, value] of Object.entries({ width: 30, height: 8, "aria-hidden": true })) picture.setAttribute(key, value);
    for (const [key, value] of Object.entries({ x1: 0, x2: 30, y1: 4, y2: 4, "stroke-width": 2, "stroke-dasharray": curve.dashes.join(" ") })) line.setAttribute(key, value);
    line.style.stroke = `var(--c${curve.colour})`;
    picture.append(line);
    return picture;
  }

  /** The graph, its switches and the values at the cursor. */
  function graph() {
    const curves = data.curves.filter((curve) => curve.values.length > 0);
    if (curves.length === 0) return;
    const section = document.getElementById("ask");
    const mount = document.getElementById("graph");
    const switches = document.getElementById("switches");
    section.hidden = false;
    let axis = data.reciprocal;
    let plot = null;

    const here = element("p", { className: "here" });
    const outputs = curves.map(() => element("output"));
    const boxes = curves.map((curve) => element("input", { type: "checkbox", checked: curve.shown }));
    const groups = new Map();
    curves.forEach((curve, index) => {
      const name = element("span", { title: curve.name }, curve.name);
      const label = element("label", {}, boxes[index], swatch(curve), name, outputs[index]);
      outputs[index].dataset.curve = index;
      if (!groups.has(curve.group)) {
        groups.set(curve.group, element("fieldset", {}, element("legend", {}, curve.group)));
      }
      groups.get(curve.group).append(label);
    });
    switches.append(here, ...groups.values());

    /** Shows every curve's value at a point of the axis; there is none beyond a curve's end. */
    function ask(index) {
      const share = data.shares[index];
      const rarity = Math.round(1 / (1 - share));
      const percent = (100 * share).toFixed(4).replace(/\.?0+$/, "");
      here.textContent = `At ${percent}${THIN_SPACE}%, 1 sample in ${rarity.toLocaleString("en").replaceAll(",", THIN_SPACE)} is later than:`;
      curves.forEach((curve, place) => {
        outputs[place].textContent = index < curve.values.length ? latency(curve.values[index]) : "–";
      });
    }

    function style(name) {
      return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    }

    /** Marks that do not overlap. */
    function marks(width) {
      const kept = [];
      for (const mark of axis.marks) {
        const before = kept.at(-1);
        if (!before || (mark.place - before.place) * width > 52) kept.push(mark);
      }
      return kept;
    }

    /** Draws a line for each tolerated latency. */
    function drawLimits(plot) {
      const { left, width, top, height } = plot.bbox;
      plot.ctx.save();
      plot.ctx.strokeStyle = plot.ctx.fillStyle = style("--bad");
      plot.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
      plot.ctx.textAlign = "left";
      plot.ctx.textBaseline = "bottom";
      plot.ctx.lineWidth = 1.5 * devicePixelRatio;
      plot.ctx.setLineDash([]);
      for (const limit of data.limits) {
        const y = plot.valToPos(limit.value, "y", true);
        if (y < top || y > top + height) continue;
        plot.ctx.beginPath();
        plot.ctx.moveTo(left, y);
        plot.ctx.lineTo(left + width, y);
        plot.ctx.stroke();
        plot.ctx.fillText(limit.name, left + 6, y - 3);
      }
      plot.ctx.restore();
    }

    function draw() {
      plot?.destroy();
      const width = mount.clientWidth;
      const shown = marks(width - 70);
      const line = { stroke: style("--quiet"), grid: { stroke: style("--grid"), width: 1 }, ticks: { stroke: style("--axis"), width: 1 } };
      const font = "12px system-ui, sans-serif";
      plot = new uPlot({
        width,
        height: Math.max(280, Math.min(460, width * 0.6)),
        legend: { show: false },
        cursor: { points: { size: 7 }, drag: { x: true, y: false } },
        scales: { x: { time: false, range: (_, low, high) => [low ?? 0, high ?? 1] }, y: { distr: 3 } },
        axes: [
          { ...line, font, label: axis.name, labelFont: font, labelSize: 20, splits: () => shown.map((mark) => mark.place), values: () => shown.map((mark) => mark.text) },
          { ...line, font, label: "latency", labelFont: font, labelSize: 18, size: 64, values: (_, splits) => splits.map((value) => value === null ? null : latency(value).replace(/\.?0+(?=\u202f)/, (zeros) => zeros.startsWith(".") ? "" : zeros)) },
        ],
        series: [{}, ...curves.map((curve, index) => ({
          label: curve.name,
          show: boxes[index].checked,
          stroke: style(`--c${curve.colour}`),
          dash: curve.dashes,
          width: 2,
          points: { show: false },
        }))],
        hooks: { draw: [drawLimits], setCursor: [(plot) => { if (plot.cursor.idx !== null && plot.cursor.idx !== undefined && plot.cursor.left >= 0) ask(plot.cursor.idx); }] },
      }, [axis.places, ...curves.map((curve) => data.shares.map((_, index) => index < curve.values.length ? Math.max(1, curve.values[index]) : null))], mount);
    }

    function show(checked) {
      boxes.forEach((box, index) => {
        box.checked = checked;
        plot.setSeries(index + 1, { show: checked });
      });
    }

    boxes.forEach((box, index) => box.addEventListener("change", () => plot.setSeries(index + 1, { show: box.checked })));
    for (const radio of section.querySelectorAll("input[name=axis]")) {
      radio.addEventListener("change", () => { axis = data[radio.value]; draw(); });
    }
    document.getElementById("all").addEventListener("click", () => show(true));
    document.getElementById("none").addEventListener("click", () => show(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    draw();
    new ResizeObserver(() => { if (mount.clientWidth > 0 && Math.abs(mount.clientWidth - plot.width) > 1) draw(); }).observe(mount);
    const nearest = data.shares.findIndex((share) => share >= 0.999);
    ask(nearest < 0 ? data.shares.length - 1 : nearest);
  }

  /** Sorts the rows by a column when its head is clicked. */
  function sortable(table) {
    const body = table.tBodies[0];
    const key = (row, column) => row.cells[column].dataset.order ?? row.cells[column].textContent;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = element("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const descending = head.ariaSort !== "descending" && column > 0 || head.ariaSort === "ascending";
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => key(a, column).localeCompare(key(b, column), "en", { numeric: true }));
        body.append(...(descending ? rows.reverse() : rows));
      });
    });
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  graph();
  document.documentElement.dataset.ready = "yes";
})();
