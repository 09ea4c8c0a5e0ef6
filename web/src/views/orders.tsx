// Orders of locks: possible deadlocks, and chains of waiting holders.
import type {JSX} from 'preact';
import {Code_location, Stack} from '../parts';
import type {Chain, Inversion, Ordered_lock} from '../recording';
import type {View} from '../view';
import {format_count, format_duration, grouped, plural, shown} from '../formatting';

const max_rows = 50;
const letter = (index: number) => String.fromCharCode(65 + (index % 26));

function Lock_name({lock, index, view}: {lock?: Ordered_lock; index: number; view: View}): JSX.Element {
  return <><strong>{shown(lock?.type ?? 'lock')} {letter(index)}</strong> <small>first used at</small> <Code_location names={view.names} node={view.names.node_of(lock?.stack)} /></>;
}

function Threads({threads, view}: {threads: number[]; view: View}): JSX.Element {
  const named = threads.slice(0, 4).map((thread) => view.threads[thread] ?? 'another thread').join(', ');
  return <bdi>{named}{threads.length > 4 ? ` and ${threads.length - 4} more` : ''}</bdi>;
}

function circle_title({by_one_thread, is_deadlock, steps = []}: Inversion): string {
  if (is_deadlock) return `A deadlock, in which ${steps.length === 2 ? 'both threads' : `all ${steps.length} threads`} still waited at the end`;
  return by_one_thread ? 'Could deadlock, if a second thread did the same' : 'Could deadlock';
}

function Circle({inversion, view}: {inversion: Inversion; view: View}): JSX.Element {
  const steps = inversion.steps ?? [];
  const verb = inversion.is_deadlock ? 'were' : 'are';
  return (
    <details class="order" open={inversion.is_deadlock}>
      <summary>
        <strong>{circle_title(inversion)}</strong>:{' '}
        {steps.length === 2 ? `two locks ${verb} taken in both orders` : `${steps.length} locks ${verb} taken in a circle`}, at{' '}
        {steps.slice(0, 3).map((step, index) => <span key={index}>{index > 0 && ' and '}<Code_location names={view.names} node={view.names.node_of(step.takes_at?.stack)} /></span>)}
        {(inversion.similar_cycles ?? 1) > 1 && `; so are ${grouped(inversion.similar_cycles! - 1)} more of these locks`}
      </summary>
      <div class="columns">
        {steps.map((step, index) => (
          <div key={index}>
            <p>{format_count(step.times)} {step.times === 1 ? 'time' : 'times'}, by <Threads threads={step.threads ?? []} view={view} />: <Lock_name lock={step.lock} index={index} view={view} /> was acquired</p>
            <Stack names={view.names} node={step.held_from?.stack ?? 0} />
            <p>and while it was held, <Lock_name lock={steps[(index + 1) % steps.length].lock} index={(index + 1) % steps.length} view={view} /></p>
            <Stack names={view.names} node={step.takes_at?.stack ?? 0} />
          </div>
        ))}
      </div>
      <p>Remedy: one order everywhere; or both at once, by <code>tarn::with(a, b, …)</code> or <code>std::scoped_lock</code>.</p>
    </details>
  );
}

function Wait_chain({chain, view}: {chain: Chain; view: View}): JSX.Element {
  const links = chain.links ?? [];
  return (
    <details class="order">
      <summary>
        <strong>Up to {format_duration(chain.waited_ns)}</strong>: <Code_location names={view.names} node={view.names.node_of(links[0]?.waits_at?.stack)} /> waited for a lock whose holder itself waited, at{' '}
        <Code_location names={view.names} node={view.names.node_of(links[1]?.waits_at?.stack)} />
      </summary>
      <ol class="chain">
        {links.map((link, index) => (
          <li key={index}>
            <p><bdi>{view.threads[link.thread ?? 0] ?? 'another thread'}</bdi> waited {format_duration(link.waited_ns)}, {plural(link.waits ?? 0, 'time')}, for <Lock_name lock={link.lock} index={index} view={view} />, at</p>
            <Stack names={view.names} node={link.waits_at?.stack ?? 0} />
            <p>while <bdi>{view.threads[link.holder ?? 0] ?? 'another thread'}</bdi> held it, from</p>
            <Stack names={view.names} node={link.held_from?.stack ?? 0} />
          </li>
        ))}
      </ol>
    </details>
  );
}

// Renders nothing without inversions and chains.
export function Orders({view}: {view: View}): JSX.Element | null {
  const {inversions = [], chains = [], unattributed = 0} = view.data.lock_orders ?? {};
  if (inversions.length + chains.length + unattributed === 0) return null;
  const whole = view.part ? ', in the whole run' : '';
  return (
    <div class="orders">
      {inversions.length > 0 && <h2>Order inversions{whole}</h2>}
      {inversions.slice(0, max_rows).map((inversion, index) => <Circle key={index} inversion={inversion} view={view} />)}
      {inversions.length > max_rows && <p>And {grouped(inversions.length - max_rows)} more.</p>}
      {chains.length > 0 && <h2>Wait chains{whole}</h2>}
      {chains.slice(0, max_rows).map((chain, index) => <Wait_chain key={index} chain={chain} view={view} />)}
      {chains.length > max_rows && <p>And {grouped(chains.length - max_rows)} more.</p>}
      {unattributed > 0 && <p>{grouped(unattributed)} times locks were taken in pairs for which the recorder had no room.</p>}
    </div>
  );
}
