// Threads that free blocks of other threads.
import type {JSX} from 'preact';
import {useMemo, useState} from 'preact/hooks';
import {Choice, Code_location} from '../parts';
import type {View} from '../view';
import {format_count, grouped} from '../formatting';

const max_rows = 24;  // more threads are grouped by their function

export function Threads({view}: {view: View}): JSX.Element {
  const {data, names, threads, state, change} = view;
  const [chosen, choose] = useState('');
  const active = useMemo(() => new Set((data.crossings ?? []).flatMap(([owner, actor]) => [owner, actor])), [data]);
  const by_role = (state.group || (active.size > max_rows ? 'role' : 'thread')) === 'role';
  const group_of = useMemo(() => threads.map((thread) => (by_role ? thread.replace(/ #\d+$| \d+$/, '') : thread)), [threads, by_role]);
  const {groups, cells, maximum} = useMemo(() => {
    const blocks_of = new Map<string, number>();
    const order = new Set<string>();
    for (const [owner, actor, frees] of data.crossings ?? []) {
      const key = `${group_of[owner]}\n${group_of[actor]}`;
      blocks_of.set(key, (blocks_of.get(key) ?? 0) + frees);
    }
    [...active].sort((a, b) => a - b).forEach((thread) => order.add(group_of[thread]));
    return {groups: [...order].slice(0, 200), cells: blocks_of, maximum: Math.max(1, ...blocks_of.values())};
  }, [data, group_of]);
  const crossing = useMemo(() => {
    const [owner, actor] = chosen.split('\n');
    return (data.sites ?? [])
      .map((site, index) => ({site, index, blocks: (site.thread_pairs ?? []).filter((pair) => group_of[pair.allocating_thread ?? 0] === owner && group_of[pair.freeing_thread ?? 0] === actor).reduce((sum, pair) => sum + (pair.blocks ?? 0), 0)}))
      .filter((site) => site.blocks > 0).sort((a, b) => b.blocks - a.blocks).slice(0, 10);
  }, [data, chosen, group_of]);
  if (groups.length === 0) return <section><p class="none">No block was freed in this recording.</p></section>;
  return (
    <section>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <Choice label="Rows" value={by_role ? 'role' : 'thread'} set={(group) => change({group})} options={[['thread', 'each thread'], ['role', 'by what they run']]} />
        <output>{grouped(active.size)} threads; blocks that cross from one to another cost more than others</output>
      </form>
      <div class="scroller matrix" tabIndex={0} role="region" aria-label="Blocks by the thread that allocated and the one that freed">
        <table>
          <caption>Blocks, by the thread that allocates (rows) and the thread that frees (columns)</caption>
          <thead><tr><th scope="col">allocates ↓ frees →</th>{groups.map((group) => <th key={group} scope="col"><bdi>{group}</bdi></th>)}</tr></thead>
          <tbody>
            {groups.map((owner) => (
              <tr key={owner}>
                <th scope="row"><bdi>{owner}</bdi></th>
                {groups.map((actor) => {
                  const key = `${owner}\n${actor}`;
                  const blocks = cells.get(key) ?? 0;
                  const strength = blocks === 0 ? 0 : Math.round(12 + (58 * Math.log1p(blocks)) / Math.log1p(maximum));
                  const is_same = owner === actor;
                  if (blocks === 0) return <td key={actor} class="zero">–</td>;
                  return (
                    <td key={actor} class={is_same ? 'own' : 'crossing'} style={{'--strength': `${strength}%`}}>
                      {is_same ? format_count(blocks) : (
                        <button type="button" aria-pressed={chosen === key} onClick={() => choose(chosen === key ? '' : key)}
                                aria-label={`${grouped(blocks)} blocks of ${owner}, freed by ${actor}: show the sites`}>{format_count(blocks)}</button>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {chosen && (
        <div aria-live="polite">
          <h2>Sites whose blocks go from <bdi>{chosen.split('\n')[0]}</bdi> to <bdi>{chosen.split('\n')[1]}</bdi></h2>
          <ul class="below">
            {crossing.map(({site, index, blocks}) => (
              <li key={index}>
                <button type="button" class="link" onClick={() => change({tab: 'sites', site: String(index), q: '', category: '', thread: ''})}>
                  <Code_location names={names} node={names.above(site.stack, site.frame_index ?? 0)} />
                </button> {format_count(blocks)} blocks
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
