// Plots the figures of the table beside them.

/** For accepted, sent, delivered, bounced, complained, failed, suppressed; later reports are dashed. */
const COLOURS = ["--busy", "--good", "--good", "--bad", "--bad", "--waiting", "--soft"];
const DASHED = new Set([2, 4]);
const HEIGHT_PX = 240;
/** Between the middles of two labels: the longest is about 70 pixels wide, such as 12:00 AM. */
const LABEL_SPACE_PX_MIN = 84;

/** Reads a table's figures: its times, and a row for each column of numbers. */
function figuresOf(table) {
  const rows = [...table.querySelectorAll("tbody tr")];
  const times = rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000);
  const names = [...table.querySelectorAll("thead th.number")].map((cell) => cell.textContent.trim());
  const values = names.map((_, index) =>
    rows.map((row) => Number(row.querySelectorAll("[data-count]")[index].dataset.count)),
  );
  return { names, data: [times, ...values] };
}

function colour(name) {
  // The browser resolves `light-dark()`, so we read the colour from an element that has it.
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The axis labels, by range. */
const AXIS_TIMES = {
  hour: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
  day: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
  month: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" }),
};
const POINTED_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function draw(figure) {
  const space = figure.querySelector(".plot-space");
  const { names, data } = figuresOf(figure.querySelector("details table"));
  const axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  space.replaceChildren();
  new uPlot(
    {
      width: space.clientWidth,
      height: HEIGHT_PX,
      // Room for the half of the last label that sticks out.
      padding: [10, 28, 0, 0],
      legend: { live: true, markers: { dash: (_, nth) => (DASHED.has(nth - 1) ? "dashed" : "solid") } },
      cursor: { y: false, points: { size: 7 } },
      scales: { y: { range: (_, _min, max) => [0, Math.max(4, max * 1.1)] } },
      axes: [
        {
          ...axis,
          space: LABEL_SPACE_PX_MIN,
          values: (_, times) =>
            times.map((at) => AXIS_TIMES[figure.dataset.plot].format(new Date(at * 1000))),
        },
        { ...axis, size: 48, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6] },
      ],
      series: [
        { label: "", value: (_, at) => (at == null ? "" : POINTED_TIME.format(new Date(at * 1000))) },
        ...names.map((label, index) => ({
          label,
          value: (_, count) => (count == null ? "" : count.toLocaleString()),
          stroke: colour(COLOURS[index]),
          width: 2,
          ...(DASHED.has(index) ? { dash: [5, 4] } : {}),
          // Fills the area below the first curve, which includes the others.
          ...(index === 0 ? { fill: colour(COLOURS[0]).replace(/^rgb\((.*)\)$/, "rgba($1, 0.08)") } : {}),
          points: { show: false },
        })),
      ],
    },
    data,
    space,
  );
}

function drawAll() {
  for (const figure of document.querySelectorAll("[data-plot]")) draw(figure);
}

drawAll();
let resizing;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(drawAll, 100);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("htmx:after:swap", drawAll);
