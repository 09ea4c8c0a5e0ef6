// Shows what each thread did and when: one lane per thread, with the time in each state stacked in each interval.
import type {JSX} from 'preact';
import {useMemo, useState} from 'preact/hooks';
import {Code_location, Stack} from '../parts';
import type {Lane, Lane_part, Lanes as Lanes_data} from '../recording';
import type {View} from '../view';
import {format_duration, format_number, plural, shown} from '../formatting';
import {Threads} from './threads';
import {seconds} from './timeline';
import {Wait_for_chains} from './wait_for';
import './lanes.css';

export const states = ['running', 'runnable', 'lock', 'kernel', 'sleep', 'idle', 'unknown'] as const;
type State_name = (typeof states)[number];

const explained: Record<State_name, string> = {
  running: 'running',
  runnable: 'runnable: waits for a processor',
  lock: 'waits for a lock',
  kernel: 'waits in the kernel: input, output, a page',
  sleep: 'sleeps',
  idle: 'idle: waits for work or an event',
  unknown: 'not known',
};
const first_rows = 24, max_rows = 500;
const height = 24;  // of a lane, in pixels

const colour_of_state = (state: State_name) => `var(--state-${state})`;

// The shown time, and the intervals of the lanes in it.
interface Span {
  begin: number;  // nanoseconds since the program's start
  end: number;
  starts: number[];  // of all intervals
  ends: number[];
  first: number;  // shown intervals [first, last]
  last: number;
}

function span_of(data: Lanes_data, view: View): Span | null {
  const ends = data.to_ns ?? [];
  if (ends.length === 0) return null;
  const starts = [0, ...ends.slice(0, -1)];
  const {part, course} = view;
  const begin = part ? course!.begin(part.first) * 1e9 : 0;
  const end = part ? course!.ends[part.end - 1] * 1e9 : ends[ends.length - 1];
  const first = ends.findIndex((finish) => finish > begin);
  const last = starts.findLastIndex((start) => start < end);
  return {begin, end, starts, ends, first: Math.max(0, first), last: Math.max(0, last)};
}

// Returns the time of each state in each interval.
function times_of(lane: Lane, intervals: number): Float64Array[] {
  const times = states.map(() => new Float64Array(intervals));
  for (const part of lane.activities ?? []) {
    const of_state = times[states.indexOf(part.state as State_name)];
    part.intervals?.forEach((interval, index) => { of_state[interval] += part.interval_ns![index]; });
  }
  return times;
}

// Returns the time of a part in the shown intervals.
const shown_ns = (part: Lane_part, span: Span | null) =>
  !span || !part.intervals
    ? part.ns ?? 0
    : part.intervals.reduce((sum, interval, index) => sum + (interval >= span.first && interval <= span.last ? part.interval_ns![index] : 0), 0);

// Returns for each state the outline of its time in a picture that is 1000 wide.
function outlines(times: Float64Array[], span: Span): string[] {
  const paths = states.map(() => '');
  const x = (ns: number) => (1000 * (Math.min(span.end, Math.max(span.begin, ns)) - span.begin)) / Math.max(1, span.end - span.begin);
  for (let interval = span.first; interval <= span.last; ++interval) {
    const length = Math.max(1, span.ends[interval] - span.starts[interval]);
    const left = x(span.starts[interval]).toFixed(2), right = x(span.ends[interval]).toFixed(2);
    let low = height;
    times.forEach((of_state, state) => {
      const share = Math.min(low / height, of_state[interval] / length);
      if (share < 0.004) return;
      const top = Math.max(0, low - share * height);
      paths[state] += `M${left} ${low.toFixed(2)}V${top.toFixed(2)}H${right}V${low.toFixed(2)}Z`;
      low = top;
    });
  }
  return paths;
}

function part_text(part: Lane_part, view: View): string {
  const place = part.stack ? ` at ${view.names.location_text(view.names.location[view.names.node_of(part.stack)])}` : '';
  const call = part.call ? ` in ${shown(part.call)}` : '';
  return part.state === 'lock' ? `lock${place}${part.holder !== undefined ? `, held by ${view.threads[part.holder] ?? 'another thread'}` : ''}` : `${part.state}${call}${place}`;
}

function Lane_details({lane, span, view}: {lane: Lane; span: Span | null; view: View}): JSX.Element {
  const parts = (lane.activities ?? []).map((part) => ({part, ns: shown_ns(part, span)})).filter(({ns}) => ns > 0).sort((a, b) => b.ns - a.ns);
  const whole = parts.reduce((sum, {ns}) => sum + ns, 0);
  return (
    <div class="lane-details">
      {parts.slice(0, 12).map(({part, ns}, index) => (
        <details key={index}>
          <summary>
            <i class="state" aria-hidden="true" style={{background: colour_of_state(part.state as State_name)}} />
            <strong>{format_duration(ns)}</strong> {format_number((100 * ns) / Math.max(1, whole))} %: {explained[part.state as State_name] ?? part.state}
            {part.call && <> in <code>{shown(part.call)}</code></>}
            {part.stack ? <> at <Code_location names={view.names} node={view.names.node_of(part.stack)} /></> : ''}
            {part.state === 'lock' && (part.holder !== undefined ? <>, held by <bdi>{view.threads[part.holder] ?? 'another thread'}</bdi></> : ', by a holder that is not known')}
          </summary>
          {part.stack ? <Stack names={view.names} node={part.stack} /> : <p>{part.state === 'running' ? 'Where it ran: flame graph, CPU: time.' : 'At no place, or at several.'}</p>}
        </details>
      ))}
    </div>
  );
}

