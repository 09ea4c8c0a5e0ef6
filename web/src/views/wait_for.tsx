// Wait-for chains: who waited for a lock, who held it, and what that thread did meanwhile.
import type {JSX} from 'preact';
import {Code_location, Stack} from '../parts';
import type {Held_work, Wait_for, Wait_for_link} from '../recording';
import type {View} from '../view';
import {format_duration, grouped, plural, shown} from '../formatting';

const max_rows = 20;

function Actors({threads = [], view}: {threads?: number[]; view: View}): JSX.Element {
  const named = threads.slice(0, 3).map((thread) => view.threads[thread] ?? 'another thread').join(', ');
  return <strong><bdi>{named}{threads.length > 3 ? ` and ${plural(threads.length - 3, 'more thread')}` : ''}</bdi></strong>;
}

// Names the holders: one thread, or one of several at each wait.
function Holders({link, view}: {link: Wait_for_link; view: View}): JSX.Element {
  return <>{(link.holders?.length ?? 0) > 1 ? 'one of ' : ''}<Actors threads={link.holders} view={view} /></>;
}

function work_text({state, call}: Held_work): string {
  const inside = call ? ` in ${shown(call)}` : '';
  if (state === 'running') return 'ran';
  if (state === 'runnable') return 'waited for a processor';
  if (state === 'sleep') return `slept${inside}`;
  return `waited${state === 'idle' ? ' for an event' : ''}${inside}`;
}

function Chain({chain, view}: {chain: Wait_for; view: View}): JSX.Element {
  const links = chain.links ?? [];
  const first = links[0];
  const work = chain.work ?? [];
  const place = (stack?: number) => <Code_location names={view.names} node={view.names.node_of(stack)} />;
  return (
    <details class="order">
      <summary>
        <strong>{format_duration(first.waited_ns)}</strong>: <Actors threads={first.threads} view={view} /> waited for the {shown(first.lock ?? 'lock')} at {place(first.waits_at?.stack)}, held by <Holders link={first} view={view} />
        {links.slice(1).map((link, index) => <span key={index}>, which waited for the {shown(link.lock ?? 'lock')} at {place(link.waits_at?.stack)}, held by <Holders link={link} view={view} /></span>)}
        {work.length > 0 && <>, which {work_text(work[0])}{work[0].stack ? <> at {place(work[0].stack)}</> : ''}</>}
      </summary>
      <ol class="chain">
        {links.map((link, index) => (
          <li key={index}>
            <p><Actors threads={link.threads} view={view} /> waited {format_duration(link.waited_ns)}, {plural(link.waits ?? 0, 'time')}, at</p>
            <Stack names={view.names} node={link.waits_at?.stack ?? 0} />
            <p>while <Holders link={link} view={view} /> held the {shown(link.lock ?? 'lock')}, from</p>
            <Stack names={view.names} node={link.held_from?.stack ?? 0} />
          </li>
        ))}
        {work.map((doing, index) => (
          <li key={`work ${index}`}>
            <p>and meanwhile {work_text(doing)}, about {format_duration(doing.ns)}{doing.stack ? ', at' : ''}</p>
            {doing.stack ? <Stack names={view.names} node={doing.stack} /> : ''}
          </li>
        ))}
        {work.length === 0 && <li>What the holder did meanwhile is not known.</li>}
      </ol>
    </details>
  );
}

// Renders nothing without chains.
export function Wait_for_chains({view}: {view: View}): JSX.Element | null {
  const chains = view.data.wait_for ?? [];
  if (chains.length === 0) return null;
  return (
    <div class="orders wait-for">
      <h2>Who waits for whom{view.part ? ', in the whole run' : ''}</h2>
      {chains.slice(0, max_rows).map((chain, index) => <Chain key={index} chain={chain} view={view} />)}
      {chains.length > max_rows && <p>And {grouped(chains.length - max_rows)} more.</p>}
    </div>
  );
}
