// Two recordings of one program, before and after a change: the changed sites, with what was predicted of them.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {Change_state, State} from '../address';
import {Bar, Choice, Kind, Search} from '../parts';
import type {Change, Difference, Memory_sums, Range, Side, Use, Use_changes} from '../recording';
import {Table, type Column} from '../table';
import {categories} from '../weights';
import {cut, format_bytes, format_count, format_duration, format_estimate, format_range, grouped, middle, short_function, shown} from '../formatting';
import {remedy_name} from './sites';

interface Row {
  change: Change;
  id: string;
  name: string;
  location: string;
}

const ms = ([low, high]: Range): Range => [low * 1e-6, high * 1e-6];
const format_ms = (range: Range) => `${format_range(ms(range))} ms`;
const format_saving = (range: Range) =>
  middle(range) < 0 ? `costs ${format_ms([-range[1], -range[0]])} more` : `saves ${format_ms(range)}`;

// Compares the allocations that are gone with the prediction: the model's times agree wherever the counts do.
function verdict({predicted, after}: Change): string {
  if (!predicted) return '';
  if (!after) return 'the site is gone';
  const outcome = predicted.outcome ?? 'not taken';
  return outcome === 'fewer' || outcome === 'more' ? `${outcome} than predicted` : outcome;
}

function Side_rows({title, side}: {title: string; side?: Side}): JSX.Element {
  if (!side) return <><dt>{title}</dt><dd>not there</dd></>;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <Kind kinds={categories.sites} category={side.category} />, {grouped(side.allocations)} allocations, {format_bytes(side.bytes)}; costs {format_ms(side.now_ns)}
        {!!side.copied_bytes && `; ${format_bytes(side.copied_bytes)} copied`}
        {!!side.remote_frees && `; ${grouped(side.remote_frees)} freed by other threads`}
        {!!(side.peak_bytes || side.end_bytes) && `; ${format_bytes(side.peak_bytes ?? 0)} in use at the peak, ${format_bytes(side.end_bytes ?? 0)} at the end`}
        {side.remedy && <><br />Remedy: <bdi>{shown(side.remedy)}</bdi></>}
      </dd>
    </>
  );
}

function Change_details({row}: {row: Row}): JSX.Element {
  const {change} = row;
  const longest = Math.max(ms(change.model_saved_ns)[1], ms(change.predicted?.saved_ns ?? [0, 0])[1]);
  const gone = (change.before?.allocations ?? 0) - (change.after?.allocations ?? 0);
  return (
    <>
      <h2><bdi>{row.name}</bdi></h2>
      <p class="path"><bdi>{row.location}</bdi></p>
      {change.predicted && (
        <>
          <h3>Predicted of {remedy_name(change.predicted.name)}</h3>
          <p>saves {format_ms(change.predicted.saved_ns)}</p>
          <Bar range={ms(change.predicted.saved_ns)} longest={longest} label={`predicted ${format_ms(change.predicted.saved_ns)}`} />
        </>
      )}
      <h3>Allocations{change.predicted ? `: ${verdict(change)}` : ''}</h3>
      <p>{gone >= 0 ? `${grouped(gone)} are gone` : `${grouped(-gone)} more`}{change.predicted?.is_taken && change.predicted.saved_allocations !== undefined && `; ${grouped(change.predicted.saved_allocations)} were predicted`}</p>
      <h3>Saving by the model</h3>
      <p>{format_saving(change.model_saved_ns)}</p>
      <Bar range={ms(change.model_saved_ns)} longest={longest} label={`by the model ${format_ms(change.model_saved_ns)}`} />
      <dl><Side_rows title="Before" side={change.before} /><Side_rows title="After" side={change.after} /></dl>
    </>
  );
}

// The memory of both programs, and the functions where it changed most.
function Memory_card({memory: {before, after, changes}}: {memory: NonNullable<Difference['memory']>}): JSX.Element {
  const ranges = {peak_bytes: 'peak_range', end_bytes: 'end_range'} as const;
  const change_text = (field: 'peak_bytes' | 'end_bytes', earlier?: Memory_sums, later?: Memory_sums) =>
    `${format_estimate(earlier?.[field], earlier?.[ranges[field]])} → ${format_estimate(later?.[field], later?.[ranges[field]])}`;
  return (
    <li class="card">
      <h2>Memory of the heap</h2>
      {!!(before?.peak_bytes && after?.peak_bytes) && <p>at the peak: <strong>{change_text('peak_bytes', before, after)}</strong></p>}
      <p>at the end: <strong>{change_text('end_bytes', before, after)}</strong></p>
      {(changes ?? []).slice(0, 3).map((change, index) => (
        <p key={index}><bdi>{cut(shown(short_function((change.after ?? change.before!).function ?? '')), 60) || 'without a name'}</bdi>: {change_text('peak_bytes', change.before, change.after)}; at the end {change_text('end_bytes', change.before, change.after)}</p>
      ))}
    </li>
  );
}

const busy = (use?: Use) => (use?.time_ns ?? 0) - (use?.waiting_ns ?? 0);

