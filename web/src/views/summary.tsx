// The first screen: where the threads wait, how much, what to do about it, and what to leave alone.
import type {JSX} from 'preact';
import {useMemo} from 'preact/hooks';
import type {View} from '../view';
import {Bar} from '../parts';
import type {Range} from '../recording';
import {on_purpose} from '../weights';
import {bytes_words, count_words, cut, duration_words, grouped, middle, number_words, plural, shown} from '../words';

interface Best {
  saved: Range;  // ns
  at_least?: boolean;
  is_unknown?: boolean;
  where: JSX.Element;
  words: string;
  open: () => void;
}

const best_count = 3;
const hardly = 0.01;  // of the program's time

function best_remedies(view: View): Best[] {
  const {data, names, change} = view;
  const by_place = new Map<string, Best>();
  (data.sites ?? []).forEach((site, at) => {
    const remedy = site.predicted.remedies?.[0];
    if (!remedy) return;
    const node = names.above(site.stack, site.place ?? 0);
    const key = `${names.place[node]} ${remedy.name}`;  // from several callers
    const known = by_place.get(key);
    if (known) {
      known.saved = [known.saved[0] + remedy.saved_ns[0], known.saved[1] + remedy.saved_ns[1]];
      return;
    }
    by_place.set(key, {
      saved: remedy.saved_ns,
      at_least: remedy.at_least,
      where: <><bdi>{names.label(node)}</bdi> <small><bdi>{names.where(names.place[node])}</bdi></small></>,
      words: remedy.words ?? remedy.name,
      open: () => change({tab: 'sites', site: String(at)}),
    });
  });
  const all = [...by_place.values()];
  (data.locks ?? []).forEach((lock, at) => {
    if (!lock.remedy || on_purpose.has(lock.category)) return;
    const node = names.own(lock.stack);
    all.push({saved: [0, lock.waited_ns ?? 0], where: <>{lock.type} <bdi>{names.label(node)}</bdi></>, words: lock.remedy,
              open: () => change({tab: 'locks', site: String(at)})});
  });
  (data.syscalls ?? []).forEach((call, at) => {
    if (!call.remedy || on_purpose.has(call.category)) return;
    const node = names.own(call.stack);
    all.push({saved: call.predicted?.saved_ns ?? [0, call.nanoseconds ?? 0], at_least: call.predicted?.at_least, is_unknown: !!call.predicted?.not, where: <>{call.name} <bdi>{names.label(node)}</bdi></>, words: call.remedy,
              open: () => change({tab: 'calls', site: String(at)})});
  });
  return all.filter((each) => each.saved[1] > 0).sort((a, b) => middle(b.saved) - middle(a.saved)).slice(0, best_count);
}

// In words, what is not worth anybody's time.
function leave_alone(view: View): string[] {
  const {data} = view;
  const lines: string[] = [];
  const sites = (data.sites ?? []).filter((each) => !view.part || each.allocations);
  const idle = sites.filter((each) => !each.predicted.remedies?.length);
  if (sites.length > 0) {
    const all = sites.reduce((sum, each) => sum + middle(each.predicted.now_ns), 0);
    const rest = idle.reduce((sum, each) => sum + middle(each.predicted.now_ns), 0);
    const share = all > 0 ? `, together ${number_words((100 * rest) / all)} % of the heap's cost` : '';
    if (view.unit === '% of CPU' && data.heap.predicted.share[1] < hardly) lines.push("The heap: all of it is below 1 % of the program's time.");
    else if (idle.length > 0) lines.push(`${grouped(idle.length)} of ${plural(sites.length, 'allocation site')}: too few blocks to matter${share}.`);
  }
  const locks = data.locks ?? [];
  const wall = (data.end?.wall_us ?? 0) * 1000 * Math.max(1, data.threads?.length ?? 1);
  if (locks.length > 0) {
    if (!locks.some((each) => each.remedy)) lines.push('Locks: hardly any wait, and none is taken often.');
    else if (wall > 0 && (data.totals?.waited_ns ?? 0) / wall < hardly) lines.push(`Waits for locks: ${view.wait_share(data.totals?.waited_ns ?? 0)}.`);
  }
  const calls = data.syscalls ?? [];
  if (calls.length > 0 && !calls.some((each) => each.remedy)) lines.push('System calls: none of them is needless.');
  const waiting = calls.filter((each) => each.category === 'waits').reduce((sum, each) => sum + (each.nanoseconds ?? 0), 0);
  if (waiting > 0) lines.push(`Calls that wait on purpose (for events, time, other threads): ${duration_words(waiting)}, ${view.wait_share(waiting)}, not counted above.`);
  return lines;
}

function Source_card({title, amount, detail, range, most, missing, open}:
    {title: string; amount: string; detail: string; range: Range; most: number; missing?: boolean; open: () => void}): JSX.Element {
  return (
    <li class={missing ? 'card missing' : 'card'}>
      <h3><button type="button" onClick={open} disabled={missing}>{title}</button></h3>
      <p class="amount">{amount}</p>
      {!missing && <Bar range={range} most={most} label={`${title}: ${amount}`} />}
      <p>{detail}</p>
    </li>
  );
}

