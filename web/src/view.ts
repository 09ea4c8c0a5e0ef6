// What every view is given.
import type {Change_state, State} from './address';
import type {Course, Part} from './course';
import {Names, thread_names} from './names';
import type {Data, Range} from './recording';
import {range_words} from './words';

export interface View {
  data: Data;
  names: Names;
  threads: string[];
  course: Course | null;
  part: Part | null;  // of the run, which `data` is; null: all of it
  state: State;
  change: Change_state;
  unit: string;                             // of times: ms/s where it is known how long the program ran, else ms
  timed: (ns: Range | number) => Range;     // in that unit
  time_words: (ns: Range | number) => string;
  gain_words: (remedy: Gain) => string;     // with "or more" or "up to" where it is so
  has_share: boolean;                       // whether shares of the processor's time are known
}

export interface Gain {
  saved_ns: Range;
  at_least?: boolean;
}

type Fixed = Omit<View, 'state' | 'change' | 'course' | 'part'>;

// `whole`: of the recording of which `data` is a part.
export function fixed_view(data: Data, whole?: Fixed): Fixed {
  const wall_s = (data.end?.wall_us ?? 0) / 1e6;
  const unit = wall_s > 0 ? 'ms/s' : 'ms';
  const factor = 1e-6 / (wall_s > 0 ? wall_s : 1);
  const timed = (ns: Range | number): Range => {
    const [low, high] = typeof ns === 'number' ? [ns, ns] : ns;
    return [low * factor, high * factor];
  };
  const time_words = (ns: Range | number) => `${range_words(timed(ns))} ${unit}`;
  return {
    data,
    names: whole?.names ?? new Names(data),
    threads: whole?.threads ?? thread_names(data),
    unit,
    timed,
    time_words,
    gain_words: ({saved_ns, at_least}) => {
      const [low, high] = saved_ns;
      if (at_least) return `${time_words([Math.max(low, 0), high])} or more`;
      if (low > 0 || high <= 0) return time_words(saved_ns);
      return `up to ${time_words(high)}${low < 0 ? `, or costs up to ${time_words(-low)}` : ''}`;
    },
    has_share: (data.recorder?.overhead?.program_cpu_ns?.[1] ?? 0) > 0,
  };
}
