// Waits of a process that hung before it was recorded.
import type {JSX} from 'preact';
import {Stack} from '../parts';
import type {Lasting_group} from '../recording';
import type {View} from '../view';
import {grouped, plural} from '../formatting';

const max_rows = 50;

function Group({group, view}: {group: Lasting_group; view: View}): JSX.Element {
  const {threads = [], holder} = group;
  const named = `${threads.length === 1 ? 'Thread' : 'Threads'} ${threads.slice(0, 4).join(', ')}${threads.length > 4 ? ` and ${threads.length - 4} more` : ''}`;
  const is_join = group.awaited !== 'mutex';
  return (
    <div class="holder">
      <p>
        {group.is_deadlock && <strong class="risk">A deadlock: </strong>}<strong>{named}</strong>{' '}
        {is_join ? `waited for the end of thread ${holder}` : !holder ? 'waited for a mutex whose holder is not known' : `waited for a mutex that thread ${holder} had`}
        {group.is_deadlock && (threads[0] === holder ? ' already' : ', and which waited for it in turn')}, at
      </p>
      <Stack names={view.names} node={group.stack ?? 0} />
      {!!group.holder_at?.stack && !group.is_deadlock && <p>Meanwhile thread {holder} was at</p>}
      {!!group.holder_at?.stack && !group.is_deadlock && <Stack names={view.names} node={group.holder_at.stack} />}
    </div>
  );
}

// Renders nothing where there are none.
export function Lasting_waits({view}: {view: View}): JSX.Element | null {
  const {groups = [], without_holder = 0} = view.data.lasting_waits ?? {};
  if (groups.length === 0) return null;
  return (
    <div class="orders">
      <h2>Waits since before the recording</h2>
      {groups.slice(0, max_rows).map((group, index) => <Group key={index} group={group} view={view} />)}
      {groups.length > max_rows && <p>And {grouped(groups.length - max_rows)} more.</p>}
      {without_holder > 0 && <p>{plural(without_holder, 'more thread')} waited for what has no holder, such as a condition variable or a semaphore.</p>}
    </div>
  );
}
