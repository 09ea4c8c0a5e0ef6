// Stacks as a flame graph or icicle. d3-flame-graph draws the frames that are wide enough to be seen. This code selects
// them and handles zoom, filters and keyboard, so that millions of nodes cost as little as a thousand.
import flamegraph, {type Frame} from 'd3-flame-graph';
import {select} from 'd3-selection';
import type {JSX} from 'preact';
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Choice, colour_of, Kind, Search, Stack} from '../parts';
import type {View} from '../view';
import {categories, metrics, on_purpose, Tree, weights, type Weight} from '../weights';
import {cut, format_number, middle, shown} from '../formatting';
import {Site_details} from './sites';

interface Datum {
  name: string;
  value: number;
  node: number;
  fade: boolean;
  kind: string;
  children: Datum[];
}

const min_px = 3;
const cell_px = 22;
const fold_from = 4;       // rows
const all_of_it = 0.995;
const deepest = 300;  // rows: deeper recursions would not be readable

function data_of(tree: Tree, view: View, zoom: number, width: number): Datum {
  const least = (tree.total[zoom] * min_px) / width;
  const datum = (node: number, fade: boolean, children: Datum[], label?: string): Datum => {
    const children_sum = children.reduce((sum, child) => sum + child.value, 0);
    // Frames above the focus have its width.
    return {name: label ?? view.names.frame(node), value: fade ? children_sum : tree.total[node], node, fade, kind: tree.kind_of(node), children};
  };
  const inner = (node: number, depth: number): Datum =>
    datum(node, false, depth > deepest ? [] : tree.children_of(node, least).map((child) => inner(child, depth + 1)));
  // The outer frames that all stacks have in common become one row.
  const common: number[] = [];
  for (let index = zoom; ;) {
    const next = tree.children_of(index, least);
    if (next.length !== 1 || tree.total[next[0]] < tree.total[index] * all_of_it) break;
    common.push((index = next[0]));
  }
  let datum_of_zoom: Datum;
  if (common.length > fold_from) {
    const last = common[common.length - 2];
    const folded = datum(last, false, [inner(common[common.length - 1], 0)], `${common.length - 1} callers, down to ${view.names.frame(last)}`);
    datum_of_zoom = datum(zoom, false, [folded]);
  } else {
    datum_of_zoom = inner(zoom, 0);
  }
  let shown_callers = 0;
  for (let index = zoom; index !== 0;) {
    index = view.names.parent[index];
    if (index === 0 || ++shown_callers <= fold_from) datum_of_zoom = datum(index, true, [datum_of_zoom]);
  }
  return datum_of_zoom;
}

