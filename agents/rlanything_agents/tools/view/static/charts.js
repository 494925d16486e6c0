"use strict";
// Curves of a run. Each is drawn at the size it has on the page, and again when that changes.
{
  const HEIGHT = 148, LEFT = 46, RIGHT = 8, TOP = 8, BOTTOM = 18;

  const nice = (low, high, wanted) => {
    if (!(high > low)) { const pad = Math.abs(low) * 0.1 || 1; low -= pad; high += pad; }
    const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
    const first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
    return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
  };

  const range = (chart) => {
    if (chart.kind === "share" || chart.kind === "stack") return [0, 0.5, 1];
    const points = chart.lines.flatMap((line) => line.points).filter((point) => point !== null);
    const low = Math.min(...points), high = Math.max(...points);
    return chart.kind === "count" ? nice(Math.min(0, low), Math.max(high, 1e-6), 3) : nice(low, high, 3);
  };

  const path = (points, x, y) => {
    let text = "", pen = false;
    points.forEach((point, k) => {
      if (point === null) { pen = false; return; }
      text += `${pen ? "L" : "M"}${x(k).toFixed(1)} ${y(point).toFixed(1)}`;
      pen = true;
    });
    return text;
  };

  const stacked = (lines) => {
    const sums = lines[0].points.map(() => 0);
    return lines.map((line) => {
      const floor = [...sums];
      line.points.forEach((point, k) => { sums[k] = point === null ? null : sums[k] + point; });
      return { ...line, floor, roof: [...sums] };
    });
  };

  const marks = (xs, width) => {
    const ticks = nice(xs[0], xs[xs.length - 1], Math.max(2, Math.floor(width / 70)));
    return ticks.filter((tick) => Number.isInteger(tick) && tick >= xs[0] && tick <= xs[xs.length - 1]);
  };

  // One chart: title and legend, whose numbers follow the pointer, and the drawing.
  RL.chart = (chart, xs, pick) => {
    const ticks = range(chart), low = ticks[0], high = ticks[ticks.length - 1];
    const share = chart.kind === "share" || chart.kind === "stack";
    const shown = (value) => (share ? RL.percent(value) : RL.short(value));
    const values = chart.lines.map(() => RL.h("b"));
    const when = RL.h("span.when");
    const legend = RL.h("ul.legend", chart.lines.map((line, k) =>
      RL.h("li", RL.h(`i.swatch.${line.colour}${line.dashed ? ".dashed" : ""}`), line.label, " ", values[k])));
    const svg = RL.s("svg.plot", { role: "img", height: HEIGHT, "aria-label": `${chart.title}, ${chart.unit}` });
    const figure = RL.h("figure.chart", RL.h("figcaption", RL.h("h3", chart.title), RL.h("span.unit", chart.unit), when),
      svg, legend);

    const tell = (at) => {
      chart.lines.forEach((line, k) => {
        const last = line.points.findLastIndex((point) => point !== null);
        values[k].textContent = shown(line.points[at === null ? last : at]);
      });
      when.textContent = at === null ? "" : chart.names ? chart.names[at] : `iteration ${xs[at]}`;
    };

    const draw = (width) => {
      const right = width - RIGHT, floor = HEIGHT - BOTTOM;
      const x = (k) => (xs.length === 1 ? (LEFT + right) / 2
        : LEFT + ((xs[k] - xs[0]) / (xs[xs.length - 1] - xs[0])) * (right - LEFT));
      const y = (value) => floor - ((value - low) / (high - low)) * (floor - TOP);
      const at = (tick) => x(xs.indexOf(tick));
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
      for (const tick of ticks) {
        svg.append(RL.s(tick === 0 ? "line.zero" : "line.grid", { x1: LEFT, x2: right, y1: y(tick), y2: y(tick) }));
        svg.append(RL.s("text.tick.end", { x: LEFT - 6, y: y(tick) + 3 }, shown(tick)));
      }
      for (const tick of marks(xs, width).filter((mark) => xs.includes(mark))) {
        svg.append(RL.s("text.tick.middle", { x: at(tick), y: HEIGHT - 4 }, tick));
      }
      if (chart.kind === "stack") {
        for (const area of stacked(chart.lines)) {
          const known = area.roof.map((value, k) => [k, value]).filter(([, value]) => value !== null);
          const roof = known.map(([k, value]) => `${x(k).toFixed(1)} ${y(value).toFixed(1)}`);
          const back = known.map(([k]) => `${x(k).toFixed(1)} ${y(area.floor[k] || 0).toFixed(1)}`).reverse();
          svg.append(RL.s(`path.area.${area.colour}`, { d: `M${[...roof, ...back].join("L")}Z` }));
        }
      } else {
        for (const line of chart.lines) {
          if (line.low) {
            const known = line.points.map((_, k) => k).filter((k) => line.low[k] !== null);
            const band = [...known.map((k) => `${x(k).toFixed(1)} ${y(line.high[k]).toFixed(1)}`),
              ...known.map((k) => `${x(k).toFixed(1)} ${y(line.low[k]).toFixed(1)}`).reverse()];
            svg.append(RL.s(`path.band.${line.colour}`, { d: `M${band.join("L")}Z` }));
          }
          svg.append(RL.s(`path.line.${line.colour}${line.dashed ? ".dashed" : ""}`, { d: path(line.points, x, y) }));
          const last = line.points.findLastIndex((point) => point !== null);
          const lone = line.points.map((_, k) => k).filter((k) => line.points[k] !== null
            && (line.dots || k === last || ((line.points[k - 1] ?? null) === null && (line.points[k + 1] ?? null) === null)));
          for (const k of lone) svg.append(RL.s(`circle.dot.${line.colour}`, { cx: x(k), cy: y(line.points[k]), r: 2.4 }));
        }
      }
      const hair = RL.s("line.hair", { y1: TOP, y2: floor, x1: -9, x2: -9 });
      const near = (event) => {
        const left = event.clientX - svg.getBoundingClientRect().left;
        return xs.reduce((best, _, k) => (Math.abs(x(k) - left) < Math.abs(x(best) - left) ? k : best), 0);
      };
      const follow = (event) => {
        const k = near(event);
        hair.setAttribute("x1", x(k)); hair.setAttribute("x2", x(k));
        tell(k);
      };
      const leave = () => { hair.setAttribute("x1", -9); hair.setAttribute("x2", -9); tell(null); };
      svg.append(hair, RL.s("rect.glass", {
        x: LEFT - 4, y: 0, width: Math.max(1, right - LEFT + 8), height: HEIGHT,
        on: { pointermove: follow, pointerleave: leave, click: (event) => pick && pick(xs[near(event)]) },
      }));
    };

    tell(null);
    let drawn = 0;
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 80 && width !== drawn) { drawn = width; draw(width); }
    }).observe(figure);
    return figure;
  };

  // How many tasks are solved how often, and the success rate of each with its interval, the hardest first.
  RL.rates = (tasks, open = null) => {
    const rate = (task) => task.solved / task.played, played = tasks.filter((task) => task.played > 0).sort((a, b) => rate(a) - rate(b));
    if (!played.length) return null;
    const bins = [["never", 0, 0], ["below 20 %", 0, 0.2], ["20 to 40 %", 0.2, 0.4], ["40 to 60 %", 0.4, 0.6],
      ["60 to 80 %", 0.6, 0.8], ["80 % and above", 0.8, 1], ["always", 1, 1]];
    const fits = (share, low, high) => (low === high ? share === low : share >= low && share < high && share > 0);
    const pairs = bins.map(([name, low, high]) => [name, played.filter((task) => fits(rate(task), low, high)).length]);
    const line = { label: "success, 95 % interval", colour: "blue", points: played.map(rate),
      low: played.map((task) => task.interval[0]), high: played.map((task) => task.interval[1]), dots: played.length <= 64 };
    return RL.h("div.charts.rates",
      RL.h("figure.chart", RL.h("figcaption", RL.h("h3", "Tasks by success rate"), RL.h("span.unit", RL.plural(played.length, "task"))),
        RL.tally(pairs, "blue", Math.max(...pairs.map(([, count]) => count)))),
      RL.chart({ title: "Success rates", unit: "share of episodes, tasks in order", kind: "share", lines: [line],
        names: played.map((task) => task.goal) }, played.map((_, k) => k + 1), open && ((k) => open(played[k - 1]))));
  };

  // Success with its interval before and after, on a scale from 0 to 100 %.
  RL.interval = (points) => {
    const svg = RL.s("svg.interval", { viewBox: "0 0 220 26", role: "img",
      "aria-label": points.map((point) => RL.percent(point.rate, 1)).join(" to ") });
    const x = (value) => 6 + 208 * Math.min(1, Math.max(0, value));
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) svg.append(RL.s("line.grid", { x1: x(tick), x2: x(tick), y1: 3, y2: 23 }));
    const ends = points.length > 1 ? [points[0], points[points.length - 1]] : points;
    ends.forEach((point, k) => {
      const y = ends.length === 1 ? 13 : 8 + 10 * k, kind = k === ends.length - 1 ? "now" : "then";
      if (point.low !== null && point.high !== null) {
        svg.append(RL.s(`line.whisker.${kind}`, { x1: x(point.low), x2: x(point.high), y1: y, y2: y }));
      }
      if (point.rate !== null) svg.append(RL.s(`circle.${kind}`, { cx: x(point.rate), cy: y, r: 3.4 }));
    });
    return svg;
  };

  // A small curve without axes, for rows of a table.
  RL.spark = (points, width = 120, height = 20) => {
    const x = (k) => 2 + ((width - 4) * k) / Math.max(1, points.length - 1), y = (value) => height - 2 - (height - 4) * value;
    return RL.s("svg.spark", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      RL.s("line.grid", { x1: 0, x2: width, y1: height - 1, y2: height - 1 }), RL.s("path.line.blue", { d: path(points, x, y) }));
  };

  // A share as a short bar.
  RL.bar = (share, width = 56) => RL.s("svg.share", { width, height: 8, viewBox: `0 0 ${width} 8`, "aria-hidden": "true" },
    RL.s("rect.back", { x: 0, y: 1, width, height: 6, rx: 3 }),
    share === null ? null : RL.s("rect.front", { x: 0, y: 1, width: Math.max(share > 0 ? 3 : 0, width * share), height: 6, rx: 3 }));

  // A signed number as a bar to the left or to the right of a middle line.
  RL.diverging = (value, most, width = 72) => {
    const middle = width / 2, length = value === null || !most ? 0 : (Math.abs(value) / most) * (middle - 1);
    return RL.s("svg.diverging", { width, height: 10, viewBox: `0 0 ${width} 10`, "aria-hidden": "true" },
      RL.s("line.grid", { x1: middle, x2: middle, y1: 0, y2: 10 }),
      length ? RL.s(value > 0 ? "rect.up" : "rect.down", { x: value > 0 ? middle : middle - length, y: 2, width: length, height: 6 }) : null);
  };
}
