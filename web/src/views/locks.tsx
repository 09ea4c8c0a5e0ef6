// Locks: the waiting threads, the holders, and where the holders acquired the lock.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import {Choice, Kind, Code_location, Search, Stack} from '../parts';
import type {Lock} from '../recording';
import {Table, type Column} from '../table';
import type {View} from '../view';
import {categories} from '../weights';
import {Lasting_waits} from './lasting_waits';
import {Orders} from './orders';
import {format_count, format_duration, format_error, grouped, plural, shown} from '../formatting';

interface Row {
  lock: Lock;
  id: string;
}

const shown_sites = 6, shown_waits = 6;

function Lock_details({lock, view}: {lock: Lock; view: View}): JSX.Element {
  const {names, threads} = view;
  const holds = (lock.holds ?? 0) + (lock.still_held ?? 0);
  const mean = holds ? (lock.held_ns ?? 0) / holds : 0;
  const sites = lock.sites ?? [];
  return (
    <>
      <h2>{plural(lock.locks ?? 1, lock.type)}, {lock.category}</h2>
      <p>
        Taken {grouped(lock.acquisitions)}{format_error(lock.error)} {lock.acquisitions === 1 ? 'time' : 'times'} by {lock.may_have_more_threads ? 'at least ' : ''}{plural(lock.threads ?? 0, 'thread')}; {grouped((lock.waited_count ?? 0) + (lock.still_waiting?.length ?? 0))} waited {format_duration(lock.waited_ns)} together,{' '}
        {format_duration(lock.longest_wait_ns)} at most. Held {format_duration(mean)} each, {format_duration(lock.longest_held_ns)} at most.
        {lock.refused ? ` ${grouped(lock.refused)} tries gave up.` : ''}
        {lock.still_held ? ' It was still held at the end.' : ''}
      </p>
      {!!lock.still_waiting?.length && <Unfinished_waits lock={lock} view={view} />}
      <h3>Remedy</h3>
      <p>{lock.remedy ? shown(lock.remedy) : 'Nothing to gain here: leave it as it is.'}</p>
      {lock.calls_inside?.map((call, index) => (
        <p key={index}>Inside: {call.name}, {format_duration(call.time_ns)}, at <Code_location names={names} node={names.node_of(call.stack)} /></p>
      ))}
      <h3>Who waits for whom</h3>
      {!sites.some((site) => site.waits?.length) && <p>Nobody was seen to wait for a holder.</p>}
      {sites.slice(0, shown_sites).map((site, index) => (
        <details key={index} open={index === 0}>
          <summary><Code_location names={names} node={names.node_of(site.stack)} /> taken {format_count(site.acquisitions)}{format_error(site.error)} {site.acquisitions === 1 ? 'time' : 'times'}, waited {format_duration(site.waited_ns)}</summary>
          <Stack names={names} node={site.stack ?? 0} />
          {site.waits?.slice(0, 4).map((wait, number) => (
            <div class="holder" key={number}>
              <p>{format_duration(wait.waited_ns)} in {plural(wait.waits ?? 0, 'wait')} while <strong>{threads[wait.holder ?? 0] ?? 'another thread'}</strong> held it, from</p>
              <Stack names={names} node={wait.stack ?? 0} />
            </div>
          ))}
        </details>
      ))}
      {sites.length > shown_sites && <p>And {plural(sites.length - shown_sites, 'more location')} that take it.</p>}
      <p>First used at <Code_location names={names} node={names.node_of(lock.stack)} /></p>
    </>
  );
}

