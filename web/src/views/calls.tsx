// System calls, by site.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import {Choice, Kind, Code_location, Search, Stack} from '../parts';
import type {Call} from '../recording';
import {Table, type Column} from '../table';
import type {View} from '../view';
import {categories} from '../weights';
import {format_bytes, format_count, format_duration, format_error, grouped, plural, shown} from '../formatting';

interface Row {
  call: Call;
  id: string;
}

function Call_details({call, view}: {call: Call; view: View}): JSX.Element {
  const count = Math.max(1, call.count ?? 0);
  return (
    <>
      <h2>{shown(call.name)}, {call.category}</h2>
      <p>
        {grouped(call.count)}{format_error(call.error)} calls by {call.may_have_more_threads ? 'at least ' : ''}{plural(call.threads ?? 0, 'thread')}, {grouped(call.errors)} failed; {format_duration(call.time_ns)} in them (running, runnable or blocked),{' '}
        {format_duration((call.time_ns ?? 0) / count)} each.
      </p>
      <h3>Remedy</h3>
      <p>{call.remedy ? shown(call.remedy) : 'Nothing to gain here: leave it as it is.'}</p>
      <dl>
        {!!call.bytes_asked && <><dt>Bytes asked for</dt><dd>{format_bytes(call.bytes_asked)}, {format_bytes(call.bytes_asked / count)} a call</dd></>}
        {!!call.bytes && <><dt>Bytes given</dt><dd>{format_bytes(call.bytes)}, {format_bytes(call.bytes / count)} a call</dd></>}
        <dt>With the arguments of the one before</dt><dd>{grouped(call.same_arguments)}</dd>
        <dt>Right after another of this site</dt><dd>{grouped(call.in_a_row)}</dd>
      </dl>
      <h3>Call stack</h3>
      <Stack names={view.names} node={call.stack ?? 0} mark={view.names.node_of(call.stack)} />
    </>
  );
}

const min_unfinished_ns = 100e6;  // shorter ones may be part of normal work
const shown_unfinished = 5;

function Unfinished_calls({view: {data, names, threads}}: {view: View}): JSX.Element | null {
  const calls = (data.unfinished_calls ?? []).filter((call) => (call.time_ns ?? 0) >= min_unfinished_ns);
  if (calls.length === 0) return null;
  return (
    <details class="unfinished">
      <summary>{plural(calls.length, 'call')} had not returned when the recording ended, up to {format_duration(calls[0].time_ns)} so far</summary>
      {calls.slice(0, shown_unfinished).map((call, index) => (
        <div class="holder" key={index}>
          <p>{format_duration(call.time_ns)} so far: <strong><bdi>{shown(call.name)}</bdi></strong>, <bdi>{threads[call.thread ?? 0] ?? 'a thread'}</bdi></p>
          <Stack names={names} node={call.stack ?? 0} mark={names.node_of(call.stack)} />
        </div>
      ))}
      {calls.length > shown_unfinished && <p>And {plural(calls.length - shown_unfinished, 'more call')}.</p>}
    </details>
  );
}

export function Calls({view}: {view: View}): JSX.Element {
  const {data, names, state, change} = view;
  const all_rows = useMemo<Row[]>(() => (data.syscalls ?? []).map((call, index) => ({call, id: String(index)})), [data]);
  const rows = useMemo(() => {
    const has = names.with_text(state.q);
    return all_rows.filter(({call}) =>
      (!view.part || call.count) &&
      (!state.category || call.category === state.category) && (!state.remedy || call.remedy) &&
      (!has || call.name.includes(state.q) || has[call.stack ?? 0]));
  }, [all_rows, state.q, state.category, state.remedy]);
  const columns: Column<Row>[] = [
    {name: 'call', label: 'Call', is_text: true, value: ({call}) => call.name, cell: ({call}) => <strong><bdi>{shown(call.name)}</bdi></strong>},
    {name: 'location', label: 'From', is_text: true, value: ({call}) => names.label(names.node_of(call.stack)).toLowerCase(), cell: ({call}) => <Code_location names={names} node={names.node_of(call.stack)} />},
    {name: 'category', label: 'Category', is_text: true, is_minor: true, value: ({call}) => call.category, cell: ({call}) => <Kind kinds={categories.syscalls} category={call.category} />},
    {name: 'time', label: 'Time', value: ({call}) => call.time_ns ?? 0, cell: ({call}) => format_duration(call.time_ns)},
    {name: 'count', label: 'Calls', value: ({call}) => call.count ?? 0, cell: ({call}) => format_count(call.count)},
    {name: 'bytes', label: 'Bytes a call', is_minor: true, value: ({call}) => (call.bytes ?? 0) / (call.count || 1), cell: ({call}) => (call.bytes ? format_bytes(call.bytes / (call.count || 1)) : '–')},
    {name: 'same', label: 'Repeats', title: 'With the arguments of the one before', is_minor: true, value: ({call}) => call.same_arguments ?? 0, cell: ({call}) => format_count(call.same_arguments)},
    {name: 'errors', label: 'Failed', is_minor: true, value: ({call}) => call.errors ?? 0, cell: ({call}) => format_count(call.errors)},
    {name: 'remedy', label: 'Remedy', is_text: true, is_minor: true, value: ({call}) => call.remedy ?? '~', cell: ({call}) => shown(call.remedy ?? '–')},
  ];
  return (
    <section>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Category" value={state.category} set={(category) => change({category})} options={[['', 'all'], ...categories.syscalls.map((call): [string, string] => [call, call])]} />
        <Choice label="Show" value={state.remedy} set={(remedy) => change({remedy})} options={[['', 'all calls'], ['yes', 'with a remedy']]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all_rows.length)} calls</output>
      </form>
      <Unfinished_calls view={view} />
      <Table label="System calls" rows={rows} columns={columns} sort="time" state={state} change={change} id={(row) => row.id}
             details={({call}) => <Call_details call={call} view={view} />} empty_text={all_rows.length ? 'No call is like that.' : 'No system call was recorded: tarn record --syscalls.'} />
    </section>
  );
}
