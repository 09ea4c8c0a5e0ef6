// The state of the page is in its address, behind the #, so that everyone with the address sees the same.
import {useEffect, useState} from 'preact/hooks';

export type State = Record<string, string>;

// The default of each setting; the address leaves defaults out.
export const defaults: State = {
  tab: '',
  q: '',          // text that a name must have
  category: '',
  thread: '',
  remedy: '',     // only sites with this remedy
  sort: '',
  order: '',
  site: '',       // the open row, in each table
  metric: 'cost',
  layout: 'icicle',
  zoom: '0',      // nodes
  pin: '0',
  group: '',
  theme: '',
  begin: '',      // seconds of the run
  end: '',
};

export function read_address(text: string): State {
  const state = {...defaults};
  for (const [name, value] of new URLSearchParams(text.replace(/^#/, ''))) {
    if (Object.hasOwn(defaults, name)) state[name] = value.slice(0, 300);
  }
  return state;
}

export function write_address(state: State): string {
  const query = new URLSearchParams();
  for (const name of Object.keys(defaults)) {
    if (state[name] !== undefined && state[name] !== defaults[name]) query.set(name, state[name]);
  }
  return `#${query}`;
}

export type Change_state = (change: State) => void;

export function use_address(): [State, Change_state] {
  const [state, set] = useState(() => read_address(location.hash));
  useEffect(() => {
    const again = () => set(read_address(location.hash));
    addEventListener('hashchange', again);
    return () => removeEventListener('hashchange', again);
  }, []);
  const change = (next: State) => {
    set((before) => {
      const after = {...before, ...next};
      const address = write_address(after);
      // The browser's back button undoes a change of tab or zoom, but not typing.
      const is_step = 'tab' in next || 'zoom' in next;
      if (address !== write_address(before)) history[is_step ? 'pushState' : 'replaceState'](null, '', address);
      return after;
    });
  };
  return [state, change];
}
