import {render, type JSX} from 'preact';
import {useEffect, useLayoutEffect, useMemo} from 'preact/hooks';
import {use_address, type Change_state, type State} from './address';
import {Course} from './course';
import {unpack, type Data} from './recording';
import {thread_count} from './names';
import {fixed_view, type View} from './view';
import {Calls} from './views/calls';
import {Changes} from './views/changes';
import {Flame} from './views/flame';
import {Fleet_view} from './views/fleet';
import {Threads_and_lanes} from './views/lanes';
import {Locks} from './views/locks';
import {Memory} from './views/memory';
import {program_text, Summary} from './views/summary';
import {Sites} from './views/sites';
import {seconds, Timeline} from './views/timeline';
import {cut, format_number, grouped, plural, shown} from './formatting';
import 'uplot/dist/uPlot.min.css';
import './style.css';

interface Tab {
  name: string;
  label: string;
  view: (difference: {view: View}) => JSX.Element;
}

const tabs: Tab[] = [
  {name: '', label: 'Summary', view: Summary},
  {name: 'flame', label: 'Flame graph', view: Flame},
  {name: 'sites', label: 'Sites', view: Sites},
  {name: 'memory', label: 'Memory', view: Memory},
  {name: 'threads', label: 'Threads', view: Threads_and_lanes},
  {name: 'locks', label: 'Locks', view: Locks},
  {name: 'calls', label: 'System calls', view: Calls},
  {name: 'timeline', label: 'Timeline', view: Timeline},
];

const themes = ['', 'light', 'dark'];

function end_text({end}: Data): string {
  if (!end) return 'still running when it was recorded, or its recorder was killed';
  const s = (us = 0) => format_number(us / 1e6);
  const ending = end.running ? 'still running' : end.by_signal ? `killed by signal ${end.status}` : `exit code ${end.status ?? 0}`;
  return `${ending}; ran ${s(end.wall_us)} s, used ${s((end.user_us ?? 0) + (end.system_us ?? 0))} s of CPU time`;
}

function Theme({state, change}: {state: State; change: Change_state}): JSX.Element {
  useLayoutEffect(() => {
    if (state.theme) document.documentElement.dataset.theme = state.theme;
    else delete document.documentElement.dataset.theme;
  }, [state.theme]);
  return (
    <button type="button" class="theme" onClick={() => change({theme: themes[(themes.indexOf(state.theme) + 1) % themes.length]})}>
      Theme: {state.theme || 'as the system'}
    </button>
  );
}

// Leaves out the program's folder.
const command_text = (text: string) => cut(shown(text.replace(/^[^ ]*\//, '')), 300);

// A page without tabs, of one view.
interface Single {
  title: string;
  lines: [string, string][];
  redacted?: boolean;
  command: string;
  view: (state: State, change: Change_state) => JSX.Element;
}
function Single_page({title, lines, redacted, command, view}: Single): JSX.Element {
  const [state, change] = use_address();
  return (
    <>
      <header>
        <h1>{title}</h1>
        {lines.map(([name, text]) => <p key={name}>{name}: <bdi>{text}</bdi></p>)}
        {redacted && <p class="risk">Redacted: without paths, arguments, own names and the text of remedies.</p>}
        <Theme state={state} change={change} />
      </header>
      <main>{view(state, change)}</main>
      <footer>Made by <code>{command}</code>. This page is whole: it fetches nothing and sends nothing.</footer>
    </>
  );
}

function page_of(data: Data): JSX.Element {
  const {difference, fleet, redacted} = data;
  if (difference) {
    return <Single_page title="Before and after" lines={[['before', command_text(difference.before)], ['after', command_text(difference.after)]]}
                        redacted={redacted} command="tarn diff --html"
                        view={(state, change) => <Changes difference={difference} state={state} change={change} />} />;
  }
  if (fleet) {
    return <Single_page title="A fleet of hosts" lines={[['recordings', cut(shown(fleet.folder), 300)]]} command="tarn fleet --html"
                        view={(state, change) => <Fleet_view fleet={fleet} state={state} change={change} />} />;
  }
  return <Page data={data} />;
}

function Page({data}: {data: Data}): JSX.Element {
  const [state, change] = use_address();
  const whole = useMemo(() => fixed_view(data), [data]);
  const course = useMemo(() => (data.timeline ? new Course(data) : null), [data]);
  const part = course?.part(state.begin, state.end) ?? null;
  const fixed = useMemo(() => (part ? fixed_view(course!.restrict(part), whole) : whole), [whole, part?.first, part?.end]);
  const view: View = {...fixed, course, part, state, change};
  const tab = tabs.find((tab) => tab.name === state.tab) ?? tabs[0];
  useEffect(() => {
    document.title = `${tab.label} – ${program_text(view)} – Tarn`;
  }, [tab]);
  // Filters that have another meaning on the next tab are reset.
  const go = (name: string) => change({tab: name, category: '', sort: '', order: '', site: ''});
  const key = (event: KeyboardEvent) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    go(next.name);
    document.getElementById(`tab-${next.name}`)?.focus();
  };
  return (
    <>
      <header>
        <h1><bdi>{program_text(view)}</bdi></h1>
        <p>
          {end_text(data)}; {plural(thread_count(data), 'thread')}; recorded {data.recorder.mode === 'sampled' ? 'by samples' : 'in full'}
          {(data.program.images ?? 1) > 1 && `; ${grouped(data.program.images)} programs, one after the other`}
        </p>
        {data.damage && <p class="risk" role="alert">The recording is damaged: {shown(data.damage)}; what came before is shown.</p>}
        {data.recorder.replaced && <p class="risk">{shown(data.recorder.replaced)}.</p>}
        {data.redacted && <p class="risk">Redacted: without paths, arguments, own names and lines of source.</p>}
        <nav role="tablist" aria-label="Views" onKeyDown={key}>
          {tabs.map((choice) => (
            <button key={choice.name} id={`tab-${choice.name}`} role="tab" type="button" aria-selected={choice === tab} aria-controls="view"
                    tabIndex={choice === tab ? 0 : -1} onClick={() => go(choice.name)}>{choice.label}</button>
          ))}
        </nav>
        <Theme state={state} change={change} />
        {part && (
          <p class="part">
            Only from <strong>{seconds(course!.begin(part.first))} s</strong> to <strong>{seconds(course!.ends[part.end - 1])} s</strong> of {seconds(course!.whole)} s.{' '}
            <button type="button" class="link" onClick={() => change({begin: '', end: ''})}>Show the whole run</button>
          </p>
        )}
      </header>
      <main><div id="view" role="tabpanel" aria-labelledby={`tab-${tab.name}`}><tab.view view={view} /></div></main>
      <footer>{data.recorder.overhead.text && `${data.recorder.overhead.text.charAt(0).toUpperCase()}${data.recorder.overhead.text.slice(1)}. `}Made by <code>tarn report --html</code>. This page is whole: it fetches nothing and sends nothing.</footer>
    </>
  );
}

async function start(): Promise<void> {
  const root = document.getElementById('page')!;
  const packed = document.getElementById('recording')!;
  try {
    const data = await unpack(packed.textContent ?? '');
    packed.remove();
    root.replaceChildren();
    render(page_of(data), root);
    document.documentElement.dataset.ready = 'yes';
    performance.mark('ready');
  } catch (error) {
    root.textContent = `This page cannot be read, perhaps it was cut off: ${error}`;
    root.setAttribute('role', 'alert');
  }
}

void start();
