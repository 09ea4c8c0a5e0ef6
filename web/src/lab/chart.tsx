// Curves with logarithmic axes: medians with their quartiles as bars, the originals' points between dashes.
import type {JSX} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import Chart from 'uplot';
import {digits} from './results';

export interface Series {
  name: string;
  role: 'original' | 'peer' | 'ours' | 'then';
  points: Map<number, {y: number; low?: number; high?: number}>;
}

// The colours of Okabe and Ito, dark enough on white. Tarn's forms and the printed originals have colours of their own.
const peer_colours = ['#b35900', '#3b7fb0', '#00805c', '#a0527f', '#7d6b00', '#6b6b6b', '#8a4fbf', '#c0392b'];
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const then_dashes = [[3, 5], [1, 3], [9, 6], [9, 4, 1, 4]];

function style_of(series: Series[], index: number, accent: string, ink: string): {stroke: string; width: number; dash: number[]} {
  const line = series[index];
  const before = series.slice(0, index).filter((entry) => entry.role === line.role || (entry.role !== 'ours' && line.role !== 'ours' && entry.role !== 'then' && line.role !== 'then')).length;
  if (line.role === 'ours') return {stroke: accent, width: 3, dash: dashes[before % dashes.length]};
  if (line.role === 'then') return {stroke: ink, width: 1, dash: then_dashes[before % then_dashes.length]};
  return {stroke: peer_colours[before % peer_colours.length], width: 1.5, dash: dashes[Math.floor(before / peer_colours.length) % dashes.length]};
}

// Draws the quartiles, where they are given.
function draw_spreads(shown: Series[], strokes: string[]) {
  return (chart: Chart) => {
    const {ctx} = chart;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    shown.forEach((line, index) => {
      ctx.strokeStyle = strokes[index];
      for (const [x, {low, high}] of line.points) {
        if (low === undefined || high === undefined || !chart.series[index + 1].show) continue;
        const middle = chart.valToPos(x, 'x', true), bottom = chart.valToPos(low, 'y', true), top = chart.valToPos(high, 'y', true);
        ctx.beginPath();
        ctx.moveTo(middle, bottom);
        ctx.lineTo(middle, top);
        ctx.stroke();
      }
    });
    ctx.restore();
  };
}

const whole_decades = (low: number, high: number): [number, number] => [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
const bounds = (values: number[]): [number, number] => [Math.min(...values), Math.max(...values)];

// Returns powers of ten; for less than a decade also twice and five times each.
function ticks(low: number, high: number): number[] {
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const part of high / low > 300 ? [1] : [1, 2, 5]) values.push(part * 10 ** power);
  }
  return values.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

const short = (value: number): string => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(+value.toPrecision(3)));

export function Curves({series, x_label, y_label, label}: {series: Series[]; x_label: string; y_label: string; label: string}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const [hidden, set_hidden] = useState<Set<string>>(new Set());
  const [cursor, set_cursor] = useState<number | null>(null);
  const [styles, set_styles] = useState<ReturnType<typeof style_of>[]>([]);
  const [redraw, set_redraw] = useState(0);
  const xs = [...new Set(series.flatMap((entry) => [...entry.points.keys()]))].sort((a, b) => a - b);

  useEffect(() => {
    const again = () => set_redraw((before) => before + 1);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    const resized = new ResizeObserver(() => chart.current?.setSize({width: Math.max(220, box.current!.clientWidth), height: 300}));
    resized.observe(box.current!);
    return () => (scheme.removeEventListener('change', again), resized.disconnect());
  }, []);

  useEffect(() => {
    const css = getComputedStyle(box.current!);
    const ink = css.getPropertyValue('--faint'), line = css.getPropertyValue('--line');
    const drawn = series.map((_, index) => style_of(series, index, css.getPropertyValue('--accent'), css.getPropertyValue('--ink')));
    const y_bounds = () => {
      const seen = series.filter((entry) => !hidden.has(entry.name)).flatMap((entry) => [...entry.points.values()].flatMap((point) => [point.low ?? point.y, point.high ?? point.y]));
      const positive = seen.filter((value) => value > 0);
      return positive.length ? whole_decades(...bounds(positive)) : [1, 10] as [number, number];
    };
    // Without this, uPlot leaves out most labels of a logarithmic axis.
    const axis = {filter: (_: Chart, splits: number[]) => splits, stroke: ink, font: '12px system-ui', labelFont: '12px system-ui', labelSize: 20, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}};
    const drawing = new Chart({
      width: Math.max(220, box.current!.clientWidth),
      height: 300,
      legend: {show: false},
      cursor: {drag: {x: false, y: false}, focus: {prox: 24}, points: {show: false}},
      focus: {alpha: 0.35},
      scales: {
        x: {time: false, distr: 3, range: () => [xs[0] * 0.85, xs[xs.length - 1] * 1.18]},
        y: {distr: 3, range: y_bounds},
      },
      axes: [
        {...axis, label: x_label, size: 34, splits: () => xs, values: (_, splits) => splits.map((split, index) => (xs.length > 7 && index % 2 ? '' : short(split)))},
        {...axis, label: y_label, size: 48, splits: (_, __, low, high) => ticks(low, high), values: (_, splits) => splits.map(short)},
      ],
      series: [{}, ...series.map((entry, index) => ({
        label: entry.name, ...drawn[index], spanGaps: true, show: !hidden.has(entry.name),
        points: {show: true, size: entry.role === 'then' ? 9 : 6, fill: entry.role === 'then' ? 'transparent' : drawn[index].stroke},
      }))],
      hooks: {
        draw: [draw_spreads(series, drawn.map((line) => line.stroke))],
        setCursor: [(chart) => set_cursor(chart.cursor.idx ?? null)],
      },
    }, [xs, ...series.map((entry) => xs.map((x) => entry.points.get(x)?.y ?? null))] as Chart.AlignedData, box.current!);
    chart.current = drawing;
    set_styles(drawn);
    return () => drawing.destroy();
  }, [series, redraw]);

  const toggle = (name: string, index: number) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    set_hidden(next);
    chart.current?.setSeries(index + 1, {show: !next.has(name)});
    set_redraw((before) => before + 1);
  };
  return (
    <figure class="curves">
      <div ref={box} role="img" aria-label={label} />
      <figcaption class="keys">
        {cursor !== null && <span class="at">{x_label} {xs[cursor].toLocaleString('en')}:</span>}
        {series.map((entry, index) => {
          const point = cursor === null ? undefined : entry.points.get(xs[cursor]);
          return (
            <button key={entry.name} type="button" class="key" aria-pressed={!hidden.has(entry.name)} onClick={() => toggle(entry.name, index)}>
              <svg width="26" height="8" aria-hidden="true">
                <line x1="0" y1="4" x2="26" y2="4" stroke={styles[index]?.stroke} stroke-width={styles[index]?.width} stroke-dasharray={styles[index]?.dash.join(' ')} />
              </svg>
              {entry.name}{point && <b> {digits(point.y)}</b>}
            </button>
          );
        })}
      </figcaption>
    </figure>
  );
}
