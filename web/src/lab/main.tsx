import {render, type JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import {Curves, type Series} from './chart';
import {digits, geometric_mean, rows_of, times, unpack, x_name, type Curve, type Experiment, type Form, type Results, type Row, type Sweep} from './results';
import 'uplot/dist/uPlot.min.css';
import '../style.css';
import './lab.css';

const held = {yes: 'The claim holds.', partly: 'The claim holds in part.', no: 'The claim does not hold.', unknown: 'Not judged.'};
const short_held = {yes: 'holds', partly: 'in part', no: 'does not hold', unknown: 'not judged'};
const roles = {original: 'as the original', peer: 'peer', ours: 'Tarn'};

const then = (of: Curve): Series => ({name: of.name, role: 'then', points: new Map(of.points.map(([x, y]) => [x, {y}]))});
const can_be_drawn = (sweep: Sweep) => sweep.values.length >= 3 && !sweep.names.length && Math.min(...sweep.values) > 0;

function Times({of, sweep, rows}: {of: Experiment; sweep: Sweep; rows: Map<string, Map<number, Row>>}): JSX.Element {
  const forms = of.forms.filter((each) => rows.has(each.name));
  const base = rows.get(forms[0].name)!;
  const over = (form: Form) =>
    geometric_mean(sweep.values.flatMap((x) => (rows.get(form.name)!.get(x) && base.get(x) ? [rows.get(form.name)!.get(x)!.ns.median / base.get(x)!.ns.median] : [])));
  const most = Math.max(...forms.map(over));
  const has_exponents = Object.keys(sweep.exponents).length > 0;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`${sweep.title}: the figures`}>
      <table>
        <caption>{sweep.y}; median of {of.rounds}, <small>between its quartiles</small></caption>
        <thead>
          <tr>
            <th scope="col" class="text">{sweep.x}</th>
            {sweep.values.map((x) => <th key={x} scope="col">{x_name(sweep, x)}</th>)}
            {has_exponents && <th scope="col">exponent</th>}
            <th scope="col" class="text">time over {forms[0].name}'s</th>
          </tr>
        </thead>
        <tbody>
          {forms.map((form) => (
            <tr key={form.name} class={form.role}>
              <th scope="row" class="text" title={[roles[form.role], ...form.settings].join(' · ')}>{form.name}</th>
              {sweep.values.map((x) => {
                const row = rows.get(form.name)!.get(x);
                return <td key={x}>{row ? <>{digits(row.ns.median)} <small>{digits(row.ns.low)}–{digits(row.ns.high)}</small></> : '–'}</td>;
              })}
              {has_exponents && <td>{sweep.exponents[form.name]?.toFixed(2) ?? '–'}</td>}
              <td class="text"><span class="number">{digits(over(form))}</span><span class="share"><span style={{width: `${(100 * over(form)) / most}%`}} /></span></td>
            </tr>
          ))}
          {[...sweep.ratios, ...sweep.original_ratios].map((each) => (
            <tr key={each.name} class={sweep.ratios.includes(each) ? 'ratio' : 'ratio then'}>
              <th scope="row" class="text">{each.name}</th>
              {sweep.values.map((x) => {
                const point = each.points.find(([at]) => at === x);
                return <td key={x}>{point ? times(point[1]) : '–'}</td>;
              })}
              <td colSpan={has_exponents ? 2 : 1} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Counts({of, sweep}: {of: Experiment; sweep: Sweep}): JSX.Element | null {
  const rows = of.rows.filter((each) => each.sweep === sweep.name && of.shown_counts.some((name) => name in each.counts));
  const names = of.shown_counts.filter((name) => rows.some((each) => name in each.counts));
  if (!names.length) return null;
  return (
    <details>
      <summary>Counted: {names.join(', ')}</summary>
      <div class="wide" tabIndex={0} role="region" aria-label={`${sweep.title}: what was counted`}>
        <table>
          <thead><tr><th scope="col" class="text">{sweep.x}</th><th scope="col" class="text">form</th>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {sweep.values.flatMap((x) => rows.filter((each) => each.x === x)).map((row) => (
              <tr key={`${row.x} ${row.form}`}>
                <td class="text">{x_name(sweep, row.x)}</td><th scope="row" class="text">{row.form}</th>
                {names.map((name) => <td key={name}>{name in row.counts ? digits(row.counts[name]) : '–'}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function One_sweep({of, sweep}: {of: Experiment; sweep: Sweep}): JSX.Element | null {
  const rows = useMemo(() => rows_of(of, sweep), [of]);
  const forms: Series[] = useMemo(() => [
    ...of.forms.filter((each) => rows.has(each.name)).map((each): Series => ({
      name: each.name, role: each.role,
      points: new Map([...rows.get(each.name)!].map(([x, row]) => [x, {y: row.ns.median, low: row.ns.low, high: row.ns.high}])),
    })),
    ...sweep.originals.map(then),
  ], [of]);
  const ratios: Series[] = useMemo(() => [...sweep.ratios.map((each): Series => ({...then(each), role: 'ours'})), ...sweep.original_ratios.map(then)], [of]);
  if (!rows.size) return null;
  return (
    <section aria-label={sweep.title}>
      <h3>{sweep.title}</h3>
      {can_be_drawn(sweep) && (
        <div class="charts">
          <Curves series={forms} x_label={sweep.x} y_label={sweep.y} label={`${sweep.title}, ${sweep.y} by ${sweep.x}, both logarithmic; the table below has the figures`} />
          {ratios.length > 0 && <Curves series={ratios} x_label={sweep.x} y_label="times" label={`${sweep.title}, times as fast by ${sweep.x}; the table below has the figures`} />}
        </div>
      )}
      <Times of={of} sweep={sweep} rows={rows} />
      <Counts of={of} sweep={sweep} />
    </section>
  );
}

function One({of}: {of: Experiment}): JSX.Element {
  return (
    <article id={of.name} aria-labelledby={`${of.name}-name`}>
      <h2 id={`${of.name}-name`}>{of.name} <small>{of.source}</small></h2>
      <p class="claim">{of.claim}</p>
      {of.failure
        ? <p class="verdict no" role="alert"><strong>It ended early:</strong> {of.failure}</p>
        : <p class={`verdict ${of.verdict.holds}`}><strong>{held[of.verdict.holds]}</strong> {of.verdict.words}</p>}
      <div class="told">
        <p><b>What the original claimed.</b> {of.claimed}</p>
        <p><b>Why it is so today.</b> {of.why}</p>
      </div>
      {of.sweeps.map((each) => <One_sweep key={each.name} of={of} sweep={each} />)}
      {of.skipped.length > 0 && <ul class="skipped">{of.skipped.map((each) => <li key={each}>{each}</li>)}</ul>}
      <p class="facts">
        A unit is a {of.unit}. {Object.entries(of.parameters).map(([name, value]) => `${name} ${value.toLocaleString('en')}`).join(', ')}{Object.keys(of.parameters).length > 0 && '; '}
        {of.rounds} rounds, {digits(of.seconds)} s.
      </p>
    </article>
  );
}

function Page({of}: {of: Results}): JSX.Element {
  return (
    <>
      <header>
        <h1>Tarn lab</h1>
        <p>The experiments of the sources on this machine: as the original did it, with its peers of today, and with Tarn.{of.quick && ' A quick run: less of everything.'}</p>
        <ul class="contents">
          {of.experiments.map((each) => (
            <li key={each.name}><a href={`#${each.name}`}>{each.name}</a> <span class={`mark ${each.failure ? 'no' : each.verdict.holds}`}>{each.failure ? 'ended early' : short_held[each.verdict.holds]}</span></li>
          ))}
        </ul>
      </header>
      <main>
        {of.experiments.map((each) => <One key={each.name} of={each} />)}
        <h2>The machine</h2>
        <dl>{Object.entries(of.machine).flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>])}</dl>
      </main>
      <footer>Made by <code>tarn lab --html</code>. This page is whole: it fetches nothing and sends nothing.</footer>
    </>
  );
}

async function start(): Promise<void> {
  const place = document.getElementById('page')!;
  const packed = document.getElementById('recording')!;
  try {
    const results = await unpack(packed.textContent ?? '');
    packed.remove();
    place.replaceChildren();
    render(<Page of={results} />, place);
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    place.textContent = `This page cannot be read, perhaps it was cut off: ${error}`;
    place.setAttribute('role', 'alert');
  }
}

void start();
