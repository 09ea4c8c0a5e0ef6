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

const original_series = (curve: Curve): Series => ({name: curve.name, role: 'then', points: new Map(curve.points.map(([x, y]) => [x, {y}]))});
const can_be_drawn = (sweep: Sweep) => sweep.values.length >= 3 && !sweep.names.length && Math.min(...sweep.values) > 0;

function Times({experiment, sweep, rows}: {experiment: Experiment; sweep: Sweep; rows: Map<string, Map<number, Row>>}): JSX.Element {
  const forms = experiment.forms.filter((form) => rows.has(form.name));
  const base = rows.get(forms[0].name)!;
  const ratio_of = (form: Form) =>
    geometric_mean(sweep.values.flatMap((x) => (rows.get(form.name)!.get(x) && base.get(x) ? [rows.get(form.name)!.get(x)!.ns.median / base.get(x)!.ns.median] : [])));
  const longest = Math.max(...forms.map(ratio_of));
  const has_exponents = Object.keys(sweep.exponents).length > 0;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`${sweep.title}: the figures`}>
      <table>
        <caption>{sweep.y}; median of {experiment.rounds}, <small>between its quartiles</small></caption>
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
              <td class="text"><span class="number">{digits(ratio_of(form))}</span><span class="share"><span style={{width: `${(100 * ratio_of(form)) / longest}%`}} /></span></td>
            </tr>
          ))}
          {[...sweep.ratios, ...sweep.original_ratios].map((ratio) => (
            <tr key={ratio.name} class={sweep.ratios.includes(ratio) ? 'ratio' : 'ratio then'}>
              <th scope="row" class="text">{ratio.name}</th>
              {sweep.values.map((x) => {
                const point = ratio.points.find(([position]) => position === x);
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

function Counts({experiment, sweep}: {experiment: Experiment; sweep: Sweep}): JSX.Element | null {
  const rows = experiment.rows.filter((row) => row.sweep === sweep.name && experiment.shown_counts.some((name) => name in row.counts));
  const names = experiment.shown_counts.filter((name) => rows.some((row) => name in row.counts));
  if (!names.length) return null;
  return (
    <details>
      <summary>Counted: {names.join(', ')}</summary>
      <div class="wide" tabIndex={0} role="region" aria-label={`${sweep.title}: what was counted`}>
        <table>
          <thead><tr><th scope="col" class="text">{sweep.x}</th><th scope="col" class="text">form</th>{names.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>
            {sweep.values.flatMap((x) => rows.filter((row) => row.x === x)).map((row) => (
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

function One_sweep({experiment, sweep}: {experiment: Experiment; sweep: Sweep}): JSX.Element | null {
  const rows = useMemo(() => rows_of(experiment, sweep), [experiment]);
  const forms: Series[] = useMemo(() => [
    ...experiment.forms.filter((form) => rows.has(form.name)).map((form): Series => ({
      name: form.name, role: form.role,
      points: new Map([...rows.get(form.name)!].map(([x, row]) => [x, {y: row.ns.median, low: row.ns.low, high: row.ns.high}])),
    })),
    ...sweep.originals.map(original_series),
  ], [experiment]);
  const ratios: Series[] = useMemo(() => [...sweep.ratios.map((ratio): Series => ({...original_series(ratio), role: 'ours'})), ...sweep.original_ratios.map(original_series)], [experiment]);
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
      <Times experiment={experiment} sweep={sweep} rows={rows} />
      <Counts experiment={experiment} sweep={sweep} />
    </section>
  );
}

function One({experiment}: {experiment: Experiment}): JSX.Element {
  return (
    <article id={experiment.name} aria-labelledby={`${experiment.name}-name`}>
      <h2 id={`${experiment.name}-name`}>{experiment.name} <small>{experiment.source}</small></h2>
      <p class="claim">{experiment.claim}</p>
      {experiment.failure
        ? <p class="verdict no" role="alert"><strong>It ended early:</strong> {experiment.failure}</p>
        : <p class={`verdict ${experiment.verdict.holds}`}><strong>{held[experiment.verdict.holds]}</strong> {experiment.verdict.text}</p>}
      <div class="told">
        <p><b>What the original claimed.</b> {experiment.claimed}</p>
        <p><b>Why it is so today.</b> {experiment.why}</p>
      </div>
      {experiment.sweeps.map((sweep) => <One_sweep key={sweep.name} experiment={experiment} sweep={sweep} />)}
      {experiment.skipped.length > 0 && <ul class="skipped">{experiment.skipped.map((reason) => <li key={reason}>{reason}</li>)}</ul>}
      <p class="facts">
        A unit is a {experiment.unit}. {Object.entries(experiment.parameters).map(([name, value]) => `${name} ${value.toLocaleString('en')}`).join(', ')}{Object.keys(experiment.parameters).length > 0 && '; '}
        {experiment.rounds} rounds, {digits(experiment.seconds)} s.
      </p>
    </article>
  );
}

function Page({results}: {results: Results}): JSX.Element {
  return (
    <>
      <header>
        <h1>Tarn lab</h1>
        <p>The experiments of the sources on this machine: as the original did it, with its peers of today, and with Tarn.{results.quick && ' A quick run: less of everything.'}</p>
        <ul class="contents">
          {results.experiments.map((experiment) => (
            <li key={experiment.name}><a href={`#${experiment.name}`}>{experiment.name}</a> <span class={`mark ${experiment.failure ? 'no' : experiment.verdict.holds}`}>{experiment.failure ? 'ended early' : short_held[experiment.verdict.holds]}</span></li>
          ))}
        </ul>
      </header>
      <main>
        {results.experiments.map((experiment) => <One key={experiment.name} experiment={experiment} />)}
        <h2>The machine</h2>
        <dl>{Object.entries(results.machine).flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>])}</dl>
      </main>
      <footer>Made by <code>tarn lab --html</code>. This page is whole: it fetches nothing and sends nothing.</footer>
    </>
  );
}

async function start(): Promise<void> {
  const root = document.getElementById('page')!;
  const packed = document.getElementById('recording')!;
  try {
    const results = await unpack(packed.textContent ?? '');
    packed.remove();
    root.replaceChildren();
    render(<Page results={results} />, root);
    document.documentElement.dataset.ready = 'yes';
  } catch (error) {
    root.textContent = `This page cannot be read, perhaps it was cut off: ${error}`;
    root.setAttribute('role', 'alert');
  }
}

void start();
