// The course of a run: the additions of each interval to each cell, and the recording of any part of the run.
import type {Call, Data, Lock, Range, Site} from './recording';
import {categories, on_purpose, type Metric} from './weights';
import {middle} from './formatting';

// Cells with their points, as typed arrays.
class Cells {
  readonly count: number;
  private readonly first: Int32Array;  // the first point of each cell, and the end
  private readonly interval_of: Int32Array;     // intervals of points
  private readonly columns: Map<string, Float64Array>;

  constructor(private readonly table: Record<string, number[]>) {
    const points = table.points ?? [];
    this.count = points.length;
    this.first = new Int32Array(this.count + 1);
    for (let cell = 0; cell < this.count; ++cell) this.first[cell + 1] = this.first[cell] + points[cell];
    this.interval_of = Int32Array.from(table.intervals ?? []);
    this.columns = new Map();
  }

  key(name: string): number[] {
    return this.table[name] ?? [];
  }
  private column(name: string): Float64Array {
    let sums = this.columns.get(name);
    if (!sums) this.columns.set(name, (sums = Float64Array.from(this.table[name] ?? [])));
    return sums;
  }
  // Returns for each cell the additions of the intervals [from, to).
  sums(name: string, first: number, end: number): Float64Array {
    const values = this.column(name);
    const sums = new Float64Array(this.count);
    for (let cell = 0; cell < this.count; ++cell) {
      let sum = 0;
      for (let point = this.first[cell]; point < this.first[cell + 1]; ++point) {
        if (this.interval_of[point] >= first && this.interval_of[point] < end) sum += values[point];
      }
      sums[cell] = sum;
    }
    return sums;
  }
  each_point(name: string, take: (cell: number, interval: number, value: number) => void): void {
    const values = this.column(name);
    for (let cell = 0; cell < this.count; ++cell) {
      for (let point = this.first[cell]; point < this.first[cell + 1]; ++point) take(cell, this.interval_of[point], values[point]);
    }
  }
}

// One category, with a number for each interval.
export interface Line {
  category: string;
  values: Float64Array;
}

export interface Part {
  first: number;  // intervals [first, end)
  end: number;
}

const times = ([low, high]: Range = [0, 0], factor: number): Range => [low * factor, high * factor];
const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);

export class Course {
  readonly ends: number[];  // the ends of the intervals, in seconds
  readonly resident: number[];
  readonly processor: number[];  // the processors used in each interval
  private readonly heap: Cells;
  private readonly locks: Cells;
  private readonly waits: Cells;
  private readonly calls: Cells;

  constructor(private readonly data: Data) {
    const timeline = data.timeline!;
    this.ends = timeline.to_ns.map((ns) => ns / 1e9);
    this.resident = timeline.resident_bytes;
    this.processor = timeline.cpu_us.map((us, index) => us / 1e6 / Math.max(1e-9, this.length(index)));
    this.heap = new Cells(timeline.heap);
    this.locks = new Cells(timeline.locks);
    this.waits = new Cells(timeline.waits);
    this.calls = new Cells(timeline.calls);
  }

  begin(interval: number): number {
    return interval === 0 ? 0 : this.ends[interval - 1];
  }
  length(interval: number): number {
    return this.ends[interval] - this.begin(interval);
  }
  get whole(): number {
    return this.ends[this.ends.length - 1];
  }

  // Returns the intervals that contain the time between two texts of seconds; null for the whole run or invalid texts.
  part(begin: string, finish: string): Part | null {
    const low = begin === '' ? 0 : Number(begin);
    const high = finish === '' ? this.whole : Number(finish);
    if (!(low < high) || low >= this.whole || high <= 0) return null;
    const rounding = 6e-4;  // the address has rounded seconds
    let first = 0;
    while (first + 1 < this.ends.length && this.ends[first] <= low + rounding) ++first;
    let end = this.ends.length;
    while (end - 1 > first && this.ends[end - 2] >= high - rounding) --end;
    return first === 0 && end === this.ends.length ? null : {first, end};
  }

  // Returns the allocations, calls or waits of each interval, by category.
  lines(table: Exclude<Metric['table'], 'cpu' | 'time'>, column: string): Line[] {
    const [cells, key, rows] = {
      sites: [this.heap, 'site', this.data.sites],
      locks: [this.locks, 'lock', this.data.locks],
      syscalls: [this.calls, 'call', this.data.syscalls],
    }[table] as [Cells, string, (Site | Lock | Call)[] | undefined];
    return this.sorted(table, (line_of) => {
      const rows_of = cells.key(key);
      cells.each_point(column, (cell, index, value) => { line_of(rows![rows_of[cell]].category)[index] += value; });
    });
  }

