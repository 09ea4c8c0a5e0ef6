// The table of allocation sites, and the details of one.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {View} from '../view';
import type {Site} from '../recording';
import {Bar, Choice, Histogram, Kind, Code_location, Search, Stack} from '../parts';
import {Table, type Column} from '../table';
import {categories, stacks_of} from '../weights';
import {format_bytes, format_count, format_duration, format_error, format_middle, grouped, middle, plural, shown} from '../formatting';

const shown_stacks = 8;

interface Row {
  site: Site;
  id: string;
  node: number;  // the function to change
}

const powers = (count: number, word: (index: number) => string) => Array.from({length: count}, (_, index) => word(index));
const size_labels = powers(16, (index) => (index === 15 ? '> 256K' : index < 6 ? `${16 << index}` : `${1 << (index - 6)}K`));
const lifetime_labels = powers(12, (index) => (index === 0 ? '0' : index < 6 ? `< ${4 ** index}` : index === 11 ? '> 1M' : `< ${4 ** index / 1024}K`));
const time_labels = (tick_ns: number) => powers(12, (index) => (index === 11 ? 'more' : `< ${format_duration(1024 * 8 ** index * tick_ns)}`));

export const remedy_name = (name = '') => ({drop_in: 'tarn run', shared_pool: 'shared_pool<T>', pooled: 'pooled<T>', recycle: 'recycle<T>()'})[name] ?? name;

const size_text = ({size_histogram: sizes}: Site) => {
  const first = sizes.findIndex((count) => count > 0), last = sizes.findLastIndex((count) => count > 0);
  return first < 0 ? '' : first === last ? `up to ${size_labels[last]} bytes` : `${size_labels[first]} to ${size_labels[last]} bytes`;
};
const is_short_lived = (site: Site) => (site.short_lived ?? 0) >= 0.9 * (site.freed_by_same_thread ?? 0);

// Returns what tells sites apart that have one name and location: the category, the sizes, or how long blocks live.
export function site_details({data, names}: View): string[] {
  const sites = data.sites ?? [];
  const titles = sites.map((site) => {
    const node = names.above(site.stack, site.frame_index ?? 0);
    return `${names.label(node)} ${names.location_text(names.location[node])}`;
  });
  const details = sites.map(() => '');
  for (const detail_of of [(site: Site) => site.category, size_text, (site: Site) => (is_short_lived(site) ? 'short-lived' : 'longer-lived')]) {
    const details_by_key = new Map<string, Set<string>>();
    const key = (index: number) => titles[index] + details[index];
    const keys = sites.map((_, index) => key(index));
    sites.forEach((site, index) => details_by_key.set(keys[index], (details_by_key.get(keys[index]) ?? new Set()).add(detail_of(site))));
    sites.forEach((site, index) => {
      if (details_by_key.get(keys[index])!.size > 1) details[index] += `, ${detail_of(site)}`;
    });
  }
  return details;
}

export function Site_details({site, view}: {site: Site; view: View}): JSX.Element {
  const {names, threads, timed} = view;
  const stack = names.stack(site.stack);
  const location = names.above(site.stack, site.frame_index ?? 0);
  const remedies = site.predicted.remedies ?? [];
  const others = stacks_of(site).filter(([node]) => node !== (site.stack ?? 0)).sort((a, b) => b[1] - a[1]);
  const longest = Math.max(...remedies.map((remedy) => timed(remedy.saved_ns)[1]), 1e-9);
  const frees = (site.freed_by_same_thread ?? 0) + (site.remote_frees ?? 0);
  return (
    <>
      <h2>{location ? <bdi>{names.label(location)}</bdi> : "Sites beyond the recorder's limit"}</h2>
      {location > 0 && <p class="path"><bdi>{names.path(names.location[location])}</bdi></p>}
      {site.source_line && <pre class="source" tabIndex={0}><bdi>{shown(site.source_line)}</bdi></pre>}
      <p>
        <Kind kinds={categories.sites} category={site.category} />: {grouped(site.allocations)} allocations
        {format_error(site.error)}{site.type ? <> of <bdi>{shown(site.type)}</bdi></> : ''},{' '}
        {format_bytes(site.bytes)}; costs {view.format_cost(site.predicted.now_ns)}.
      </p>
      <h3>Remedies</h3>
      {site.unjudged_remedy && <p>note: {site.unjudged_remedy}.</p>}
      {remedies.length === 0 && <p>{site.remedy ? shown(site.remedy) : 'Nothing to gain here: leave it as it is.'}</p>}
      <ol class="remedies">
        {remedies.map((remedy) => (
          <li key={remedy.name}>
            <strong>{view.format_gain(remedy)}</strong> <Bar range={timed(remedy.saved_ns)} longest={longest} label={view.format_gain(remedy)} />
            <div><bdi>{remedy.advice ? shown(remedy.advice) : remedy_name(remedy.name)}</bdi></div>
            {remedy.code && <pre tabIndex={0}><bdi>{shown(remedy.code)}</bdi></pre>}
            {remedy.note && <div class="risk">note: <bdi>{shown(remedy.note)}</bdi></div>}
          </li>
        ))}
      </ol>
      {site.predicted.reasons && <p class="why">The ranges are wide because: {site.predicted.reasons.join('; ')}.</p>}
      <h3>Blocks{view.part ? ', of the whole run' : ''}</h3>
      <Histogram title="By size, bytes up to" values={site.size_histogram} labels={size_labels} />
      <Histogram title="By lifetime, allocations of the thread in between" values={site.lifetime_histogram} labels={lifetime_labels} />
      <Histogram title="By lifetime, time (sampled blocks)" values={site.time_histogram} labels={time_labels(view.data.tick_ns ?? 1)} />
      <dl>
        <dt>Freed</dt>
        <dd>{frees === 0 ? 'none' : `${grouped(site.freed_by_same_thread)} by the thread that allocated, ${grouped(site.remote_frees)} by others`}</dd>
        {!!site.end_blocks && <><dt>In use at the end</dt><dd>{grouped(site.end_blocks)}</dd></>}
        {!!site.reallocs && <><dt>Grown by realloc</dt><dd>{plural(site.reallocs, 'time')}, {grouped(site.moved_reallocs)} moved, {format_bytes(site.copied_bytes)} copied</dd></>}
        {(site.by_thread?.length ?? 0) > 0 && <><dt>Threads</dt><dd>{site.by_thread!.slice(0, 8).map(([thread, blocks]) => `${threads[thread]}: ${format_count(blocks)}`).join('; ')}</dd></>}
        {site.thread_pairs?.slice(0, 5).map((pair) => (
          <><dt>Handed over</dt><dd>{threads[pair.allocating_thread ?? 0]} → {threads[pair.freeing_thread ?? 0]}: {format_count(pair.blocks)}</dd></>
        ))}
      </dl>
      <h3>Call stack</h3>
      <Stack names={names} node={site.stack ?? 0} mark={location} />
      {others.length > 0 && <h3>{grouped(others.length)} more stacks end there</h3>}
      {others.slice(0, shown_stacks).map(([node, blocks]) => (
        <details key={node}><summary>{format_count(blocks)} blocks</summary><Stack names={names} node={node} /></details>
      ))}
      {stack.length > 0 && <p><button type="button" class="link" onClick={() => view.change({tab: 'flame', metric: 'cost', pin: String(site.stack ?? 0), zoom: '0', q: '', category: '', thread: ''})}>Show it in the flame graph</button></p>}
    </>
  );
}

