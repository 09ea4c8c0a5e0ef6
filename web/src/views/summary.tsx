// The first screen: where and how long threads wait, the best remedies, and the sites to leave alone.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {View} from '../view';
import {Bar, Code_location} from '../parts';
import type {Call, Data, Lock, Range, Verdict} from '../recording';
import {metrics, on_purpose, weights} from '../weights';
import {seconds} from './timeline';
import {cut, format_bytes, format_count, format_duration, format_error, format_estimate, format_number, grouped, is_estimate, middle, plural, shown} from '../formatting';

interface Best {
  saved: Range;  // ns
  at_least?: boolean;
  covered?: string;  // what the prediction covers, if it is not only the allocator
  waited?: string;  // only for a lock, whose waits take time but no processor
  is_unknown?: boolean;
  location: JSX.Element;
  advice: string;
  open: () => void;
}

const best_count = 3;
const hardly = 0.01;  // of the program's time

// Ranks by what is worth doing, as the text does: a predicted gain comes before an unknown one, a small gain last.
function rank(view: View, {saved, waited, is_unknown}: Best): number {
  if (is_unknown) return 1;
  const wall_ns = (view.data.end?.wall_us ?? 0) * 1000;
  const is_little = waited ? wall_ns > 0 && saved[1] < hardly * wall_ns : view.unit === '% of CPU' && middle(view.timed(saved)) < 100 * hardly;
  return is_little ? 2 : 0;
}

function best_remedies(view: View): Best[] {
  const {data, names, change} = view;
  const by_location = new Map<string, Best>();
  (data.sites ?? []).forEach((site, index) => {
    const remedy = site.predicted.remedies?.[0];
    if (!remedy) return;
    const node = names.above(site.stack, site.frame_index ?? 0);
    const key = `${names.location[node]} ${remedy.name}`;  // from several callers
    const best = by_location.get(key);
    if (best) {
      best.saved = [best.saved[0] + remedy.saved_ns[0], best.saved[1] + remedy.saved_ns[1]];
      return;
    }
    by_location.set(key, {
      saved: remedy.saved_ns,
      at_least: remedy.at_least,
      location: <Code_location names={names} node={node} />,
      advice: remedy.advice ?? remedy.name,
      open: () => change({tab: 'sites', site: String(index)}),
    });
  });
  const candidates = [...by_location.values()];
  (data.locks ?? []).forEach((lock, index) => {
    if (!lock.remedy || on_purpose.has(lock.category)) return;
    const node = names.node_of(lock.stack);
    candidates.push({saved: [0, Math.min(lock.waited_ns ?? 0, lock.held_wait_ns ?? Infinity)], waited: `threads waited ${format_duration(lock.waited_ns)}`, location: <>{lock.type} <bdi>{names.label(node)}</bdi></>, advice: lock.remedy,
              open: () => change({tab: 'locks', site: String(index)})});
  });
  (data.syscalls ?? []).forEach((call, index) => {
    if (!call.remedy || on_purpose.has(call.category)) return;
    const node = names.node_of(call.stack);
    candidates.push({saved: call.predicted?.saved_ns ?? [0, call.time_ns ?? 0], at_least: call.predicted?.at_least, covered: 'by these calls alone', is_unknown: !!call.predicted?.reason, location: <>{call.name} <bdi>{names.label(node)}</bdi></>, advice: call.remedy,
              open: () => change({tab: 'calls', site: String(index)})});
  });
  return candidates.filter((candidate) => candidate.saved[1] > 0).sort((a, b) => rank(view, a) - rank(view, b) || middle(b.saved) - middle(a.saved)).slice(0, best_count);
}

