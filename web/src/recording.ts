// The recording in the page: its schema (docs/reference/page-data.md), and how it is unpacked. Members that are 0 or empty are absent.

export type Range = [number, number];

export interface Remedy {
  name: string;
  saved_ns: Range;
  at_least?: boolean;
  saved_share: Range;
  calls_saved?: number;
  advice?: string;
  code?: string;
  note?: string;
}

export interface Site {
  category: string;
  allocations?: number;
  error?: number;
  bytes?: number;
  threads?: number;
  may_have_more_threads?: boolean;
  freed_by_same_thread?: number;
  remote_frees?: number;
  end_blocks?: number;
  peak_bytes?: number;  // in use when the process had the most bytes in use
  peak_range?: Range;   // of a sampled recording: holds the true bytes
  end_range?: Range;
  peak_blocks?: number;
  end_bytes?: number;
  trend?: 'unknown' | 'steady' | 'fills' | 'grows';
  bytes_per_second?: number;  // in the last third of the run
  short_lived?: number;
  reallocs?: number;
  moved_reallocs?: number;
  copied_bytes?: number;
  size_histogram: number[];
  lifetime_histogram: number[];
  time_histogram: number[];
  thread_pairs?: {allocating_thread?: number; freeing_thread?: number; blocks?: number}[];
  by_thread?: [number, number][];
  weights?: Site_weight[];
  stack?: number;
  frame_index?: number;
  type?: string;
  source_line?: string;
  remedy?: string;
  unjudged_remedy?: string;
  predicted: {now_ns: Range; share: Range; reasons?: string[]; remedies?: Remedy[]};
}

// A stack of a site: node, blocks, bytes, bytes at the peak, bytes in use at the end.
export type Site_weight = [number, number, number, number, number];

// A stack of one thread: node, count, nanoseconds, thread.
export type Stack_weight = [number, number, number, number];

export interface LockSite {
  acquisitions?: number;
  error?: number;  // of the acquisitions, relative; 0 if all were counted
  waited_count?: number;
  refused?: number;
  waited_ns?: number;
  held_ns?: number;
  stack?: number;
  waits?: {holder?: number; waits?: number; waited_ns?: number; stack?: number}[];
}

export interface Lock extends Omit<LockSite, 'waits'> {
  type: string;
  category: string;
  locks?: number;
  threads?: number;
  may_have_more_threads?: boolean;
  longest_wait_ns?: number;
  held_wait_ns?: number;  // the part of the waits in which another thread had the lock
  holds?: number;
  longest_held_ns?: number;
  weights?: Stack_weight[];
  calls_inside?: {name: string; count?: number; time_ns?: number; stack?: number}[];  // made while it is held
  sites?: LockSite[];
  still_held?: number;  // holds that had not ended when the recording ended
  still_waiting?: Unfinished_wait[];  // the longest first
  remedy?: string;
}

// A wait for a lock that had not ended when the recording ended. `holder` and `held_from` are absent where the holder is
// not known.
export interface Unfinished_wait {
  thread?: number;
  waited_ns?: number;
  stack?: number;
  holder?: number;
  held_from?: {stack?: number};
  is_deadlock?: boolean;  // the holder waited for this thread in turn
}

export interface Ordered_lock {
  type?: string;
  address?: number;
  stack?: number;  // of its first use
}
type Somewhere = {stack?: number};

// Locks that are taken in a circle: each step holds the lock that the previous step takes.
export interface Inversion {
  steps?: {lock?: Ordered_lock; times?: number; threads?: number[]; held_from?: Somewhere; takes_at?: Somewhere}[];
  by_one_thread?: boolean;
  is_deadlock?: boolean;  // the threads still waited when the recording ended
  similar_cycles?: number;
}

// A wait chain: each holder waits for the next one.
export interface Chain {
  waited_ns?: number;
  links?: {lock?: Ordered_lock; thread?: number; waits?: number; waited_ns?: number; waits_at?: Somewhere; holder?: number; held_from?: Somewhere}[];
}

// A system call that had not returned when the recording ended.
export interface Unfinished_call {
  name: string;
  thread?: number;
  time_ns?: number;  // so far
  stack?: number;
}

