// In which order locks are taken: what could deadlock, and who waited for a holder that waited itself.
import type {JSX} from 'preact';
import {Place, Stack} from '../parts';
import type {Chain, Inversion, Ordered_lock} from '../recording';
import type {View} from '../view';
import {count_words, duration_words, grouped, plural, shown} from '../words';

const most = 50;
const letter = (at: number) => String.fromCharCode(65 + (at % 26));

function Lock_name({lock, at, view}: {lock?: Ordered_lock; at: number; view: View}): JSX.Element {
  return <><strong>{shown(lock?.type ?? 'lock')} {letter(at)}</strong> <small>first used at</small> <Place names={view.names} node={view.names.own(lock?.stack)} /></>;
}

function Threads({of, view}: {of: number[]; view: View}): JSX.Element {
  const named = of.slice(0, 4).map((each) => view.threads[each] ?? 'another thread').join(', ');
  return <bdi>{named}{of.length > 4 ? ` and ${of.length - 4} more` : ''}</bdi>;
}

function Circle({of, view}: {of: Inversion; view: View}): JSX.Element {
  const steps = of.steps ?? [];
  return (
    <details class="order">
      <summary>
        <strong>{of.by_one_thread ? 'Could deadlock, if a second thread did the same' : 'Could deadlock'}</strong>:{' '}
        {steps.length === 2 ? 'two locks are taken in both orders' : `${steps.length} locks are taken in a circle`}, at{' '}
        {steps.slice(0, 3).map((step, at) => <span key={at}>{at > 0 && ' and '}<Place names={view.names} node={view.names.own(step.takes_at?.stack)} /></span>)}
        {(of.alike ?? 1) > 1 && `; so are ${grouped(of.alike! - 1)} more of these locks`}
      </summary>
      <div class="columns">
        {steps.map((step, at) => (
          <div key={at}>
            <p>{count_words(step.times)} times, by <Threads of={step.threads ?? []} view={view} />: <Lock_name lock={step.lock} at={at} view={view} /> is held, from</p>
            <Stack names={view.names} node={step.held_from?.stack ?? 0} />
            <p>and <Lock_name lock={steps[(at + 1) % steps.length].lock} at={(at + 1) % steps.length} view={view} /> taken, at</p>
            <Stack names={view.names} node={step.takes_at?.stack ?? 0} />
          </div>
        ))}
      </div>
      <p>What ends it: one order everywhere; or both at once, by <code>tarn::with(a, b, …)</code> or <code>std::scoped_lock</code>.</p>
    </details>
  );
}

function Wait_chain({of, view}: {of: Chain; view: View}): JSX.Element {
  const links = of.links ?? [];
  return (
    <details class="order">
      <summary>
        <strong>Up to {duration_words(of.waited_ns)}</strong>: <Place names={view.names} node={view.names.own(links[0]?.at?.stack)} /> waited for a lock whose holder itself waited, at{' '}
        <Place names={view.names} node={view.names.own(links[1]?.at?.stack)} />
      </summary>
      <ol class="chain">
        {links.map((link, at) => (
          <li key={at}>
            <p><bdi>{view.threads[link.thread ?? 0] ?? 'another thread'}</bdi> waited {duration_words(link.waited_ns)}, {plural(link.waits ?? 0, 'time')}, for <Lock_name lock={link.lock} at={at} view={view} />, at</p>
            <Stack names={view.names} node={link.at?.stack ?? 0} />
            <p>while <bdi>{view.threads[link.holder ?? 0] ?? 'another thread'}</bdi> held it, from</p>
            <Stack names={view.names} node={link.held_from?.stack ?? 0} />
          </li>
        ))}
      </ol>
    </details>
  );
}

// Nothing where there is nothing to say.
export function Orders({view}: {view: View}): JSX.Element | null {
  const {inversions = [], chains = [], beyond = 0} = view.data.lock_orders ?? {};
  if (inversions.length + chains.length + beyond === 0) return null;
  const whole = view.part ? ', in the whole run' : '';
  return (
    <div class="orders">
      {inversions.length > 0 && <h2>Order inversions{whole}</h2>}
      {inversions.slice(0, most).map((each, at) => <Circle key={at} of={each} view={view} />)}
      {inversions.length > most && <p>And {grouped(inversions.length - most)} more.</p>}
      {chains.length > 0 && <h2>Wait chains{whole}</h2>}
      {chains.slice(0, most).map((each, at) => <Wait_chain key={at} of={each} view={view} />)}
      {chains.length > most && <p>And {grouped(chains.length - most)} more.</p>}
      {beyond > 0 && <p>{grouped(beyond)} times locks were taken in pairs for which the recorder had no room.</p>}
    </div>
  );
}