// The time of both programs in one kind of work, and the functions where it changed most.
function Uses_card({title, uses}: {title: string; uses?: Use_changes | null}): JSX.Element | null {
  if (!uses || (!uses.before?.time_ns && !uses.after?.time_ns)) return null;
  return (
    <li class="card">
      <h2>{title}</h2>
      <p><strong>{format_duration(busy(uses.before))} → {format_duration(busy(uses.after))}</strong></p>
      {!!(uses.before?.waiting_ns || uses.after?.waiting_ns) && <p>and in calls that wait: <strong>{format_duration(uses.before?.waiting_ns)} → {format_duration(uses.after?.waiting_ns)}</strong></p>}
      {(uses.changes ?? []).slice(0, 3).map(({before, after}, index) => (
        <p key={index}><bdi>{cut(shown(short_function((after ?? before)?.function ?? '')), 60) || 'without a name'}</bdi>: {format_duration(before?.time_ns)} → {format_duration(after?.time_ns)}</p>
      ))}
    </li>
  );
}

export function Changes({difference, state, change}: {difference: Difference; state: State; change: Change_state}): JSX.Element {
  const all_rows = useMemo<Row[]>(() => (difference.changes ?? []).map((change, index) => {
    const side = change.after ?? change.before!;
    const file = side.file ?? '';
    return {change: change, id: String(index), name: cut(shown(short_function(side.function ?? '')), 200) || 'without a name',
            location: shown(file.slice(file.lastIndexOf('/') + 1)) + (side.line ? `:${side.line}` : '')};
  }), [difference]);
  const rows = useMemo(() => all_rows.filter((row) =>
    (!state.q || `${row.name} ${row.location}`.toLowerCase().includes(state.q.toLowerCase())) &&
    (!state.category || [row.change.before, row.change.after].some((side) => side?.category === state.category))), [all_rows, state.q, state.category]);
  const columns: Column<Row>[] = [
    {name: 'location', label: 'Site', is_text: true, value: (row) => row.name.toLowerCase(), cell: (row) => <span class="location"><bdi>{row.name}</bdi> <small><bdi>{row.location}</bdi></small></span>},
    {name: 'before', label: 'Blocks before', is_minor: true, value: ({change: row}) => row.before?.allocations ?? 0, cell: ({change: row}) => (row.before ? format_count(row.before.allocations) : 'new')},
    {name: 'after', label: 'After', is_minor: true, value: ({change: row}) => row.after?.allocations ?? 0, cell: ({change: row}) => (row.after ? format_count(row.after.allocations) : 'gone')},
    {name: 'predicted', label: 'Predicted, ms', value: ({change: row}) => (row.predicted ? middle(row.predicted.saved_ns) : -1), cell: ({change: row}) => (row.predicted ? format_range(ms(row.predicted.saved_ns)) : '–')},
    {name: 'model', label: 'Saving by the model, ms', value: ({change: row}) => Math.abs(middle(row.model_saved_ns)),
     cell: ({change: row}) => <span class={middle(row.model_saved_ns) < 0 ? 'risk' : 'good'}>{format_range(ms(row.model_saved_ns))}</span>},
    {name: 'verdict', label: 'Allocations gone', is_text: true, is_minor: true, value: (row) => verdict(row.change), cell: (row) => verdict(row.change)},
  ];
  const longest = Math.max(ms(difference.heap_ns.before)[1], ms(difference.heap_ns.after)[1]);
  const saved = difference.saved_cpu_ns;
  const gain = Math.max(ms(difference.predicted_ns)[1], ms(saved ?? [0, 0])[1], 1e-9);
  return (
    <>
      {(difference.notes ?? []).map((note, index) => <p key={index}>Note: {shown(note)}.</p>)}
      <ul class="cards first">
        {difference.allocations && <li class="card">
          <h2>The heap cost, by the model</h2>
          <p>before: <strong>{format_ms(difference.heap_ns.before)}</strong></p><Bar range={ms(difference.heap_ns.before)} longest={longest} label={`before ${format_ms(difference.heap_ns.before)}`} />
          <p>after: <strong>{format_ms(difference.heap_ns.after)}</strong></p><Bar range={ms(difference.heap_ns.after)} longest={longest} label={`after ${format_ms(difference.heap_ns.after)}`} />
        </li>}
        <li class="card">
          <h2>CPU time</h2>
          <p>predicted: <strong>{format_saving(difference.predicted_ns)}</strong></p><Bar range={ms(difference.predicted_ns)} longest={gain} label={`predicted ${format_ms(difference.predicted_ns)}`} />
          {saved ? <><p>measured: <strong>{format_saving(saved)}</strong></p><Bar range={ms(saved)} longest={gain} label={`measured ${format_ms(saved)}`} /></> : <p>measured: <strong>cannot be compared</strong></p>}
        </li>
        {difference.allocations && <li class="card">
          <h2>Allocations</h2>
          {Object.entries(difference.allocations).map(([category, sides]) => (
            <p key={category}><Kind kinds={categories.sites} category={category} />: {format_count(sides.before)} → <strong>{format_count(sides.after)}</strong></p>
          ))}
        </li>}
        {difference.allocations && difference.memory && <Memory_card memory={difference.memory} />}
        <Uses_card title="Sampled on the processor" uses={difference.cpu} />
        <Uses_card title="Waits of threads" uses={difference.waits} />
        <Uses_card title="Waits for locks" uses={difference.locks} />
        <Uses_card title="System calls" uses={difference.syscalls} />
      </ul>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Category" value={state.category} set={(category) => change({category})} options={[['', 'all'], ...categories.sites.map((site): [string, string] => [site, site])]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all_rows.length)} sites that changed</output>
      </form>
      <Table label="Changes" rows={rows} columns={columns} sort="model" state={state} change={change} id={(row) => row.id}
             details={(row) => <Change_details row={row} />} empty_text={all_rows.length ? 'No change is like that.' : 'No site changed.'} />
    </>
  );
}
