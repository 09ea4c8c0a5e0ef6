// Small parts that several views show.
import type {JSX} from 'preact';
import {useEffect, useRef} from 'preact/hooks';
import Chart from 'uplot';
import type {Names} from './names';
import type {Range} from './recording';
import {grouped} from './formatting';
import {categories} from './weights';

// Each category has a colour of its own (style.css), as several tables of categories are on one screen. The members of
// another list, such as the versions of a fleet, take six colours in turn. The name is always beside the colour.
export const colour_of = (kinds: string[], category: string) => {
  const index = Math.max(0, kinds.indexOf(category));
  return Object.values(categories).includes(kinds) ? `var(--kind-${kinds[index].replace(' ', '-')})` : `var(--series-${index % 6})`;
};

export function Kind({kinds, category}: {kinds: string[]; category: string}): JSX.Element {
  return <span class="kind"><i aria-hidden="true" style={{background: colour_of(kinds, category)}} />{category}</span>;
}

// `detail` tells it from others of the same name and location.
export function Code_location({names, node, detail}: {names: Names; node: number; detail?: string}): JSX.Element {
  if (node === 0) return <span class="location">beyond the recorder's limit</span>;
  return (
    <span class="location" title={names.full(node).slice(0, 600)}>
      <bdi>{names.label(node)}</bdi>
      {names.label(node) !== names.location_text(names.location[node]) && <> <small><bdi>{names.location_text(names.location[node])}</bdi></small></>}
      {detail && <small>{detail}</small>}
    </span>
  );
}

export function Stack({names, node, mark}: {names: Names; node: number; mark?: number}): JSX.Element {
  const frames = names.stack(node);
  return (
    <ol class="stack">
      {frames.map((frame) => (
        <li key={frame} class={frame === mark ? 'marked' : names.is_installed(names.location[frame]) ? 'foreign' : ''}>
          <bdi class="full">{names.full(frame)}</bdi> <small><bdi>{names.path(names.location[frame])}</bdi></small>
        </li>
      ))}
      {frames.length === 0 && <li>Not known: beyond the recorder's limit of sites.</li>}
    </ol>
  );
}

// A range as a bar: full up to its low end, lighter up to its high end.
export function Bar({range, longest, label}: {range: Range; longest: number; label: string}): JSX.Element {
  const part = (value: number) => `${Math.min(100, Math.max(0, (100 * value) / Math.max(longest, 1e-9)))}%`;
  return (
    <span class="bar" role="img" aria-label={label}>
      <span class="high" style={{width: part(range[1])}} /><span class="low" style={{width: part(range[0])}} />
    </span>
  );
}

interface Histogram_of {
  title: string;
  values: number[];
  labels: string[];
}

// Blocks by size or lifetime; empty ends are left out.
export function Histogram({title, values, labels}: Histogram_of): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  let first = values.findIndex((value) => value > 0);
  let last = values.findLastIndex((value) => value > 0);
  const is_empty = first < 0;
  first = Math.max(0, first - 1);
  last = Math.min(values.length - 1, last + 1);
  const kept = values.slice(first, last + 1);
  const names = labels.slice(first, last + 1);
  useEffect(() => {
    if (is_empty) return;
    const style = getComputedStyle(box.current!);
    const ink = style.getPropertyValue('--faint');
    const axis = {stroke: ink, grid: {show: false}, ticks: {show: false}, font: '11px system-ui'};
    const chart = new Chart({
      width: Math.max(200, box.current!.clientWidth),
      height: 96,
      legend: {show: false},
      cursor: {show: false},
      scales: {x: {time: false, range: [-0.6, kept.length - 0.4]}, y: {range: (_, __, high) => [0, high || 1]}},
      axes: [
        {...axis, size: 22, splits: kept.map((_, index) => index), values: () => names.map((name, index) => (kept.length > 7 && index % 2 ? '' : name))},
        {show: false},
      ],
      series: [{}, {fill: style.getPropertyValue('--accent'), paths: Chart.paths.bars!({size: [0.85]}), points: {show: false}}],
    }, [kept.map((_, index) => index), kept], box.current!);
    return () => chart.destroy();
  }, [values, document.documentElement.dataset.theme]);
  if (is_empty) return null;
  const summary = kept.map((value, index) => (value > 0 ? `${names[index]}: ${grouped(value)}` : '')).filter(Boolean).join('; ');
  return (
    <figure class="histogram">
      <figcaption>{title}</figcaption>
      <div ref={box} role="img" aria-label={`${title}. ${summary}`} title={summary} />
    </figure>
  );
}

interface Choice_of {
  label: string;
  value: string;
  options: [string, string][];
  set: (value: string) => void;
}
export function Choice({label, value, options, set}: Choice_of): JSX.Element {
  return (
    <label class="choice">
      {label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {options.map(([name, label]) => <option key={name} value={name} selected={name === value}>{label}</option>)}
      </select>
    </label>
  );
}

export function Search({value, set, label}: {value: string; set: (text: string) => void; label: string}): JSX.Element {
  return (
    <label class="choice search">
      {label}
      <input type="search" value={value} onInput={(event) => set(event.currentTarget.value)} spellcheck={false} autocomplete="off" />
    </label>
  );
}