export function Sites({view}: {view: View}): JSX.Element {
  const {data, names, threads, state, change} = view;
  const all_rows = useMemo<Row[]>(() => (data.sites ?? []).map((site, index) => ({site, id: String(index), node: names.above(site.stack, site.frame_index ?? 0)})), [data]);
  const rows = useMemo(() => {
    const has = names.with_text(state.q);
    return all_rows.filter(({site}) =>
      (!view.part || site.allocations || site.freed_by_same_thread || site.remote_frees) &&
      (!state.category || site.category === state.category) &&
      (!state.remedy || (site.predicted.remedies?.length ?? 0) > 0) &&
      (!state.thread || site.by_thread?.some(([thread]) => String(thread) === state.thread)) &&
      (!has || stacks_of(site).some(([stack]) => has[stack])));
  }, [all_rows, state.q, state.category, state.thread, state.remedy]);
  const details = useMemo(() => site_details(view), [data]);
  const best = (row: Row) => row.site.predicted.remedies?.[0];
  const columns: Column<Row>[] = [
    {name: 'location', label: 'Site', is_text: true, value: (row) => names.label(row.node).toLowerCase(),
     cell: (row) => <Code_location names={names} node={row.node} detail={details[Number(row.id)]} />},
    {name: 'category', label: 'Category', is_text: true, is_minor: true, value: (row) => row.site.category,
     cell: (row) => <Kind kinds={categories.sites} category={row.site.category} />},
    {name: 'cost', label: `Costs, ${view.unit}`, value: (row) => middle(row.site.predicted.now_ns),
     cell: (row) => format_middle(view.timed(row.site.predicted.now_ns))},
    {name: 'gain', label: `Saves, ${view.unit}`, value: (row) => (best(row) ? middle(best(row)!.saved_ns) : -1),
     cell: (row) => (best(row) ? format_middle(view.timed(best(row)!.saved_ns)) : '–')},
    {name: 'remedy', label: 'Remedy', is_text: true, is_minor: true, value: (row) => best(row)?.name ?? '~',
     cell: (row) => remedy_name(best(row)?.name)},
    {name: 'allocations', label: 'Blocks', is_minor: true, value: (row) => row.site.allocations ?? 0, cell: (row) => format_count(row.site.allocations)},
    {name: 'bytes', label: 'Bytes', is_minor: true, value: (row) => row.site.bytes ?? 0, cell: (row) => format_bytes(row.site.bytes)},
    {name: 'handed', label: 'Remote frees', title: 'Blocks that another thread freed', is_minor: true,
     value: (row) => row.site.remote_frees ?? 0, cell: (row) => format_count(row.site.remote_frees)},
  ];
  return (
    <section>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Category" value={state.category} set={(category) => change({category})}
                options={[['', 'all'], ...categories.sites.map((site): [string, string] => [site, site])]} />
        {threads.length > 1 && <Choice label="Thread" value={state.thread} set={(thread) => change({thread})}
                options={[['', 'all'], ...threads.map((thread, index): [string, string] => [String(index), thread])]} />}
        <Choice label="Show" value={state.remedy} set={(remedy) => change({remedy})} options={[['', 'all sites'], ['yes', 'with a remedy']]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all_rows.length)} sites</output>
      </form>
      <Table label="Allocation sites" rows={rows} columns={columns} sort="cost" state={state} change={change} id={(row) => row.id}
             details={(row) => <Site_details site={row.site} view={view} />}
             empty_text={all_rows.length ? 'No site is like that.' : 'The recording has no allocation.'} />
    </section>
  );
}
