// The course of the run: memory, allocations, waits and calls in time. A selection by mouse restricts all other views.
import type {JSX} from 'preact';
import {useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import Chart from 'uplot';
import type {Course, Line, Part} from '../course';
import {is_purpose} from '../course';
import {colour_of, Kind} from '../parts';
import type {View} from '../view';
import {categories, type Metric} from '../weights';
import {format_bytes, format_count, format_number} from '../formatting';

interface Picture {
  name: string;
  title: string;
  lines: Line[];           // stacked
  table?: Metric['table'];  // the table of its categories; none: a line without categories
  format: (value: number) => string;
  steps?: number[];  // of the axis
}

const powers = Array.from({length: 50}, (_, index) => 2 ** index);
const height = 118;
export const seconds = (value: number) => (value >= 100 ? value.toFixed(1) : value.toFixed(3).replace(/\.?0+$/, '') || '0');

function Area({picture, course, part, choose}: {picture: Picture; course: Course; part: Part | null; choose: (begin: number, finish: number) => void}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart>();
  const [width, set_width] = useState(0);
  const {lines, format, table} = picture;
  // The selection is marked in each picture.
  const mark = () => {
    const u = chart.current;
    if (!u) return;
    const left = part ? u.valToPos(course.begin(part.first), 'x') : 0;
    const right = part ? u.valToPos(course.ends[part.end - 1], 'x') : 0;
    u.setSelect({left, top: 0, width: right - left, height: part ? u.over.clientHeight : 0}, false);
  };
  const mark_now = useRef(mark);
  mark_now.current = mark;
  useLayoutEffect(() => {
    const see = new ResizeObserver(() => set_width(box.current!.clientWidth));
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (width < 50) return;
    const style = getComputedStyle(box.current!);
    const ink = style.getPropertyValue('--faint');
    const colour = (category: string) =>
      style.getPropertyValue(table ? colour_of(categories[table], category).slice(4, -1) : `--${picture.name}`);
    // The lowest line is drawn last, over the others.
    const count = course.ends.length;
    const stacked: number[][] = [];
    const sums = new Float64Array(count);
    for (const line of lines) {
      line.values.forEach((value, index) => { sums[index] += value; });
      stacked.push([sums[0], ...sums]);
    }
    const axis = {stroke: ink, grid: {stroke: style.getPropertyValue('--line'), width: 0.5}, ticks: {show: false}, font: '11px system-ui'};
    const drawing = new Chart({
      width, height,
      legend: {show: false},
      cursor: {sync: {key: 'timeline'}, y: false, points: {show: false}, drag: {x: true, y: false, setScale: false}},
      scales: {x: {time: false, range: [0, course.whole]}, y: {range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1]}},
      axes: [
        {...axis, size: 20, values: (_, splits) => splits.map((split) => `${seconds(split)} s`)},
        {...axis, size: 72, values: (_, splits) => splits.map((split) => (split === 0 ? '0' : format(split))), space: 30, ...(picture.steps ? {incrs: picture.steps} : {})},
      ],
      series: [{}, ...[...lines].reverse().map((line) => ({
        fill: colour(line.category), stroke: colour(line.category), width: 1, points: {show: false}, paths: Chart.paths.stepped!({align: -1}),
      }))],
      hooks: {
        ready: [(u) => {
          chart.current = u;
          mark_now.current();
        }],
        setSelect: [(u) => {
          if (u.select.width < 2) return;
          choose(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
        }],
      },
    }, [[0, ...course.ends], ...stacked.reverse()], box.current!);
    return () => {
      chart.current = undefined;
      drawing.destroy();
    };
  }, [lines, width, document.documentElement.dataset.theme, matchMedia('(prefers-color-scheme: dark)').matches]);

  useLayoutEffect(mark, [part?.first, part?.end]);

  const totals = useMemo(() => course.ends.map((_, index) => lines.reduce((sum, line) => sum + line.values[index], 0)), [lines]);
  const peak = Math.max(0, ...totals);
  const peak_index = totals.indexOf(peak);
  const label = peak > 0 ? `${picture.title}: highest ${format(peak)}, at ${seconds(course.ends[peak_index])} s` : `${picture.title}: none`;
  return (
    <figure class="picture">
      <figcaption>
        {picture.title} <small>highest {format(peak)}</small>
        {table && <span class="legend">{lines.filter((line) => line.values.some((value) => value > 0)).map((line) => <Kind key={line.category} kinds={categories[table]} category={line.category} />)}</span>}
      </figcaption>
      <div ref={box} class="chart" role="img" aria-label={label} />
    </figure>
  );
}

export function Timeline({view}: {view: View}): JSX.Element {
  const {course, part, change} = view;
  const pictures = useMemo<Picture[]>(() => {
    if (!course) return [];
    const rate = (series: Line[]) => series.map(({category, values}) => ({category, values: values.map((value, index) => value / Math.max(1e-9, course.length(index)))}));
    const at_once = (series: Line[]) => series.map(({category, values}) => ({category, values: values.map((ns) => ns / 1e9)}));
    const single = (values: number[]) => [{category: '', values: Float64Array.from(values)}];
    const drawings: Picture[] = [
      {name: 'processor', title: 'CPUs in use', lines: single(course.processor), format: format_number},
      {name: 'resident', title: 'Resident memory', lines: single(course.resident), format: format_bytes, steps: powers},
      {name: 'in_use', title: 'Heap in use', lines: course.in_use(), table: 'sites', format: format_bytes, steps: powers},
      {name: 'blocks', title: 'Allocations a second', lines: rate(course.lines('sites', 'blocks')), table: 'sites', format: format_count},
      {name: 'waited', title: 'Threads that wait for locks', lines: at_once(rate(course.lines('locks', 'waited_ns'))).filter((line) => !is_purpose(line)), table: 'locks', format: format_number},
      {name: 'calls', title: 'System calls a second', lines: rate(course.lines('syscalls', 'count')), table: 'syscalls', format: format_count},
    ];
    return drawings.filter((picture) => picture.lines.some((line) => line.values.some((value) => value > 0)));
  }, [course]);
  if (!course) return <section><p class="none">The recording has no timeline: it is a part of one, or ended before the first snapshot.</p></section>;
  const choose = (begin: number, finish: number) => {
    const chosen = course.part(String(begin), String(finish));
    change(chosen ? {begin: seconds(course.begin(chosen.first)), end: seconds(course.ends[chosen.end - 1])} : {begin: '', end: ''});
  };
  const low = part ? course.begin(part.first) : 0;
  const high = part ? course.ends[part.end - 1] : course.whole;
  const field = (label: string, value: number, set: (bound: number) => void) => (
    <label class="choice">
      {label}
      <input type="number" min={0} max={Number(seconds(course.whole))} step="any" value={seconds(value)} onChange={(event) => set(event.currentTarget.valueAsNumber)} />
    </label>
  );
  return (
    <section>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        {field('From, s', low, (begin) => choose(begin, high))}
        {field('To, s', high, (finish) => choose(low, finish))}
        <output aria-live="polite">
          {part ? `${seconds(high - low)} s of ${seconds(course.whole)} s: all views show what happened then` : 'Drag over a picture: all views then show what happened in that time'}
        </output>
      </form>
      {pictures.map((picture) => <Area key={picture.name} picture={picture} course={course} part={part} choose={choose} />)}
      {pictures.length === 0 && <p class="none">Nothing happened in this recording.</p>}
    </section>
  );
}