export function Lanes({view}: {view: View}): JSX.Element | null {
  const data = view.data.lanes;
  const [chosen, choose] = useState(-1);
  const [shows_all, show_all] = useState(false);
  const [hint, set_hint] = useState('');
  const span = useMemo(() => (data ? span_of(data, view) : null), [data, view.part?.first, view.part?.end]);
  const rows = useMemo(() => (data?.threads ?? []).map((lane) => {
    const times = times_of(lane, data?.to_ns?.length ?? 0);
    const sums = states.map((state, index) => (span ? times[index].subarray(span.first, span.last + 1).reduce((sum, ns) => sum + ns, 0) : (lane[`${state}_ns`] ?? 0)));
    return {lane, sums, lifetime: sums.reduce((sum, ns) => sum + ns, 0), paths: span ? outlines(times, span) : []};
  }), [data, span]);
  if (!data) {
    return <section class="lanes"><h2>What each thread did</h2><p>Not recorded: <code>tarn record --cpu</code> takes the states of threads.</p></section>;
  }
  const used = states.filter((_, state) => rows.some((row) => row.sums[state] > 0));
  const visible = rows.slice(0, shows_all ? max_rows : first_rows);
  const left_out = (data.others?.threads ?? 0) + (rows.length - Math.min(rows.length, max_rows));
  // Describes the interval of a lane below the pointer.
  const look = (event: MouseEvent, lane: Lane) => {
    if (!span) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const ns = span.begin + ((event.clientX - box.left) / Math.max(1, box.width)) * (span.end - span.begin);
    const interval = Math.max(0, span.ends.findIndex((end) => end > ns));
    const length = Math.max(1, span.ends[interval] - span.starts[interval]);
    const part_texts = (lane.activities ?? [])
      .map((part) => ({part, ns: part.interval_ns?.[part.intervals!.indexOf(interval)] ?? 0}))
      .filter((time) => time.ns > 0.005 * length).sort((a, b) => b.ns - a.ns).slice(0, 3)
      .map(({part, ns: of_part}) => `${format_number(Math.min(100, (100 * of_part) / length))} % ${part_text(part, view)}`);
    set_hint(`${view.threads[lane.thread ?? 0]}, ${seconds(span.starts[interval] / 1e9)}–${seconds(span.ends[interval] / 1e9)} s: ${part_texts.join('; ') || 'not there'}`);
  };
  return (
    <section class="lanes">
      <h2>What each thread did</h2>
      <p class="legend">
        {used.map((state) => <span key={state}><i class="state" aria-hidden="true" style={{background: colour_of_state(state)}} />{explained[state]}</span>)}
      </p>
      <ol class="lane-list">
        {visible.map(({lane, sums, lifetime, paths}, row) => {
          const thread = view.threads[lane.thread ?? 0] ?? 'a thread';
          const shares = states.map((state, index) => [state, (100 * sums[index]) / Math.max(1, lifetime)] as const).filter(([, share]) => share >= 0.5).sort((a, b) => b[1] - a[1]);
          const share_text = shares.map(([state, share]) => `${format_number(share)} % ${state}`).join(', ');
          return (
            <li key={lane.thread ?? 0}>
              <button type="button" class="link" aria-expanded={chosen === row} onClick={() => choose(chosen === row ? -1 : row)}><bdi>{thread}</bdi></button>
              {span ? (
                <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label={`${thread}: ${share_text}`} onMouseMove={(event) => look(event, lane)} onClick={() => choose(chosen === row ? -1 : row)}>
                  {paths.map((path, state) => path && <path key={state} d={path} style={{fill: colour_of_state(states[state])}} />)}
                </svg>
              ) : (
                <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none" role="img" aria-label={`${thread}: ${share_text}`}>
                  {sums.map((ns, state) => <rect key={state} y={0} height={height} x={(1000 * sums.slice(0, state).reduce((sum, time) => sum + time, 0)) / Math.max(1, lifetime)} width={(1000 * ns) / Math.max(1, lifetime)} style={{fill: colour_of_state(states[state])}} />)}
                </svg>
              )}
              <span class="shares">{shares.slice(0, 2).map(([state, share]) => `${format_number(share)} % ${state}`).join(', ')}</span>
              {chosen === row && <Lane_details lane={lane} span={span} view={view} />}
            </li>
          );
        })}
      </ol>
      {span && <p class="axis" aria-hidden="true"><span>{seconds(span.begin / 1e9)} s</span><span>{seconds((span.begin + span.end) / 2e9)} s</span><span>{seconds(span.end / 1e9)} s</span></p>}
      <output>{hint || (span ? 'Point at a lane to see what it is; click it for the places. Most CPU time first.' : 'The recording has no course in time: shares of each thread’s time.')}</output>
      {!shows_all && rows.length > first_rows && <p><button type="button" class="link" onClick={() => show_all(true)}>Show {plural(Math.min(rows.length, max_rows) - first_rows, 'more thread')}</button></p>}
      {left_out > 0 && <p>{plural(left_out, 'more thread')}, with {format_duration(data.others?.running_ns)} of CPU time together: no lane on this page.</p>}
    </section>
  );
}

export function Threads_and_lanes({view}: {view: View}): JSX.Element {
  return (
    <>
      <Lanes view={view} />
      <Wait_for_chains view={view} />
      <Threads view={view} />
    </>
  );
}