// Names the sites that are not worth the effort.
function leave_alone(view: View): string[] {
  const {data, names} = view;
  const lines: string[] = [];
  const sites = (data.sites ?? []).filter((site) => !view.part || site.allocations);
  const idle = sites.filter((site) => !site.predicted.remedies?.length);
  if (sites.length > 0) {
    const total = sites.reduce((sum, site) => sum + middle(site.predicted.now_ns), 0);
    const idle_total = idle.reduce((sum, site) => sum + middle(site.predicted.now_ns), 0);
    const share = total > 0 ? `, together ${format_number((100 * idle_total) / total)} % of the heap's cost` : '';
    if (view.unit === '% of CPU' && data.heap.predicted.share[1] < hardly) lines.push("The heap: all of it is below 1 % of the program's time.");
    else if (idle.length > 0) lines.push(`${grouped(idle.length)} of ${plural(sites.length, 'allocation site')} ${idle.length === 1 ? 'has' : 'have'} no remedy (few blocks, kept to the end, or in a library)${share}.`);
  }
  const locks = data.locks ?? [];
  const wall = (data.end?.wall_us ?? 0) * 1000;
  if (locks.length > 0) {
    const busiest = locks.filter((lock) => !on_purpose.has(lock.category)).reduce<Lock | null>((best, lock) => (best && (best.acquisitions ?? 0) >= (lock.acquisitions ?? 0) ? best : lock), null);
    if (!locks.some((lock) => lock.remedy)) {
      const details = busiest ? `; the most taken ${busiest.type}: ${plural(busiest.acquisitions ?? 0, 'time')}, first at ${names.label(names.node_of(busiest.stack))}` : '';
      lines.push(`No remedy for locks: threads waited ${format_duration(data.totals?.waited_ns)}${details}.`);
    } else if (wall > 0 && (data.totals?.waited_ns ?? 0) / wall < hardly) lines.push(`Waits for locks: ${view.wait_share(data.totals?.waited_ns ?? 0)}.`);
  }
  const calls = data.syscalls ?? [];
  if (calls.length > 0 && !calls.some((call) => call.remedy)) lines.push('No remedy for system calls: none with 0.5 % of CPU fits a pattern (small, repeated, batch, memory).');
  return lines;
}

// `range` is of CPU time: of waits there is no bar, because they are on another scale.
function Source_card({title, amount, detail, range, missing, open}:
    {title: string; amount: string; detail: string; range?: Range; missing?: boolean; open: () => void}): JSX.Element {
  return (
    <li class={missing ? 'card missing' : 'card'}>
      <h3><button type="button" onClick={open} disabled={missing}>{title}</button></h3>
      <p class="amount">{amount}</p>
      {!missing && range && <Bar range={range} longest={100} label={`${title}: ${amount}`} />}
      <p>{detail}</p>
    </li>
  );
}

const sum_of = (parts: {value: number}[]) => parts.reduce((sum, {value}) => sum + value, 0);

const cpu_weights = (data: Data) =>
  weights(data, {metric: metrics.find((metric) => metric.name === 'cpu')!, category: '', thread: '', text: ''});

function cpu_detail({data, names}: View): string {
  const samples = cpu_weights(data);
  const total = sum_of(samples);
  // Several stacks may have the same function.
  const by_function = new Map<string, number>();
  for (const {node, value} of samples) by_function.set(names.label(node), (by_function.get(names.label(node)) ?? 0) + value);
  const [label, value] = [...by_function].reduce((best, entry) => (entry[1] > best[1] ? entry : best), ['', 0]);
  const percent = (part: number) => format_number((100 * part) / Math.max(total, 1));
  const kernel = data.cpu!.kernel ? `; ${percent(sum_of(samples.filter(({category}) => category === 'kernel')))} % in the kernel` : '';
  return `${plural(data.cpu!.samples ?? 0, 'sample')}${kernel}. Most in ${label}: ${percent(value)} %.`;
}

function memory_detail({data}: View): string {
  const {peak_ns, end_bytes, end_range, peak_range, resident_bytes} = data.memory!;
  const process = resident_bytes ? `; the process took up to ${format_bytes(resident_bytes)}` : '';
  const ended = data.end && !data.end.running;
  const range = peak_range && is_estimate(peak_range) ? ` (${peak_range[0] < 0.5 ? '0' : format_bytes(peak_range[0])}–${format_bytes(peak_range[1])})` : '';
  return `Heap peak${range}${peak_ns ? ` at ${seconds(peak_ns / 1e9)} s` : ''}${process}. ${ended ? 'Never freed' : 'In use at the end'}: ${format_estimate(end_bytes, end_range)}.`;
}