  // Returns the bytes in use at the end of each interval, by category.
  in_use(): Line[] {
    const sites = this.data.sites ?? [];
    const [site_of, owner_of] = [this.heap.key('site'), this.heap.key('owner')];
    const owners = new Map<number, number>();  // by site: its program is that of each of them
    const changes = new Map<number, Float64Array>();
    const add = (sign: number) => (cell: number, interval: number, value: number) => {
      let change = changes.get(site_of[cell]);
      if (!change) changes.set(site_of[cell], (change = new Float64Array(this.ends.length)));
      change[interval] += sign * value;
      owners.set(site_of[cell], owner_of[cell]);
    };
    this.heap.each_point('bytes', add(1));
    this.heap.each_point('freed_bytes', add(-1));
    return this.sorted('sites', (line_of) => {
      for (const [number, change] of changes) {
        const line = line_of(sites[number].category);
        let bytes = 0;
        change.forEach((added, index) => {
          bytes += added;
          if (!this.has_ended(owners.get(number)!, index)) line[index] += Math.max(0, bytes);
        });
      }
    });
  }

  // Returns whether a thread's program, whose blocks ended with it, has become another by exec before the end of the interval.
  private has_ended(thread: number, interval: number): boolean {
    return (this.data.threads?.[thread]?.image ?? 0) + 1 < this.data.timeline!.images[interval];
  }

  private sorted(table: Metric['table'], fill: (line_of: (category: string) => Float64Array) => void): Line[] {
    const lines = new Map<string, Float64Array>();
    fill((category) => {
      let line = lines.get(category);
      if (!line) lines.set(category, (line = new Float64Array(this.ends.length)));
      return line;
    });
    const order = categories[table];
    return [...lines].map(([category, values]) => ({category, values})).sort((a, b) => order.indexOf(a.category) - order.indexOf(b.category));
  }

  // Returns the recording of a part. Rows keep their order; categories, histograms and texts are those of the whole run.
  restrict({first, end}: Part): Data {
    const {data} = this;
    const wall_us = (this.ends[end - 1] - this.begin(first)) * 1e6;
    const spent = data.timeline!.cpu_us.slice(first, end).reduce((sum, spent_us) => sum + spent_us, 0);
    const all_spent = data.timeline!.cpu_us.reduce((sum, spent_us) => sum + spent_us, 0);
    const {sites, crossings, costs} = this.sites_in(first, end, share(all_spent, spent));
    const locks = this.locks_in(first, end);
    const syscalls = this.calls_in(first, end);
    const sum = <Row,>(rows: Row[], value: (row: Row) => number | undefined) => rows.reduce((total, row) => total + (value(row) ?? 0), 0);
    const taken = locks.filter((lock) => lock.category !== 'condition');
    const {heap} = data;
    const {predicted} = heap;
    const blocks = share(sum(sites, (site) => site.allocations), sum(data.sites ?? [], (site) => site.allocations));
    return {
      ...data, sites, locks, syscalls, crossings, cpu: null,  // samples have no time
      end: {...data.end, wall_us, user_us: spent, system_us: 0},
      recorder: {...data.recorder, overhead: {...data.recorder.overhead, program_cpu_ns: times(data.recorder.overhead.program_cpu_ns, share(spent, all_spent))}},
      heap: {
        ...heap, allocations: (heap.allocations ?? 0) * blocks,
        bytes: (heap.bytes ?? 0) * share(sum(sites, (site) => site.bytes), sum(data.sites ?? [], (site) => site.bytes)),
        predicted: {
          now_ns: times(predicted.now_ns, costs), share: times(predicted.share, costs * share(all_spent, spent)),
          drop_in_saves_ns: times(predicted.drop_in_saves_ns, costs),
        },
      },
      memory: {end_bytes: sum(sites, (site) => Math.max(0, site.end_bytes ?? 0)), end_blocks: sum(sites, (site) => Math.max(0, site.end_blocks ?? 0))},
      totals: {
        acquisitions: sum(taken, (lock) => lock.acquisitions), waited_count: sum(taken, (lock) => lock.waited_count), waited_ns: sum(taken, (lock) => lock.waited_ns),
        calls: sum(syscalls, (call) => call.count), calls_ns: sum(syscalls, (call) => call.time_ns),
      },
    };
  }