export interface Call {
  name: string;
  category: string;
  count?: number;
  error?: number;
  errors?: number;
  bytes?: number;
  bytes_asked?: number;
  same_arguments?: number;
  in_a_row?: number;
  weights?: Stack_weight[];
  time_ns?: number;
  threads?: number;
  may_have_more_threads?: boolean;
  stack?: number;
  remedy?: string;
  predicted?: {saved_ns?: Range; at_least?: boolean; reason?: string};
}

// Samples of the processor, and the CPU time that they stand for.
export interface Cpu {
  samples?: number;
  kernel?: number;
  weights?: [number, number, number, number, number?][];  // node, ns, those in the kernel, thread, ns waited
}

// The time of a thread in one state; of waits, that at one location and for one holder.
export interface Lane_part {
  state: string;
  call?: string;
  holder?: number;  // absent: not known, or no lock
  stack?: number;
  ns?: number;
  intervals?: number[];
  interval_ns?: number[];  // for each of these intervals
}
interface Lane_sums {
  running_ns?: number;
  runnable_ns?: number;
  lock_ns?: number;
  kernel_ns?: number;
  sleep_ns?: number;
  idle_ns?: number;
  unknown_ns?: number;
}
export interface Lane extends Lane_sums {
  thread?: number;
  activities?: Lane_part[];
}
export interface Lanes {
  to_ns?: number[];  // ends of the intervals
  threads?: Lane[];  // the most CPU time first
  others?: Lane_sums & {threads?: number};
}

// Threads wait for a lock that others hold, which wait in turn; and what the last holders did meanwhile.
export interface Held_work {
  state: string;
  call?: string;
  ns?: number;
  stack?: number;
}
export interface Wait_for_link {
  lock?: string;
  threads?: number[];
  holders?: number[];
  waits?: number;
  waited_ns?: number;
  held_ns?: number;
  waits_at?: Somewhere;
  held_from?: Somewhere;
}
export interface Wait_for {
  links?: Wait_for_link[];
  work?: Held_work[];
}

export interface Side {
  function?: string;
  file?: string;
  line?: number;
  category: string;
  allocations?: number;
  bytes?: number;
  copied_bytes?: number;
  remote_frees?: number;
  peak_bytes?: number;
  end_bytes?: number;
  now_ns: Range;
  remedy?: string;
}

export interface Change {
  before?: Side;
  after?: Side;
  model_saved_ns: Range;  // the difference of the counts at the model's prices
  predicted?: {name: string; saved_ns: Range; is_taken?: boolean; saved_allocations?: number; outcome?: 'as predicted' | 'fewer' | 'more' | 'not taken'};
}

// A saving at the peak that the contents of a site's blocks tell.
export interface Saving {
  remedy: string;
  saved_bytes?: number;
  saved_range?: Range;
  blocks?: number;
  unwritten_blocks?: number;
  equal_blocks?: number;
  stack?: number;
  frame_index?: number;
}

export interface Memory_sums {
  peak_bytes?: number;
  end_bytes?: number;
  peak_range?: Range;
  end_range?: Range;
}

// Of locks or system calls, or of the CPU time or the waits of functions.
export interface Use {
  operation?: string;
  function?: string;
  file?: string;
  count?: number;
  time_ns?: number;
  waiting_ns?: number;  // of `time_ns`, in calls that wait
}

export interface Use_changes {
  before?: Use;
  after?: Use;
  changes?: {before?: Use | null; after?: Use | null}[];
}

export interface Difference {
  before: string;
  after: string;
  allocations?: Record<string, {before?: number; after?: number}>;  // missing without recorded heaps
  heap_ns: {before: Range; after: Range};
  saved_cpu_ns: Range | null;  // null if the CPU times cannot be compared
  predicted_ns: Range;
  notes?: string[];
  changes?: Change[];
  memory?: {before?: Memory_sums; after?: Memory_sums; changes?: {before?: Side; after?: Side}[]};
  cpu?: Use_changes | null;  // null if one of the recordings does not have them
  waits?: Use_changes | null;
  locks?: Use_changes | null;
  syscalls?: Use_changes | null;
}

// The hosts of a release: the cost of one site on each of them, in ascending order, or 101 quantiles where there are more.
export interface Fleet_release {version: string; hosts: number; values: number[]; dearest: [string, number][]}
export interface Fleet_site {
  place: number; service: string; source: string; category: string; operation: string; function: string; file: string;
  seconds: number; hosts: number; all_hosts: number; median_ms_per_s: number | null; max_ms_per_s: number | null;
  releases: Fleet_release[];
}

