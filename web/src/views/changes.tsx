// Two recordings of one program, before and after a change: what changed, predicted beside achieved.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {Change_state, State} from '../address';
import {Bar, Choice, Kind, Search} from '../parts';
import type {Change, Difference, Range, Side} from '../recording';
import {Table, type Column} from '../table';
import {categories} from '../weights';
import {bytes_words, count_words, cut, grouped, middle, range_words, short_function, shown} from '../words';
import {remedy_name} from './sites';

interface Row {
  change: Change;
  id: string;
  name: string;
  where: string;
}

const ms = ([low, high]: Range): Range => [low * 1e-6, high * 1e-6];
const ms_words = (range: Range) => `${range_words(ms(range))} ms`;
const saved_words = (range: Range) =>
  middle(range) < 0 ? `costs ${ms_words([-range[1], -range[0]])} more` : `saves ${ms_words(range)}`;

function verdict({predicted, achieved_ns}: Change): string {
  if (!predicted) return '';
  if (predicted.holds) return 'as predicted';
  if (achieved_ns[1] < predicted.saved_ns[0]) return 'less than predicted';
  return achieved_ns[0] > predicted.saved_ns[1] ? 'more than predicted' : 'but it was not taken';
}

function Side_words({title, side}: {title: string; side?: Side}): JSX.Element {
  if (!side) return <><dt>{title}</dt><dd>not there</dd></>;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <Kind kinds={categories.sites} category={side.category} />, {grouped(side.allocations)} allocations, {bytes_words(side.bytes)}; costs {ms_words(side.now_ns)}
        {!!side.copied_bytes && `; ${bytes_words(side.copied_bytes)} copied`}
        {!!side.hand_overs && `; ${grouped(side.hand_overs)} freed by other threads`}
        {side.remedy && <><br />Remedy: <bdi>{shown(side.remedy)}</bdi></>}
      </dd>
    </>
  );
}

function Change_details({row}: {row: Row}): JSX.Element {
  const {change} = row;
  const most = Math.max(ms(change.achieved_ns)[1], ms(change.predicted?.saved_ns ?? [0, 0])[1]);
  return (
    <>
      <h2><bdi>{row.name}</bdi></h2>
      <p class="path"><bdi>{row.where}</bdi></p>
      {change.predicted && (
        <>
          <h3>Predicted of {remedy_name(change.predicted.name)}</h3>
          <p>saves {ms_words(change.predicted.saved_ns)}</p>
          <Bar range={ms(change.predicted.saved_ns)} most={most} label={`predicted ${ms_words(change.predicted.saved_ns)}`} />
        </>
      )}
      <h3>Achieved{change.predicted ? `: ${verdict(change)}` : ''}</h3>
      <p>{saved_words(change.achieved_ns)}</p>
      <Bar range={ms(change.achieved_ns)} most={most} label={`achieved ${ms_words(change.achieved_ns)}`} />
      <dl><Side_words title="Before" side={change.before} /><Side_words title="After" side={change.after} /></dl>
    </>
  );
}

export function Changes({of, state, change}: {of: Difference; state: State; change: Change_state}): JSX.Element {
  const all = useMemo<Row[]>(() => (of.changes ?? []).map((each, at) => {
    const side = each.after ?? each.before!;
    const file = side.file ?? '';
    return {change: each, id: String(at), name: cut(shown(short_function(side.function ?? '')), 200) || 'without a name',
            where: shown(file.slice(file.lastIndexOf('/') + 1)) + (side.line ? `:${side.line}` : '')};
  }), [of]);
  const rows = useMemo(() => all.filter((row) =>
    (!state.q || `${row.name} ${row.where}`.toLowerCase().includes(state.q.toLowerCase())) &&
    (!state.category || [row.change.before, row.change.after].some((side) => side?.category === state.category))), [all, state.q, state.category]);
  const columns: Column<Row>[] = [
    {name: 'place', label: 'Site', is_text: true, value: (row) => row.name.toLowerCase(), cell: (row) => <span class="place"><bdi>{row.name}</bdi> <small><bdi>{row.where}</bdi></small></span>},
    {name: 'before', label: 'Blocks before', is_minor: true, value: ({change: each}) => each.before?.allocations ?? 0, cell: ({change: each}) => (each.before ? count_words(each.before.allocations) : 'new')},
    {name: 'after', label: 'After', is_minor: true, value: ({change: each}) => each.after?.allocations ?? 0, cell: ({change: each}) => (each.after ? count_words(each.after.allocations) : 'gone')},
    {name: 'predicted', label: 'Predicted, ms', value: ({change: each}) => (each.predicted ? middle(each.predicted.saved_ns) : -1), cell: ({change: each}) => (each.predicted ? range_words(ms(each.predicted.saved_ns)) : '–')},
    {name: 'achieved', label: 'Achieved, ms', value: ({change: each}) => Math.abs(middle(each.achieved_ns)),
     cell: ({change: each}) => <span class={middle(each.achieved_ns) < 0 ? 'risk' : 'good'}>{range_words(ms(each.achieved_ns))}</span>},
    {name: 'verdict', label: 'Held', is_text: true, is_minor: true, value: (row) => verdict(row.change), cell: (row) => verdict(row.change)},
  ];
  const most = Math.max(ms(of.heap_ns.before)[1], ms(of.heap_ns.after)[1]);
  const gain = Math.max(ms(of.predicted_ns)[1], ms(of.saved_cpu_ns)[1], 1e-9);
  return (
    <>
      <ul class="cards first">
        <li class="card">
          <h2>The heap cost</h2>
          <p>before: <strong>{ms_words(of.heap_ns.before)}</strong></p><Bar range={ms(of.heap_ns.before)} most={most} label={`before ${ms_words(of.heap_ns.before)}`} />
          <p>after: <strong>{ms_words(of.heap_ns.after)}</strong></p><Bar range={ms(of.heap_ns.after)} most={most} label={`after ${ms_words(of.heap_ns.after)}`} />
        </li>
        <li class="card">
          <h2>Processor time</h2>
          <p>predicted: <strong>{saved_words(of.predicted_ns)}</strong></p><Bar range={ms(of.predicted_ns)} most={gain} label={`predicted ${ms_words(of.predicted_ns)}`} />
          <p>achieved: <strong>{saved_words(of.saved_cpu_ns)}</strong></p><Bar range={ms(of.saved_cpu_ns)} most={gain} label={`achieved ${ms_words(of.saved_cpu_ns)}`} />
        </li>
        <li class="card">
          <h2>Allocations</h2>
          {Object.entries(of.allocations).map(([category, sides]) => (
            <p key={category}><Kind kinds={categories.sites} category={category} />: {count_words(sides.before)} → <strong>{count_words(sides.after)}</strong></p>
          ))}
        </li>
      </ul>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Category" value={state.category} set={(category) => change({category})} options={[['', 'all'], ...categories.sites.map((each): [string, string] => [each, each])]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all.length)} sites that changed</output>
      </form>
      <Table label="Changes" rows={rows} columns={columns} sort="achieved" state={state} change={change} id={(row) => row.id}
             details={(row) => <Change_details row={row} />} none={all.length ? 'No change is like that.' : 'No site changed.'} />
    </>
  );
}