export function program_words(view: View): string {
  const [program = '', ...words] = view.data.program?.words ?? [];
  return cut(shown([program.slice(program.lastIndexOf('/') + 1), ...words].join(' ')), 300) || 'A program';
}

export function Summary({view}: {view: View}): JSX.Element {
  const {data, change, timed} = view;
  const has = (source: string) => (data.recorder.sources ?? []).some((each) => each.startsWith(source));
  const heap = data.heap.predicted;
  const deliberate = (each: {category: string}) => on_purpose.has(each.category);
  const in_kernel = (data.syscalls ?? []).filter((each) => !deliberate(each)).reduce((sum, each) => sum + (each.nanoseconds ?? 0), 0);
  const waited = data.totals?.waited_ns ?? 0;
  const most = Math.max(timed(heap.now_ns)[1], timed(in_kernel)[1], timed(waited)[1]);
  const best = useMemo(() => best_remedies(view), [data]);
  const leave = useMemo(() => leave_alone(view), [data]);
  const gain = Math.max(...best.map((each) => timed(each.saved)[1]), 1e-9);
  const serious = (data.lock_orders?.inversions ?? []).filter((each) => !each.by_one_thread).length;
  const gain_of = (each: Best) => (each.is_unknown ? 'what it saves is not predicted' : view.gain_words({saved_ns: each.saved, at_least: each.at_least}));
  const drop_in = heap.drop_in_saves_ns;
  const [heap_cost, heap_range] = view.cost_parts(heap.now_ns);
  const none = 'not recorded';
  const own = data.recorder.own_heap;
  const has_heap = has('heap') && !own?.functions.includes('malloc');
  return (
    <section class="summary">
      <h2>Where its threads spend time beside their work</h2>
      <ul class="cards">
        <Source_card title="Heap" missing={!has_heap} open={() => change({tab: 'sites'})} range={timed(heap.now_ns)} most={most}
          amount={has_heap ? heap_cost : none}
          detail={has_heap ? `${heap_range ? `${heap_range}; ` : ''}${plural(data.heap.allocations ?? 0, 'allocation')}, ${bytes_words(data.heap.bytes)}.` : own ? 'It has a malloc of its own.' : 'tarn record --heap'} />
        <Source_card title="Locks" missing={!has('lock')} open={() => change({tab: 'locks'})} range={timed(waited)} most={most}
          amount={has('lock') ? duration_words(waited) : none}
          detail={has('lock') ? `waited for, ${view.wait_share(waited)}. Taken ${count_words(data.totals?.acquisitions)} times, ${count_words(data.totals?.contended)} of them after a wait.` : 'tarn record --locks'} />
        <Source_card title="System calls" missing={!has('system')} open={() => change({tab: 'calls'})} range={timed(in_kernel)} most={most}
          amount={has('system') ? duration_words(in_kernel) : none}
          detail={has('system') ? `in the kernel, ${view.wait_share(in_kernel)}, without waiting for events. ${plural(data.totals?.calls ?? 0, 'call')}.` : 'tarn record --syscalls'} />
      </ul>
      {own && has_heap && <p class="risk">The program has an operator new of its own: of what that serves, only what it takes from malloc was recorded.</p>}
      {serious > 0 && (
        <p class="risk">
          Locks are taken in {serious === 1 ? 'an order' : `${grouped(serious)} orders`} that could deadlock.{' '}
          <button type="button" class="link" onClick={() => change({tab: 'locks'})}>Show where</button>
        </p>
      )}
      <div class="columns">
        <div>
          <h2>What to do first</h2>
          {best.length === 0 && <p>Nothing: no site, lock or call costs enough to be worth a change.</p>}
          <ol class="best">
            {best.map((each, at) => (
              <li key={at}>
                <button type="button" onClick={each.open}>
                  <span class="where">{each.where}</span>
                  <span class="gain">{gain_of(each)}</span>
                </button>
                {!each.is_unknown && <Bar range={timed(each.saved)} most={gain} label={gain_of(each)} />}
                <p><bdi>{cut(shown(each.words), 300)}</bdi></p>
              </li>
            ))}
          </ol>
          {middle(drop_in) > 0 && <p>Without a change to the program: <code>tarn run</code> {view.gain_words({saved_ns: drop_in})}.</p>}
        </div>
        <div>
          <h2>What to leave alone</h2>
          <ul class="leave">{leave.map((each) => <li key={each}>{each}</li>)}{leave.length === 0 && <li>Nothing stands out.</li>}</ul>
          <h2>How sure it is</h2>
          <p>
            {data.recorder.mode === 'sampled' ? 'Totals are exact; figures of single sites are estimates from samples.' : 'All blocks were counted.'}{' '}
            Costs come from what memory costs on {data.cost_model?.machine ? 'the machine that made this report' : 'one machine'}. The first figure is the best guess, the range in brackets should hold the truth.
            {view.unit === 'CPU-ms/s' && ' CPU-ms/s: milliseconds of processor time, of all threads together, in each second of the run.'}
          </p>
          {!!data.recorder.dropped && <p class="risk">{plural(data.recorder.dropped, 'event')} are missing: the recorder had no room for them.</p>}
        </div>
      </div>
    </section>
  );
}