// The answers of `tarn fleet`, row by row.
export interface Fleet {
  folder: string;
  before: string;
  after: string;
  sites: Fleet_site[];
  versions: {service: string; version: string; hosts: number; recordings: number; hours: number}[];
  remedies: {source: string; remedy: string; saves_low_s: number; saves_high_s: number; waits_s: number; hosts: number}[];
  outliers: {version: string; host: string; source: string; ms_per_s: number; median_ms_per_s: number; hosts: number}[];
  regressions: {verdict: string; function: string; before_ms_per_s: number; after_ms_per_s: number; more_low: number; more_high: number}[] | null;
}

// What is worth doing in one source, with the sentence of the text.
export interface Verdict {
  source: string;
  verdict: string;
  text: string;
}

// Threads that waited since before the recording, by the kernel's numbers.
export interface Lasting_group {
  awaited?: string;
  threads?: number[];
  names?: string[];  // of the threads; empty where it is the program's
  holder?: number;
  holder_name?: string;
  stack?: number;
  holder_at?: {stack?: number};
  is_deadlock?: boolean;
  may_be_deadlock?: boolean;
}

export interface Data {
  kind: 'report' | 'difference' | 'fleet';
  redacted?: boolean;
  damage?: string;
  verdicts?: Verdict[];  // the largest gain first
  tick_ns?: number;      // the length of a tick of the recorder's clock, for `time_histogram` of a site
  program: {arguments?: string[]; process?: number; machine?: string; images?: number};
  end?: {by_signal?: boolean; running?: boolean; status?: number; wall_us?: number; user_us?: number; system_us?: number};
  recorder: {mode?: string; own_malloc?: {module?: string; functions: string[]} | null; sources?: string[]; dropped?: number; limits?: {limit: string; missing: string; help: string}[]; replaced?: string; unrecorded_heaps?: string; overhead: {cpu_ns: Range; text?: string; program_cpu_ns: Range}};
  heap: {
    allocations?: number;
    frees?: number;
    bytes?: number;
    end_blocks?: number;
    predicted: {now_ns: Range; share: Range; drop_in_saves_ns: Range};
  };
  memory?: {
    peak_bytes?: number; peak_blocks?: number; peak_ns?: number; end_bytes?: number; end_blocks?: number; resident_bytes?: number;
    peak_range?: Range; end_range?: Range;
    contents?: {in_use_bytes?: number; sites?: Saving[]} | null;
  };
  cpu?: Cpu | null;
  lanes?: Lanes | null;
  wait_for?: Wait_for[];
  cost_model?: {machine?: string; library?: string; date?: string};
  threads?: {image?: number; id?: number; name?: string; role?: string; predecessors?: number}[];  // `predecessors`: threads that counted in the same row before it
  totals?: {acquisitions?: number; acquisitions_error?: number; waited_count?: number; waited_ns?: number; calls?: number; calls_ns?: number};
  crossings?: [number, number, number][];
  sites?: Site[];
  locks?: Lock[];
  lasting_waits?: {groups?: Lasting_group[]; in_deadlock?: number; for_mutexes?: number; without_holder?: number};
  lock_orders?: {inversions?: Inversion[]; chains?: Chain[]; unattributed?: number};
  syscalls?: Call[];
  unfinished_calls?: Unfinished_call[];  // the longest first
  strings: string[];
  locations: {function: number[]; file: number[]; line: number[]; module: number[]};
  nodes: {parent: number[]; location: number[]};
  difference?: Difference;
  fleet?: Fleet;
  timeline?: Timeline;
}

// The end, memory, CPU time and programs so far (one more by each exec) of each interval, and the cells of each table with their points, in columns.
export interface Timeline {
  to_ns: number[];
  resident_bytes: number[];
  cpu_us: number[];
  images: number[];
  heap: Record<string, number[]>;
  locks: Record<string, number[]>;
  waits: Record<string, number[]>;
  calls: Record<string, number[]>;
}

export async function unpack(text: string): Promise<Data> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; ++index) bytes[index] = binary.charCodeAt(index);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return (await new Response(plain).json()) as Data;
}