// Says first that threads wait for locks without end: no other remedy matters before that.
function Endless_waits({view: {data, names, change}}: {view: View}): JSX.Element | null {
  const all_waits = (data.locks ?? []).flatMap((lock, index) => (lock.still_waiting ?? []).map((wait) => ({...wait, index})));
  const deadlocked = all_waits.filter((wait) => wait.is_deadlock);
  const waits = (deadlocked.length > 0 ? deadlocked : all_waits).sort((a, b) => (b.waited_ns ?? 0) - (a.waited_ns ?? 0));
  if (waits.length === 0) return null;
  const [longest] = waits;
  const others = all_waits.length - waits.length;
  return (
    <div class="risk endless">
      <h2>{deadlocked.length > 0 ? 'A deadlock' : 'Waits that do not end'}</h2>
      <p>
        {deadlocked.length === 0 ? `${plural(waits.length, 'thread')} still waited for a lock at the end`
          : deadlocked.length === 1 ? '1 thread waited for itself until the end' : `${grouped(deadlocked.length)} threads waited for each other until the end`}, up to{' '}
        {format_duration(longest.waited_ns)} so far, at <Code_location names={names} node={names.node_of(longest.stack)} />.
        {others > 0 && ` ${plural(others, 'more thread')} still waited behind them.`}{' '}
        <button type="button" class="link" onClick={() => change({tab: 'locks', site: String(longest.index)})}>Show who waits for whom</button>
      </p>
    </div>
  );
}

function Endless_waits_before({view: {data, change}}: {view: View}): JSX.Element | null {
  const {in_deadlock = 0, for_mutexes = 0} = data.lasting_waits ?? {};
  if (in_deadlock + for_mutexes === 0) return null;
  return (
    <div class="risk endless">
      <h2>{in_deadlock > 0 ? 'A deadlock' : 'Waits that do not end'}</h2>
      <p>
        {in_deadlock === 0 ? `${plural(for_mutexes, 'thread')} waited for a mutex` : in_deadlock === 1 ? '1 thread waited for itself' : `${grouped(in_deadlock)} threads waited for each other`}{' '}
        from before the recording until its end.{' '}
        <button type="button" class="link" onClick={() => change({tab: 'locks'})}>Show who waits for whom</button>
      </p>
    </div>
  );
}

export function program_text(view: View): string {
  const [program = '', ...parameters] = view.data.program?.arguments ?? [];
  return cut(shown([program.slice(program.lastIndexOf('/') + 1), ...parameters].join(' ')), 300) || 'A program';
}

const title_of = ({verdict, source}: Verdict) => `${verdict.charAt(0).toUpperCase()}${verdict.slice(1)}: ${source}.`;

// Says for how much of the run no thread was on a processor, if that is most of it: shares of CPU leave that time out.
function idle_text({data: {end, threads, cpu, recorder}}: View): string {
  const wall_us = end?.wall_us ?? 0, cpu_us = (end?.user_us ?? 0) + (end?.system_us ?? 0);
  if (cpu_us >= wall_us / 2) return '';
  const [low, high] = recorder?.overhead?.program_cpu_ns ?? [cpu_us * 1e3, cpu_us * 1e3], program_ns = (low + high) / 2;
  const share = `${(threads?.length ?? 0) > 1 ? 'at least ' : ''}${format_number(100 * (1 - cpu_us / wall_us))} % of the run`;
  return `For ${share} none of its threads was on a processor${cpu ? '; see Threads' : ': tarn record --cpu shows why'}. Shares are of ${format_duration(program_ns)} of CPU time.`;
}

// Says first what is worth doing, in the sentences of the text, and what helps without a change. They are those of the
// whole run. `serious` is how many orders of locks could deadlock.
function Verdicts({view, serious, nothing}: {view: View; serious: number; nothing: string}): JSX.Element {
  const verdicts = view.data.verdicts ?? [];
  const drop_in = view.data.heap.predicted.drop_in_saves_ns;
  const idle = idle_text(view);
  return (
    <ul class="verdicts">
      {serious > 0 && (
        <li>
          <strong>Possible deadlock: locks.</strong> Locks are taken in {serious === 1 ? 'an order' : `${grouped(serious)} orders`} that could deadlock.{' '}
          <button type="button" class="link" onClick={() => view.change({tab: 'locks'})}>Show where</button>
        </li>
      )}
      {verdicts.map((verdict) => <li key={verdict.source}><strong>{title_of(verdict)}</strong> {shown(verdict.text)}</li>)}
      {verdicts.length === 0 && nothing && <li><strong>{nothing}</strong></li>}
      {middle(drop_in) > 0 && <li>Without a change: <code>tarn run</code> {view.format_gain({saved_ns: drop_in, at_least: false})}.</li>}
      {idle && <li>{idle}</li>}
      {view.part && <li>This is said of the whole run.</li>}
    </ul>
  );
}

