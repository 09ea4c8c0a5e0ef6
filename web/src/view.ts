// The data that every view gets.
import type {Change_state, State} from './address';
import type {Course, Part} from './course';
import {Names, thread_names} from './names';
import type {Data, Range} from './recording';
import {format_guess, format_number, guess_parts} from './formatting';

export interface View {
  data: Data;
  names: Names;
  threads: string[];
  course: Course | null;
  part: Part | null;  // the part of the run that `data` describes; null: all of it
  state: State;
  change: Change_state;
  unit: string;                             // the unit of costs: "% of CPU" if the program's CPU time is known, else "ms of CPU time"
  timed: (ns: Range | number) => Range;     // a cost in that unit
  format_cost: (ns: Range | number) => string;  // "about 4 % of CPU (2–7 %)"
  cost_parts: (ns: Range) => [string, string];  // "about 4 % of CPU" and "2–7 %"
  // "saves about 4 % of CPU (2–7 %)"; if it is only a bound, "saves at least … (2–7 % in the allocator alone)", where
  // `covered` names what is covered.
  format_gain: (remedy: Gain, covered?: string) => string;
  wait_share: (ns: number) => string;       // a share of waiting time, such as "12 % of one thread"; of several threads it may exceed 100 %
}

export interface Gain {
  saved_ns: Range;
  at_least?: boolean;
}

type Fixed = Omit<View, 'state' | 'change' | 'course' | 'part'>;

// `whole` is the recording of which `data` is a part.
export function fixed_view(data: Data, whole?: Fixed): Fixed {
  const wall_s = (data.end?.wall_us ?? 0) / 1e6;
  const cpu = data.recorder?.overhead?.program_cpu_ns ?? [0, 0];
  const is_share = cpu[1] > 0;
  const unit = is_share ? '% of CPU' : 'ms of CPU time';
  const ratio = ([low, high]: Range): Range => [low / Math.max(cpu[1], 1), high / Math.max(cpu[0], 1)];
  // The heap takes at most all of the time, and its sites add up to it: analysis::share() computes the same.
  const heap = ratio(data.heap?.predicted?.now_ns ?? [0, 0]);
  const certain = Math.max(heap[0], 1);
  const possible = heap[1] > 1 ? Math.max(1 - heap[0], 0) / Math.max(heap[1] - heap[0], 1e-9) : 1;
  const timed = (ns: Range | number): Range => {
    const range: Range = typeof ns === 'number' ? [ns, ns] : ns;
    if (!is_share) return [range[0] * 1e-6, range[1] * 1e-6];
    const [low, high] = ratio(range);
    const base = Math.max(low, 0);
    const end = high <= 0 ? high / certain : base / certain + Math.max(high - base, 0) * possible;
    return [Math.min(100, (100 * low) / certain), Math.min(100, 100 * end)];
  };
  const ends = is_share ? ' %' : '';
  const format_cost = (ns: Range | number, covered = '') => format_guess(timed(ns), ` ${unit}`, ends, covered);
  return {
    data,
    names: whole?.names ?? new Names(data),
    threads: whole?.threads ?? thread_names(data),
    unit,
    timed,
    format_cost,
    cost_parts: (ns) => guess_parts(timed(ns), ` ${unit}`, ends),
    format_gain: ({saved_ns, at_least}, covered = 'in the allocator alone') => {
      const [low, high] = saved_ns;
      const text = format_cost(saved_ns, at_least ? ` ${covered}` : '');
      const verb = low > 0 ? (at_least ? 'saves at least' : 'saves') : low + high > 0 ? 'may save' : 'no gain expected:';
      return `${verb} ${text}`;
    },
    wait_share: (ns) => (wall_s <= 0 ? '' : `${format_number(ns / 1e7 / wall_s)} % of one thread`),
  };
}
