// The recordings of many hosts: the dearest sites, with the distribution of their cost over the hosts of each release.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {Change_state, State} from '../address';
import {colour_of, Kind, Search} from '../parts';
import type {Fleet, Fleet_release, Fleet_site} from '../recording';
import {Table, type Column} from '../table';
import {cut, format_number, grouped, plural, short_function, shown} from '../formatting';

const rate = (value: number) => `${format_number(value)} ms/s`;
// The values are sorted: those of all hosts, or 101 quantiles.
const quantile = (values: number[], part: number) => values[Math.round(part * (values.length - 1))];

function release_text({version, hosts, values}: Fleet_release): string {
  return `${version}: on ${plural(hosts, 'host')} ${rate(values[0])} to ${rate(values[values.length - 1])}, median ${rate(quantile(values, 0.5))}, ` +
    `half of them ${rate(quantile(values, 0.25))} to ${rate(quantile(values, 0.75))}`;
}

// A line for each host, on a scale from 0. The box has half of the hosts, and the thick line in it is the median.
function Distribution({release, versions, longest}: {release: Fleet_release; versions: string[]; longest: number}): JSX.Element {
  const {values} = release;
  const text = release_text(release);
  const x = (value: number) => (1000 * value) / Math.max(longest, 1e-9);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => x(quantile(values, part)));
  const colour = colour_of(versions, release.version);
  return (
    <svg class="distribution" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      <rect x={low} width={Math.max(2, high - low)} y="1" height="10" fill={colour} />
      {values.map((value, index) => <line key={index} x1={x(value)} x2={x(value)} y1="3" y2="9" />)}
      <line class="median" x1={middle} x2={middle} y1="0" y2="12" />
    </svg>
  );
}

function Site_details({site, versions}: {site: Fleet_site; versions: string[]}): JSX.Element {
  const longest = Math.max(...site.releases.map(({values}) => values[values.length - 1]));
  return (
    <>
      <h2><bdi>{cut(shown(short_function(site.function)), 200)}</bdi></h2>
      <p class="path"><bdi>{shown(site.file)}</bdi></p>
      <p>{kind_text(site)} of <bdi>{shown(site.service)}</bdi>; {format_number(site.seconds)} s on {grouped(site.hosts)} of {plural(site.all_hosts, 'host')}</p>
      <h3>Cost over the hosts, 0 to {rate(longest)}</h3>
      {site.releases.map((release) => (
        <section key={release.version}>
          <p><Kind kinds={versions} category={release.version} /></p>
          <Distribution release={release} versions={versions} longest={longest} />
          <p class="why">{release_text(release)}.</p>
          <p class="why">The dearest: {release.dearest.map(([host, value]) => `${shown(host)} (${rate(value)})`).join(', ')}</p>
        </section>
      ))}
    </>
  );
}

const kind_text = (site: Fleet_site) => [site.source, site.operation, site.category].filter(Boolean).join(', ');

function Card({title, rows, empty_text}: {title: string; rows: JSX.Element[]; empty_text: string}): JSX.Element {
  return (
    <li class="card">
      <h2>{title}</h2>
      {rows.slice(0, 6).map((row, index) => <p key={index}>{row}</p>)}
      {rows.length > 6 && <p>and {grouped(rows.length - 6)} more</p>}
      {rows.length === 0 && <p>{empty_text}</p>}
    </li>
  );
}

export function Fleet_view({fleet, state, change}: {fleet: Fleet; state: State; change: Change_state}): JSX.Element {
  const versions = useMemo(() => [...new Set(fleet.versions.map(({version}) => version))], [fleet]);
  const rows = useMemo(() => fleet.sites.filter((site) =>
    `${site.function} ${site.file} ${kind_text(site)}`.toLowerCase().includes(state.q.toLowerCase())), [fleet, state.q]);
  const longest = Math.max(0, ...fleet.sites.flatMap(({releases}) => releases.map(({values}) => values[values.length - 1])));
  const columns: Column<Fleet_site>[] = [
    {name: 'location', label: 'Site', is_text: true, value: (site) => site.function.toLowerCase(),
     cell: (site) => <span class="location"><bdi>{cut(shown(short_function(site.function)), 200)}</bdi> <small><bdi>{kind_text(site)}</bdi></small></span>},
    {name: 'seconds', label: 'Seconds', value: (site) => site.seconds, cell: (site) => format_number(site.seconds)},
    {name: 'hosts', label: 'Hosts', is_minor: true, value: (site) => site.hosts, cell: (site) => `${grouped(site.hosts)} of ${grouped(site.all_hosts)}`},
    {name: 'median', label: 'Median, ms/s', is_minor: true, value: (site) => site.median_ms_per_s ?? 0, cell: (site) => format_number(site.median_ms_per_s ?? 0)},
    {name: 'spread', label: `Over the hosts, 0 to ${rate(longest)}`, title: 'Sorts by the cost on the dearest host', value: (site) => site.max_ms_per_s ?? 0,
     cell: (site) => <>{site.releases.slice(0, 3).map((release) => <Distribution key={release.version} release={release} versions={versions} longest={longest} />)}</>},
  ];
  const name = (text: string) => <bdi>{cut(shown(short_function(text)), 60)}</bdi>;
  return (
    <>
      <ul class="cards first">
        <Card title="Releases" empty_text="" rows={fleet.versions.map((release) =>
          <><Kind kinds={versions} category={release.version} /> of <bdi>{shown(release.service)}</bdi>: <strong>{plural(release.hosts, 'host')}</strong>, {plural(release.recordings, 'recording')}, {format_number(release.hours)} h</>)} />
        {fleet.regressions && <Card title={`${fleet.after} compared with ${fleet.before}`} empty_text="No site costs more or less." rows={fleet.regressions.map((site) =>
          <><strong class={site.verdict === 'worse' ? 'risk' : 'good'}>{site.verdict}</strong>: {name(site.function)}: {format_number(site.before_ms_per_s)} → {rate(site.after_ms_per_s)}, by {format_number(site.more_low)} to {format_number(site.more_high)}</>)} />}
        <Card title="Remedies" empty_text="No site has one." rows={fleet.remedies.map((remedy) =>
          <>{remedy.remedy} ({remedy.source}): <strong>{remedy.waits_s ? `${format_number(remedy.waits_s)} s of waits` : `saves ${format_number(remedy.saves_low_s)} to ${format_number(remedy.saves_high_s)} s`}</strong> on {plural(remedy.hosts, 'host')}</>)} />
        <Card title="Hosts that differ" empty_text="None, where a release has at least five." rows={fleet.outliers.map((host) =>
          <><bdi>{shown(host.host)}</bdi> ({shown(host.version)}, {host.source}): <strong>{rate(host.ms_per_s)}</strong>, the median of {plural(host.hosts, 'host')} is {format_number(host.median_ms_per_s)}</>)} />
      </ul>
      <form class="tools" role="search" onSubmit={(event) => event.preventDefault()}>
        <Search label="Search" value={state.q} set={(q) => change({q})} />
        <output aria-live="polite">{grouped(rows.length)} of the {grouped(fleet.sites.length)} dearest sites</output>
      </form>
      <Table label="Sites" rows={rows} columns={columns} sort="seconds" state={state} change={change} id={(site) => String(site.place)}
             details={(site) => <Site_details site={site} versions={versions} />} empty_text="No site is like that." />
    </>
  );
}