export function Flame({view}: {view: View}): JSX.Element {
  const {data, names, threads, state, change} = view;
  const box = useRef<HTMLDivElement>(null);
  const [width, set_width] = useState(900);
  const metric = metrics.find((metric) => metric.name === state.metric) ?? metrics.find((metric) => metric.name === 'cost')!;
  const kinds = categories[metric.table];
  const {thread} = state;
  const category = kinds.includes(state.category) ? state.category : '';

  const all_weights = useMemo(() => weights(data, {metric, category, thread, text: ''}), [data, metric, category, thread]);
  const tree = useMemo(() => new Tree(names, all_weights, kinds, state.q), [names, all_weights, state.q]);
  const node_of = (text: string) => {
    const node = Number(text);
    return Number.isInteger(node) && node > 0 && node < names.parent.length ? node : 0;
  };
  const wanted = node_of(state.zoom);
  const zoom = tree.total[wanted] > 0 ? wanted : 0;
  const pin = node_of(state.pin);
  const node_text = (node: number) => {
    const share = tree.total[0] > 0 ? (100 * tree.total[node]) / tree.total[0] : 0;
    return `${metric.format(tree.total[node])}, ${share.toFixed(share < 10 ? 1 : 0)} %`;
  };

  useLayoutEffect(() => {
    const see = new ResizeObserver(() => set_width(Math.max(240, box.current!.clientWidth)));
    see.observe(box.current!);
    return () => see.disconnect();
  }, []);

  useLayoutEffect(() => {
    const graph = box.current!;
    graph.replaceChildren();
    if (tree.total[0] <= 0) return;
    const chart = flamegraph<Datum>()
      .width(width).cellHeight(cell_px).transitionDuration(0).inverted(state.layout === 'icicle')
      .getName((frame: Frame<Datum>) => frame.data.name)
      .setLabelHandler((frame: Frame<Datum>) => `${cut(names.full(frame.data.node), 400)}\n${names.location_text(names.location[frame.data.node] ?? 0)}\n${node_text(frame.data.node)}`)
      .setColorMapper((frame: Frame<Datum>) => (frame.data.node === 0 ? 'var(--root)' : colour_of(kinds, frame.data.kind)));
    select(graph).datum(data_of(tree, view, zoom, width)).call(chart);
    // Ends the library's animation at once.
    select(graph).selectAll('*').interrupt();
    const frames = [...graph.querySelectorAll<SVGGElement & {__data__: Frame<Datum>}>('g.frame')];
    const svg = graph.querySelector('svg')!;
    svg.setAttribute('role', 'presentation');
    svg.setAttribute('viewBox', `0 0 ${width} ${svg.getAttribute('height')}`);  // scales when printed
    const focus = frames.find((frame) => frame.__data__.data.node === (pin || zoom)) ?? frames.find((frame) => frame.__data__.data.node === zoom);
    for (const frame of frames) {
      const {data: {node, name}, x0, x1} = frame.__data__;
      frame.querySelector('rect')!.setAttribute('width', String((x1 - x0) * width));
      frame.querySelector('.d3-flame-graph-label')!.textContent = name;
      frame.setAttribute('role', 'button');
      frame.setAttribute('tabindex', frame === focus ? '0' : '-1');
      frame.setAttribute('aria-label', `${node === 0 ? 'all' : names.frame(node)}: ${node_text(node)}${node ? `, ${frame.__data__.data.kind}` : ''}`);
      frame.dataset.node = String(node);
      if (node !== 0 && node === pin) frame.classList.add('pinned');
    }
    return () => { chart.destroy(); };
  }, [tree, zoom, pin, width, state.layout]);

  const take = (node: number) => change({zoom: String(node), pin: String(node || pin)});
  const frame_at = (event: Event) => (event.target as Element).closest<SVGGElement>('g.frame');
  const click = (event: MouseEvent) => {
    const frame = frame_at(event);
    if (!frame) return;
    event.stopPropagation();  // the library would zoom, too
    take(Number(frame.dataset.node));
  };
  const focus = (node: number | undefined) => {
    const next = box.current!.querySelector<SVGGElement>(`g.frame[data-node="${node}"]`);
    if (!next) return;
    for (const frame of box.current!.querySelectorAll('g.frame[tabindex="0"]')) frame.setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  };
  const key = (event: KeyboardEvent) => {
    const frame = frame_at(event);
    if (!frame) return;
    const node = Number(frame.dataset.node);
    const parent = names.parent[node];
    const least = (tree.total[zoom] * min_px) / width;
    const inwards = () => focus(tree.children_of(node, least)[0]);
    const outwards = () => focus(node === 0 ? 0 : parent);
    const is_icicle = state.layout === 'icicle';
    const sideways = (step: number) => {
      const row = node === 0 ? [0] : tree.children_of(parent, least);
      focus(row[row.indexOf(node) + step]);
    };
    const acts: Record<string, () => void> = {
      ArrowDown: is_icicle ? inwards : outwards,
      ArrowUp: is_icicle ? outwards : inwards,
      ArrowLeft: () => sideways(-1),
      ArrowRight: () => sideways(1),
      Enter: () => take(node),
      ' ': () => change({pin: String(node === pin ? 0 : node)}),
      Escape: () => change({zoom: String(names.parent[zoom])}),
      Home: () => change({zoom: '0'}),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  };
  // Keeps the focus in the picture after zooming by keyboard.
  useEffect(() => {
    if (document.activeElement === document.body && state.zoom !== '0') focus(zoom);
  }, [zoom]);

  const below = useMemo(() => {
    const chosen: Weight[] = pin === 0 ? [] : all_weights.filter((weight) => tree.is_above(pin, weight.node));
    return chosen.sort((a, b) => b.value - a.value).slice(0, 8);
  }, [all_weights, pin, tree]);
  const rows_of = {sites: data.sites, locks: data.locks, syscalls: data.syscalls, cpu: data.cpu?.weights, time: data.cpu?.weights};
  const cost_share = view.unit === '% of CPU' ? `, ${format_number(middle(view.timed(tree.total[0])))} % of CPU` : '';
  const tab_of = {sites: 'sites', locks: 'locks', syscalls: 'calls', cpu: '', time: ''}[metric.table];

  return (
    <section>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <Choice label="Width shows" value={metric.name} set={(name) => change({metric: name, category: ''})}
                options={metrics.filter((metric) => rows_of[metric.table]?.length).map((metric): [string, string] => [metric.name, metric.label])} />
        <Choice label="As" value={state.layout} set={(layout) => change({layout})} options={[['icicle', 'icicle, callers above'], ['flame', 'flames, callers below']]} />
        <Choice label="Category" value={category} set={(kind) => change({category: kind})}
                options={[['', kinds.some((kind) => on_purpose.has(kind)) ? 'all but calls that wait' : 'all'], ...kinds.map((kind): [string, string] => [kind, kind])]} />
        {threads.length > 1 && (
          <Choice label="Thread" value={state.thread} set={(choice) => change({thread: choice})}
                  options={[['', 'all'], ...threads.map((thread, index): [string, string] => [String(index), thread])]} />
        )}
        <Search label="Stacks with" value={state.q} set={(q) => change({q})} />
        <button type="button" onClick={() => change({zoom: '0'})} disabled={zoom === 0}>Zoom out</button>
        <output aria-live="polite">{metric.label.replace(': ', ', ')}: {metric.format(tree.total[0])}{metric.name === 'cost' ? ` of CPU time${cost_share}` : ''}{zoom ? `; ${names.label(zoom)}: ${node_text(zoom)}` : ''}</output>
      </form>
      <p class="legend">{kinds.filter((kind) => all_weights.some((weight) => weight.category === kind)).map((kind) => <Kind key={kind} kinds={kinds} category={kind} />)}
        <small>Click or Enter: zoom and pin. Arrows: move. Space: pin. Escape: zoom out.</small></p>
      <div class="flame" ref={box} role="group" aria-label={`${metric.label}, by call stack`} onClickCapture={click} onKeyDown={key} />
      {tree.total[0] <= 0 && <p class="none">{all_weights.length ? 'No stack is like that.' : 'Nothing of this was recorded.'}</p>}
      {pin !== 0 && (
        <div class="pinned-stack">
          <div>
            <h2>Pinned: <bdi>{names.label(pin)}</bdi></h2>
            <p>{node_text(pin)} of {metric.label.toLowerCase()} <button type="button" class="link" onClick={() => change({pin: '0'})}>Unpin</button></p>
            <Stack names={names} node={pin} />
          </div>
          <div>
            {metric.table === 'sites' && below.length > 0 && <Site_details site={data.sites![below[0].index]} view={view} />}
            {below.length > 0 && tab_of && <h3>{metric.table === 'sites' ? 'Sites inside of it' : 'What it is made of'}</h3>}
            <ul class="below">
              {tab_of && below.map((child) => (
                <li key={child.node}>
                  <button type="button" class="link" onClick={() => change({tab: tab_of, site: String(child.index), q: '', category: ''})}>
                    <bdi>{names.label(child.node)}</bdi> <small><bdi>{names.location_text(names.location[child.node])}</bdi></small>
                  </button>{' '}
                  {metric.format(child.value)}
                  {metric.table === 'locks' && `, ${shown(data.locks![child.index].type)}`}
                  {metric.table === 'syscalls' && `, ${shown(data.syscalls![child.index].name)}`}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
    </section>
  );
}