// Returns the names of the calls that wait, those with most of the time first.
function on_purpose_names(calls: Call[]): string {
  const ns_by_name = new Map<string, number>();
  for (const call of calls) {
    if (on_purpose.has(call.category)) ns_by_name.set(call.name, (ns_by_name.get(call.name) ?? 0) + (call.time_ns ?? 0));
  }
  const names = [...ns_by_name].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]).map(([name]) => shown(name));
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ' and others' : '');
}

export function Summary({view}: {view: View}): JSX.Element {
  const {data, change, timed} = view;
  const has = (kind: string) => (data.recorder.sources ?? []).some((source) => source.startsWith(kind));
  const heap = data.heap.predicted;
  const deliberate = (site: {category: string}) => on_purpose.has(site.category);
  const in_kernel = (data.syscalls ?? []).filter((call) => !deliberate(call)).reduce((sum, call) => sum + (call.time_ns ?? 0), 0);
  const waited = data.totals?.waited_ns ?? 0;
  const on_purpose_ns = (data.syscalls ?? []).filter(deliberate).reduce((sum, call) => sum + (call.time_ns ?? 0), 0);
  const summed = (data.threads?.length ?? 0) > 1 ? `, summed over ${plural(data.threads!.length, 'thread')}` : '';
  const best = useMemo(() => best_remedies(view), [data]);
  const leave = useMemo(() => leave_alone(view), [data]);
  const gain = Math.max(...best.map((candidate) => timed(candidate.saved)[1]), 1e-9);
  const serious = (data.lock_orders?.inversions ?? []).filter((inversion) => !inversion.by_one_thread && !inversion.is_deadlock).length;
  const gain_of = (candidate: Best) => candidate.waited ?? (candidate.is_unknown ? 'what it saves is not predicted' : view.format_gain({saved_ns: candidate.saved, at_least: candidate.at_least}, candidate.covered));
  const [heap_cost, heap_range] = view.cost_parts(heap.now_ns);
  const missing_text = 'not recorded';
  const own_malloc = data.recorder.own_malloc;
  const has_heap = has('heap') && !own_malloc?.functions.includes('malloc');
  const is_judged = has_heap || has('lock') || has('system');
  const is_cut = !!data.damage && !data.sites?.length && !data.locks?.length && !data.syscalls?.length && !data.cpu?.samples;
  const nothing_text = is_cut ? 'Not known: no events could be read.'
    : is_judged ? `No ${serious > 0 ? 'other ' : ''}remedy found for heap, locks or system calls.${data.cpu?.samples ? '' : ' Next: tarn record --cpu shows where the CPU time goes.'}`
    : 'Not known: neither heap, locks nor system calls were recorded.';
  const counting_text = !is_judged ? 'Figures of CPU time are estimates from samples.'
    : data.recorder.mode !== 'sampled' ? 'All blocks were counted.'
    : has_heap ? 'Totals of the heap are exact; figures of single sites are estimates from samples.'
    : 'Figures of single sites are estimates from samples.';
  return (
    <section class="summary">
      <Endless_waits view={view} />
      <Endless_waits_before view={view} />
      <Verdicts view={view} serious={serious} nothing={best.length > 0 ? '' : nothing_text} />
      <h2>Where memory and time go</h2>
      <ul class="cards">
        {((data.memory?.peak_bytes ?? 0) > 0 || (data.memory?.peak_range?.[1] ?? 0) > 0) && (
          <Source_card title="Memory" open={() => change({tab: 'memory'})} 
            amount={`${is_estimate(data.memory!.peak_range) ? 'about ' : ''}${format_bytes(data.memory!.peak_bytes)}`} detail={memory_detail(view)} />
        )}
        {!!data.cpu?.samples && (
          <Source_card title="CPU" open={() => change({tab: 'flame', metric: 'cpu', zoom: '0', pin: '', q: '', category: '', thread: ''})}
            amount={format_duration(sum_of(cpu_weights(data)))} detail={cpu_detail(view)} />
        )}
        <Source_card title="Heap" missing={!has_heap} open={() => change({tab: 'sites'})} range={view.unit === '% of CPU' ? timed(heap.now_ns) : undefined}
          amount={has_heap ? heap_cost : missing_text}
          detail={has_heap ? `${heap_range ? `${heap_range}; ` : ''}${plural(data.heap.allocations ?? 0, 'allocation')}, ${format_bytes(data.heap.bytes)}.` : own_malloc ? 'It has a malloc of its own.' : 'tarn record --heap'} />
        <Source_card title="Locks" missing={!has('lock')} open={() => change({tab: 'locks'})}
          amount={!has('lock') ? missing_text : waited > 0 ? format_duration(waited) : 'no waits'}
          detail={has('lock') ? `${waited > 0 ? `that threads waited, ${view.wait_share(waited)}${summed}. ` : ''}Taken ${format_count(data.totals?.acquisitions)}${format_error(data.totals?.acquisitions_error)} ${data.totals?.acquisitions === 1 ? 'time' : 'times'}${waited > 0 ? `, ${format_count(data.totals?.waited_count)} of them after a wait` : ''}.` : 'tarn record --locks'} />
        <Source_card title="System calls" missing={!has('system')} open={() => change({tab: 'calls'})}
          amount={has('system') ? format_duration(in_kernel) : missing_text}
          detail={has('system') ? `in system calls, ${view.wait_share(in_kernel)}${on_purpose_ns > 0 ? `, and ${format_duration(on_purpose_ns)} in calls that wait (${on_purpose_names(data.syscalls ?? [])})` : ''}${summed}. ${plural(data.totals?.calls ?? 0, 'call')}.` : 'tarn record --syscalls'} />
      </ul>
      {(data.recorder.limits?.length ?? 0) > 0 && <p class="risk">Limits reached: {data.recorder.limits!.map((reached) => `${reached.limit}: ${reached.missing} → ${reached.help}`).join('; ')}.</p>}
      {data.recorder.unrecorded_heaps && <p class="risk">{shown(data.recorder.unrecorded_heaps)}.</p>}
      {own_malloc && has_heap && <p class="risk">The program has its own operator new. Only what that takes from malloc was recorded.</p>}
      <div class="columns">
        <div>
          <h2>What to do first</h2>
          {best.length === 0 && <p>Nothing.</p>}
          <ol class="best">
            {best.map((candidate, index) => (
              <li key={index}>
                <button type="button" onClick={candidate.open}>
                  <span class="where">{candidate.location}</span>
                  <span class="gain">{gain_of(candidate)}</span>
                </button>
                {!candidate.is_unknown && <Bar range={timed(candidate.saved)} longest={gain} label={gain_of(candidate)} />}
                <p><bdi>{cut(shown(candidate.advice), 300)}</bdi></p>
              </li>
            ))}
          </ol>
        </div>
        <div>
          <h2>What to leave alone</h2>
          <ul class="leave">{leave.map((sentence) => <li key={sentence}>{sentence}</li>)}{leave.length === 0 && <li>Nothing stands out.</li>}</ul>
          <h2>How sure it is</h2>
          <p>
            {counting_text}{' '}
            {has_heap && `Costs are computed with the prices of memory on ${data.cost_model?.machine ? 'the machine that made this report' : 'one machine'}. `}
            The first figure is the middle of the range in brackets, which has no stated probability.
            {view.unit !== '% of CPU' && ' CPU time is that of all threads together in the whole run.'}
          </p>
          {!!data.recorder.dropped && <p class="risk">{plural(data.recorder.dropped, 'event')} {data.recorder.dropped === 1 ? 'is' : 'are'} missing: the recorder had no room.</p>}
        </div>
      </div>
    </section>
  );
}