  private sites_in(first: number, end: number, faster: number): {sites: Site[]; crossings: [number, number, number][]; costs: number} {
    const [site_of, node_of, owner_of, actor_of] = ['site', 'node', 'owner', 'actor'].map((key) => this.heap.key(key));
    const [blocks, bytes, frees] = ['blocks', 'bytes', 'frees'].map((column) => this.heap.sums(column, first, end));
    // The blocks in use at the end of the part may have been allocated before it, so all intervals up to its end count.
    const [all_blocks, all_frees, all_bytes, freed_bytes] =
      ['blocks', 'frees', 'bytes', 'freed_bytes'].map((column) => this.heap.sums(column, 0, end));
    const whole = this.data.sites ?? [];
    const parts: (Site | undefined)[] = new Array(whole.length);
    const crossings = new Map<string, [number, number, number]>();
    const add = (list: number[][], key: number, added: number[]) => {
      const entry = list.find((entry) => entry[0] === key);
      if (entry) added.forEach((value, index) => { entry[index + 1] += value; });
      else list.push([key, ...added]);
    };
    for (let cell = 0; cell < this.heap.count; ++cell) {
      if (all_blocks[cell] + all_frees[cell] === 0) continue;
      const [owner, actor] = [owner_of[cell], actor_of[cell]];
      const site = (parts[site_of[cell]] ??= {
        ...whole[site_of[cell]], allocations: 0, bytes: 0, freed_by_same_thread: 0, remote_frees: 0, end_blocks: 0, end_bytes: 0,
        peak_bytes: 0, peak_blocks: 0,
        weights: [], by_thread: [], thread_pairs: [], threads: 0,
      });
      site.allocations! += blocks[cell];
      site.bytes! += bytes[cell];
      const in_use = this.has_ended(owner, end - 1) ? [0, 0] : [all_blocks[cell] - all_frees[cell], all_bytes[cell] - freed_bytes[cell]];
      site.end_blocks! += in_use[0];
      site.end_bytes! += in_use[1];
      add(site.weights!, node_of[cell], [blocks[cell], bytes[cell], 0, in_use[1]]);
      if (blocks[cell]) add(site.by_thread!, owner, [blocks[cell]]);
      if (!frees[cell]) continue;
      if (owner === actor) {
        site.freed_by_same_thread! += frees[cell];
      } else {
        site.remote_frees! += frees[cell];
        const pair = site.thread_pairs!.find((pair) => pair.allocating_thread === owner && pair.freeing_thread === actor);
        if (pair) pair.blocks! += frees[cell];
        else site.thread_pairs!.push({allocating_thread: owner, freeing_thread: actor, blocks: frees[cell]});
      }
      const key = `${owner} ${actor}`;
      const crossing = crossings.get(key);
      if (crossing) crossing[2] += frees[cell];
      else crossings.set(key, [owner, actor, frees[cell]]);
    }
    let [cost, all_cost] = [0, 0];
    const sites = whole.map((site, index) => {
      const part = parts[index] ?? idle(site);
      const factor = share(part.allocations!, site.allocations ?? 0);
      const {predicted} = site;
      part.predicted = {
        ...predicted, now_ns: times(predicted.now_ns, factor), share: times(predicted.share, factor * faster),
        remedies: predicted.remedies?.map((remedy) => ({...remedy, saved_ns: times(remedy.saved_ns, factor)})),
      };
      part.threads = part.by_thread!.length;
      all_cost += middle(predicted.now_ns);
      cost += middle(predicted.now_ns) * factor;
      return part;
    });
    return {sites, crossings: [...crossings.values()], costs: share(cost, all_cost)};
  }