function Unfinished_waits({lock, view}: {lock: Lock; view: View}): JSX.Element {
  const {names, threads} = view;
  const waits = lock.still_waiting ?? [];
  return (
    <div class="unfinished">
      <h3>Still waiting at the end</h3>
      {waits.slice(0, shown_waits).map((wait, index) => {
        const has_holder = !!wait.held_from || wait.holder !== undefined;
        const is_itself = has_holder && (wait.holder ?? 0) === (wait.thread ?? 0);
        const holder = <bdi>{threads[wait.holder ?? 0] ?? 'another thread'}</bdi>;
        return (
          <div class="holder" key={index}>
            <p>
              <strong><bdi>{threads[wait.thread ?? 0] ?? 'a thread'}</bdi></strong> waited {format_duration(wait.waited_ns)} so far
              {!has_holder ? '' : is_itself ? ', for itself: it held the lock already' : <>, for {holder}{wait.is_deadlock && <strong class="risk">, which waited for it in turn</strong>}</>}. It waits at
            </p>
            <Stack names={names} node={wait.stack ?? 0} />
            {wait.held_from && <p>{is_itself ? 'It' : holder} has held the lock since it took it at</p>}
            {wait.held_from && <Stack names={names} node={wait.held_from.stack ?? 0} />}
          </div>
        );
      })}
      {waits.length > shown_waits && <p>And {plural(waits.length - shown_waits, 'more thread')} still waited.</p>}
    </div>
  );
}

export function Locks({view}: {view: View}): JSX.Element {
  const {data, names, state, change} = view;
  const all_rows = useMemo<Row[]>(() => (data.locks ?? []).map((lock, index) => ({lock, id: String(index)})), [data]);
  const rows = useMemo(() => {
    const has = names.with_text(state.q);
    return all_rows.filter(({lock}) =>
      (!view.part || lock.acquisitions || lock.refused || lock.waited_ns) &&
      (!state.category || lock.category === state.category) &&
      (!has || has[lock.stack ?? 0] || (lock.sites ?? []).some((site) => has[site.stack ?? 0])));
  }, [all_rows, state.q, state.category]);
  const columns: Column<Row>[] = [
    {name: 'location', label: 'First used at', is_text: true, value: ({lock}) => names.label(names.node_of(lock.stack)).toLowerCase(), cell: ({lock}) => <Code_location names={names} node={names.node_of(lock.stack)} />},
    {name: 'type', label: 'Type', is_text: true, is_minor: true, value: ({lock}) => lock.type, cell: ({lock}) => lock.type},
    {name: 'category', label: 'Category', is_text: true, is_minor: true, value: ({lock}) => lock.category, cell: ({lock}) => <Kind kinds={categories.locks} category={lock.category} />},
    {name: 'waited', label: 'Waited', value: ({lock}) => lock.waited_ns ?? 0, cell: ({lock}) => format_duration(lock.waited_ns)},
    {name: 'waited_count', label: 'Waits', is_minor: true, value: ({lock}) => lock.waited_count ?? 0, cell: ({lock}) => `${format_count(lock.waited_count)}${lock.still_waiting?.length ? `, and ${grouped(lock.still_waiting.length)} without end` : ''}`},
    {name: 'longest', label: 'Longest', is_minor: true, value: ({lock}) => lock.longest_wait_ns ?? 0, cell: ({lock}) => format_duration(lock.longest_wait_ns)},
    {name: 'taken', label: 'Taken', value: ({lock}) => lock.acquisitions ?? 0, cell: ({lock}) => format_count(lock.acquisitions)},
    {name: 'held', label: 'Held', is_minor: true, value: ({lock}) => lock.held_ns ?? 0, cell: ({lock}) => format_duration(lock.held_ns)},
    {name: 'remedy', label: 'Remedy', is_text: true, is_minor: true, value: ({lock}) => lock.remedy ?? '~', cell: ({lock}) => shown(lock.remedy ?? '–')},
  ];
  return (
    <section>
      <Lasting_waits view={view} />
      <Orders view={view} />
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Category" value={state.category} set={(category) => change({category})} options={[['', 'all'], ...categories.locks.map((lock): [string, string] => [lock, lock])]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all_rows.length)} lock sites</output>
      </form>
      <Table label="Locks" rows={rows} columns={columns} sort="waited" state={state} change={change} id={(row) => row.id}
             details={({lock}) => <Lock_details lock={lock} view={view} />} empty_text={all_rows.length ? 'No lock is like that.' : 'No lock was recorded: tarn record --locks.'} />
    </section>
  );
}
