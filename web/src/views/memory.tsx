// The memory of each site at the peak and at the end, and whether it grows.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import {Choice, Code_location, Search} from '../parts';
import type {Range, Site} from '../recording';
import {Table, type Column} from '../table';
import type {View} from '../view';
import {stacks_of} from '../weights';
import {format_bytes, format_count, format_estimate, format_number, grouped, is_estimate} from '../formatting';
import {Site_details, site_details} from './sites';
import {seconds} from './timeline';

interface Row {
  site: Site;
  id: string;
  node: number;  // the function that allocates for others or for itself
}

const trend_text = (site: Site) =>
  site.trend === 'grows' ? `grows by ${format_bytes(site.bytes_per_second)}/s` : site.trend === 'fills' ? 'fills up' : site.trend === 'steady' ? 'steady' : '–';

const held_text = (bytes = 0, whole = 0, range?: Range) => {
  const share = whole > 0 ? `${format_number(Math.min((100 * bytes) / whole, 100))} %` : '';
  if (!is_estimate(range)) return `${format_bytes(bytes)}${share && ` (${share})`}`;
  return `${format_estimate(bytes, range).replace(/^about /, '')}${share && `, ${share}`}`;
};

export function Memory({view}: {view: View}): JSX.Element {
  const {data, names, state, change, part, course} = view;
  const memory = data.memory ?? {};
  const all_rows = useMemo<Row[]>(() => (data.sites ?? []).map((site, index) => ({site, id: String(index), node: names.above(site.stack, site.frame_index ?? 0)}))
    .filter(({site}) => site.peak_bytes || (site.end_bytes ?? 0) > 0), [data]);
  const rows = useMemo(() => {
    const has = names.with_text(state.q);
    return all_rows.filter(({site}) => (!state.category || site.trend === state.category) && (!has || stacks_of(site).some(([stack]) => has[stack])));
  }, [all_rows, state.q, state.category]);
  const details = useMemo(() => site_details(view), [data]);
  const at_end = part ? `In use at ${seconds(course!.ends[part.end - 1])} s` : data.end && !data.end.running ? 'Never freed' : 'In use at the end';
  const growing = (data.sites ?? []).filter((site) => site.trend === 'grows');
  const rate = growing.reduce((sum, site) => sum + (site.bytes_per_second ?? 0), 0);
  const savings = (memory.contents?.sites ?? []).filter((saving) => (saving.saved_bytes ?? 0) >= (memory.peak_bytes ?? 0) / 100);
  const columns: Column<Row>[] = [
    {name: 'location', label: 'Site', is_text: true, value: (row) => names.label(row.node).toLowerCase(), cell: (row) => <Code_location names={names} node={row.node} detail={details[Number(row.id)]} />},
    ...(part ? [] : [{name: 'peak', label: 'At the peak', value: (row: Row) => row.site.peak_bytes ?? 0,
      cell: (row: Row) => held_text(row.site.peak_bytes, memory.peak_bytes, row.site.peak_range)}]),
    ...(data.recorder.mode === 'sampled' ? [] : [{name: 'peak_blocks', label: 'Blocks then', is_minor: true, value: (row: Row) => row.site.peak_blocks ?? 0, cell: (row: Row) => format_count(row.site.peak_blocks)}]),
    {name: 'end', label: at_end, value: (row) => row.site.end_bytes ?? 0,
     cell: (row) => held_text(row.site.end_bytes, memory.end_bytes, part ? undefined : row.site.end_range)},
    ...(data.recorder.mode === 'sampled' ? [] : [{name: 'end_blocks', label: 'Blocks', is_minor: true, value: (row: Row) => row.site.end_blocks ?? 0, cell: (row: Row) => format_count(row.site.end_blocks)}]),
    {name: 'trend', label: 'Course', title: 'Whether what it holds rises to the end of the run', value: (row) => row.site.bytes_per_second ?? 0, cell: (row) => trend_text(row.site)},
  ];
  return (
    <section>
      <p>
        {!part && (memory.peak_range?.[1] ?? memory.peak_bytes ?? 0) > 0 && <>Heap peak: <strong>{format_estimate(memory.peak_bytes, memory.peak_range)}</strong>{memory.peak_ns ? `, ${seconds(memory.peak_ns / 1e9)} s after the start` : ''}
          {memory.resident_bytes ? <>; the process took up to {format_bytes(memory.resident_bytes)}</> : ''}. </>}
        {at_end}: <strong>{part && data.recorder.mode === 'sampled' ? 'about ' : ''}{format_estimate(memory.end_bytes, memory.end_range)}</strong>.{' '}
        {growing.length > 0 && <><strong>Memory grows</strong> to the end, by about {format_bytes(rate)}/s at {growing.length === 1 ? 'one site' : `${grouped(growing.length)} sites`}. </>}
        <button type="button" class="link" onClick={() => change({tab: 'flame', metric: part ? 'end' : 'peak', zoom: '0', pin: '', q: '', category: '', thread: ''})}>Show it as a flame graph</button>
      </p>
      {!part && savings.length > 0 && <>
        <h2>To save at the peak, by the contents of blocks</h2>
        <ul class="savings">
          {savings.map((saving) => (
            <li><strong>{format_estimate(saving.saved_bytes, saving.saved_range)}</strong>{' '}
              <Code_location names={names} node={names.above(saving.stack, saving.frame_index ?? 0)} />:{' '}
              {saving.remedy === 'share' ? `${grouped(saving.equal_blocks)} of ${grouped(saving.blocks)} blocks are equal to others: keep one of each, and share it`
                : `the ends of ${grouped(saving.unwritten_blocks)} of ${grouped(saving.blocks)} blocks were never written: reserve the exact size, or shrink_to_fit()`}</li>
          ))}
        </ul>
      </>}
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <Choice label="Course" value={state.category} set={(category) => change({category})}
                options={[['', 'all'], ['grows', 'grows to the end'], ['fills', 'fills up'], ['steady', 'steady']]} />
        <output aria-live="polite">{grouped(rows.length)} of {grouped(all_rows.length)} sites; choose a time in the timeline to see what was in use then</output>
      </form>
      <Table label="What each site had in use" rows={rows} columns={columns} sort={part ? 'end' : 'peak'} state={state} change={change} id={(row) => row.id}
             details={(row) => <Site_details site={row.site} view={view} />}
             empty_text={all_rows.length ? 'No site is like that.' : 'Nothing was in use.'} />
    </section>
  );
}
