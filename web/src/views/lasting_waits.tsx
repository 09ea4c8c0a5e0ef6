// Waits of a process that hung before it was recorded.
import type {JSX} from 'preact';
import {Stack} from '../parts';
import type {Lasting_group} from '../recording';
import type {View} from '../view';
import {grouped, plural} from '../formatting';

const max_rows = 50;

function Group({group, view}: {group: Lasting_group; view: View}): JSX.Element {
  const {threads = [], names = [], holder, holder_name} = group;
  const text_of = (id?: number, name?: string) => name ? `${name} (${id})` : `thread ${id}`;
  const is_join = group.awaited === 'thread_end', has_circle = group.is_deadlock || group.may_be_deadlock;
  const shown_threads = threads.slice(0, has_circle ? 1 : 4);
  const others = threads.length - shown_threads.length;
  const named = shown_threads.map((id, index) => text_of(id, names[index])).join(', ') + (others > 0 && !has_circle ? ` and ${others} more` : '');
  const locks: Record<string, string> = {stream: 'the lock of a FILE', reader_writer: 'a reader-writer lock'};
  const lock = locks[group.awaited ?? ''] ?? 'a mutex';
  const holder_text = group.awaited === 'reader_writer' ? 'that threads had that read, which are not known' : 'whose holder is not known';
  return (
    <div class="holder">
      <p>
        {group.is_deadlock && <strong class="risk">A deadlock: </strong>}
        {group.may_be_deadlock && !group.is_deadlock && <strong class="risk">Perhaps a deadlock: </strong>}<strong>{named}</strong>{' '}
        {is_join ? `waited for the end of ${text_of(holder, holder_name)}` : !holder ? `waited for ${lock} ${holder_text}` : `waited for ${lock} that ${text_of(holder, holder_name)} had`}
        {group.is_deadlock && (threads[0] === holder ? ' already' : ', and which waited for it in turn')}
        {has_circle && others > 0 && `; ${plural(others, 'more thread')} waited for it, outside of this circle`}, at
      </p>
      <Stack names={view.names} node={group.stack ?? 0} />
      {!!group.holder_at?.stack && !group.is_deadlock && <p>Meanwhile {text_of(holder, holder_name)} was at</p>}
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
