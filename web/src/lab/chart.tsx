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

// By Okabe and Ito, dark enough on white; ours and what the originals printed have their own.
const peer_colours = ['#b35900', '#3b7fb0', '#00805c', '#a0527f', '#7d6b00', '#6b6b6b', '#8a4fbf', '#c0392b'];
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const then_dashes = [[3, 5], [1, 3], [9, 6], [9, 4, 1, 4]];

function style_of(series: Series[], at: number, accent: string, ink: string): {stroke: string; width: number; dash: number[]} {
  const of = series[at];
  const before = series.slice(0, at).filter((each) => each.role === of.role || (each.role !== 'ours' && of.role !== 'ours' && each.role !== 'then' && of.role !== 'then')).length;
  if (of.role === 'ours') return {stroke: accent, width: 3, dash: dashes[before % dashes.length]};
  if (of.role === 'then') return {stroke: ink, width: 1, dash: then_dashes[before % then_dashes.length]};
  return {stroke: peer_colours[before % peer_colours.length], width: 1.5, dash: dashes[Math.floor(before / peer_colours.length) % dashes.length]};
}

// Quartiles, where they are given.
function draw_spreads(shown: Series[], strokes: string[]) {
  return (chart: Chart) => {
    const {ctx} = chart;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    shown.forEach((each, at) => {
      ctx.strokeStyle = strokes[at];
      for (const [x, {low, high}] of each.points) {
        if (low === undefined || high === undefined || !chart.series[at + 1].show) continue;
        const place = chart.valToPos(x, 'x', true), from = chart.valToPos(low, 'y', true), to = chart.valToPos(high, 'y', true);
        ctx.beginPath();
        ctx.moveTo(place, from);
        ctx.lineTo(place, to);
        ctx.stroke();
      }
    });
    ctx.restore();
  };
}

const whole_decades = (low: number, high: number): [number, number] => [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
const bounds = (all: number[]): [number, number] => [Math.min(...all), Math.max(...all)];

// Powers of ten; below a decade also two and five of each.
function ticks(low: number, high: number): number[] {
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const part of high / low > 300 ? [1] : [1, 2, 5]) all.push(part * 10 ** power);
  }
  return all.filter((each) => each >= low * 0.999 && each <= high * 1.001);
}

const short = (value: number): string => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e4 ? `${value / 1e3}k` : String(+value.toPrecision(3)));

export function Curves({series, x_label, y_label, label}: {series: Series[]; x_label: string; y_label: string; label: string}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | null>(null);
  const [hidden, set_hidden] = useState<Set<string>>(new Set());
  const [cursor, set_cursor] = useState<number | null>(null);
  const [styles, set_styles] = useState<ReturnType<typeof style_of>[]>([]);
  const [redraw, set_redraw] = useState(0);
  const xs = [...new Set(series.flatMap((each) => [...each.points.keys()]))].sort((a, b) => a - b);

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
    const drawn = series.map((_, at) => style_of(series, at, css.getPropertyValue('--accent'), css.getPropertyValue('--ink')));
    const y_bounds = () => {
      const seen = series.filter((each) => !hidden.has(each.name)).flatMap((each) => [...each.points.values()].flatMap((point) => [point.low ?? point.y, point.high ?? point.y]));
      const positive = seen.filter((each) => each > 0);
      return positive.length ? whole_decades(...bounds(positive)) : [1, 10] as [number, number];
    };
    // uPlot would leave out most labels of a logarithmic axis.
    const axis = {filter: (_: Chart, all: number[]) => all, stroke: ink, font: '12px system-ui', labelFont: '12px system-ui', labelSize: 20, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1}};
    const made = new Chart({
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
        {...axis, label: x_label, size: 34, splits: () => xs, values: (_, all) => all.map((each, at) => (xs.length > 7 && at % 2 ? '' : short(each)))},
        {...axis, label: y_label, size: 48, splits: (_, __, low, high) => ticks(low, high), values: (_, all) => all.map(short)},
      ],
      series: [{}, ...series.map((each, at) => ({
        label: each.name, ...drawn[at], spanGaps: true, show: !hidden.has(each.name),
        points: {show: true, size: each.role === 'then' ? 9 : 6, fill: each.role === 'then' ? 'transparent' : drawn[at].stroke},
      }))],
      hooks: {
        draw: [draw_spreads(series, drawn.map((each) => each.stroke))],
        setCursor: [(of) => set_cursor(of.cursor.idx ?? null)],
      },
    }, [xs, ...series.map((each) => xs.map((x) => each.points.get(x)?.y ?? null))] as Chart.AlignedData, box.current!);
    chart.current = made;
    set_styles(drawn);
    return () => made.destroy();
  }, [series, redraw]);

  const toggle = (name: string, at: number) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    set_hidden(next);
    chart.current?.setSeries(at + 1, {show: !next.has(name)});
    set_redraw((before) => before + 1);
  };
  return (
    <figure class="curves">
      <div ref={box} role="img" aria-label={label} />
      <figcaption class="keys">
        {cursor !== null && <span class="at">{x_label} {xs[cursor].toLocaleString('en')}:</span>}
        {series.map((each, at) => {
          const point = cursor === null ? undefined : each.points.get(xs[cursor]);
          return (
            <button key={each.name} type="button" class="key" aria-pressed={!hidden.has(each.name)} onClick={() => toggle(each.name, at)}>
              <svg width="26" height="8" aria-hidden="true">
                <line x1="0" y1="4" x2="26" y2="4" stroke={styles[at]?.stroke} stroke-width={styles[at]?.width} stroke-dasharray={styles[at]?.dash.join(' ')} />
              </svg>
              {each.name}{point && <b> {digits(point.y)}</b>}
            </button>
          );
        })}
      </figcaption>
    </figure>
  );
}