  private locks_in(first: number, end: number): Lock[] {
    const names = ['taken', 'waited_count', 'waited_ns', 'holds', 'held_ns', 'refused'];
    const [lock_of, site_of, node_of, thread_of] = ['lock', 'site', 'node', 'thread'].map((key) => this.locks.key(key));
    const [taken, waited_counts, waited, holds, held_ns, refused] = names.map((name) => this.locks.sums(name, first, end));
    const threads = new Map<number, Set<number>>();
    const locks: Lock[] = (this.data.locks ?? []).map((lock) => ({
      ...lock, acquisitions: 0, waited_count: 0, waited_ns: 0, holds: 0, held_ns: 0, refused: 0, threads: 0, weights: [],
      sites: lock.sites?.map((site) => ({...site, acquisitions: 0, waited_count: 0, waited_ns: 0, held_ns: 0, refused: 0,
                                         waits: site.waits?.map((wait) => ({...wait, waits: 0, waited_ns: 0}))})),
    }));
    for (let cell = 0; cell < this.locks.count; ++cell) {
      if (taken[cell] + refused[cell] + waited[cell] + held_ns[cell] === 0) continue;
      const lock = locks[lock_of[cell]];
      for (const target of [lock, lock.sites?.[site_of[cell]]]) {
        if (!target) continue;
        target.acquisitions! += taken[cell];
        target.waited_count! += waited_counts[cell];
        target.waited_ns! += waited[cell];
        target.held_ns! += held_ns[cell];
        target.refused! += refused[cell];
      }
      lock.holds! += holds[cell];
      lock.weights!.push([node_of[cell], taken[cell], waited[cell], thread_of[cell]]);
      if (!threads.has(lock_of[cell])) threads.set(lock_of[cell], new Set());
      threads.get(lock_of[cell])!.add(thread_of[cell]);
    }
    const [of_lock, of_site, of_wait] = ['lock', 'site', 'wait'].map((key) => this.waits.key(key));
    const [counts, sums] = ['waits', 'waited_ns'].map((column) => this.waits.sums(column, first, end));
    for (let cell = 0; cell < this.waits.count; ++cell) {
      const wait = locks[of_lock[cell]].sites?.[of_site[cell]]?.waits?.[of_wait[cell]];
      if (!wait) continue;
      wait.waits! += counts[cell];
      wait.waited_ns! += sums[cell];
    }
    locks.forEach((lock, index) => {
      lock.threads = threads.get(index)?.size ?? 0;
      // Is at most the whole wait.
      lock.longest_wait_ns = Math.min(lock.longest_wait_ns ?? 0, lock.waited_ns!);
      lock.longest_held_ns = Math.min(lock.longest_held_ns ?? 0, lock.held_ns!);
      for (const site of lock.sites ?? []) site.waits = site.waits?.filter((wait) => wait.waits);
    });
    return locks;
  }

  private calls_in(first: number, end: number): Call[] {
    const [call_of, node_of, thread_of] = ['call', 'node', 'thread'].map((key) => this.calls.key(key));
    const [count, errors, asked, given, ns, repeated, row] = ['count', 'errors', 'asked', 'given', 'ns', 'same_arguments', 'in_a_row'].map((column) => this.calls.sums(column, first, end));
    const threads = new Map<number, Set<number>>();
    const calls: Call[] = (this.data.syscalls ?? []).map((call) => ({
      ...call, count: 0, errors: 0, bytes: 0, bytes_asked: 0, time_ns: 0, same_arguments: 0, in_a_row: 0, threads: 0, weights: [],
    }));
    for (let cell = 0; cell < this.calls.count; ++cell) {
      if (count[cell] + ns[cell] === 0) continue;
      const call = calls[call_of[cell]];
      call.count! += count[cell];
      call.errors! += errors[cell];
      call.bytes_asked! += asked[cell];
      call.bytes! += given[cell];
      call.time_ns! += ns[cell];
      call.same_arguments! += repeated[cell];
      call.in_a_row! += row[cell];
      call.weights!.push([node_of[cell], count[cell], ns[cell], thread_of[cell]]);
      if (!threads.has(call_of[cell])) threads.set(call_of[cell], new Set());
      threads.get(call_of[cell])!.add(thread_of[cell]);
    }
    calls.forEach((call, index) => { call.threads = threads.get(index)?.size ?? 0; });
    return calls;
  }
}

// Returns whether nothing of it happened in the part.
const idle = (site: Site): Site => ({
  ...site, allocations: 0, bytes: 0, freed_by_same_thread: 0, remote_frees: 0, end_blocks: 0, end_bytes: 0, peak_bytes: 0, peak_blocks: 0, weights: [], by_thread: [], thread_pairs: [], threads: 0,
});

export const is_purpose = (line: Line) => on_purpose.has(line.category);
