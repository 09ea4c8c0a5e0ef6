// Recordings made by hand, and their pages, in the form of `tarn report --html`.
import {readFileSync, writeFileSync} from 'node:fs';
import {deflateSync} from 'node:zlib';

const no_time = [0, 0];

// The page at `to` that shows `data`.
export function write_page(template, data, path) {
  const packed = deflateSync(JSON.stringify(data), {level: 1}).toString('base64');
  writeFileSync(path, readFileSync(template, 'utf8').replace('@RECORDING@', () => packed));
  return `file://${path}`;
}

// Of a program that ran for a second on three threads, without any event.
export function empty() {
  return {
    kind: 'report',
    program: {arguments: ['./program'], images: 1},
    end: {wall_us: 1_000_000, user_us: 500_000},
    recorder: {mode: 'full', sources: ['heap', 'locks', 'system calls'], overhead: {cpu_ns: [1e6, 2e6], text: 'recording took 0.001 s of CPU time', program_cpu_ns: [4e8, 5e8]}},
    heap: {predicted: {now_ns: no_time, share: no_time, drop_in_saves_ns: no_time}},
    threads: [{role: 'main'}, {role: 'work'}, {role: 'work'}],
    totals: {}, crossings: [],
    strings: ['', '/usr/lib/libc.so.6'], locations: {function: [], file: [], line: [], module: []},
    nodes: {parent: [0], location: [0]},
  };
}

// Adds a stack of [function, file, line], innermost first; gives its node.
export function stack(data, frames) {
  const string = (text) => {
    data.known ??= new Map();
    if (!data.known.has(text)) data.known.set(text, data.strings.push(text) - 1);
    return data.known.get(text);
  };
  Object.defineProperty(data, 'known', {enumerable: false, value: data.known ?? new Map(), writable: true});
  data.nodes_known ??= new Map();
  Object.defineProperty(data, 'nodes_known', {enumerable: false, value: data.nodes_known, writable: true});
  let node = 0;
  for (const [name, file, line, module = '/home/me/program'] of [...frames].reverse()) {
    const key = `${node}\n${name}\n${file}\n${line}`;
    if (!data.nodes_known.has(key)) {
      const {locations, nodes} = data;
      locations.function.push(string(name));
      locations.file.push(string(file));
      locations.line.push(line);
      locations.module.push(string(module));
      nodes.location.push(locations.function.length - 1);
      data.nodes_known.set(key, nodes.parent.push(node) - 1);
    }
    node = data.nodes_known.get(key);
  }
  return node;
}

export function add_site(data, frames, {category = 'same-thread', cost = 1e6, blocks = 5000, remedy = true, handed = 0} = {}) {
  data.sites ??= [];
  const bucket = (filled, count) => Array.from({length: count}, (_, index) => (index === filled ? blocks : 0));
  data.sites.push({
    category, allocations: blocks, bytes: blocks * 100, threads: 1, freed_by_same_thread: blocks - handed,
    remote_frees: handed, size_histogram: bucket(3, 16), lifetime_histogram: bucket(1, 12), time_histogram: bucket(1, 12),
    by_thread: [[1, blocks]], thread_pairs: handed ? [{allocating_thread: 1, freeing_thread: 2, blocks: handed}] : [],
    stack: stack(data, frames), source_line: 'auto made = new thing;', type: 'thing',
    predicted: {
      now_ns: [cost * 0.8, cost * 1.2], share: [0.01, 0.02],
      remedies: remedy ? [{name: 'pooled', saved_ns: [cost * 0.4, cost * 0.9], saved_share: no_time,
                           advice: `take ${frames[0][0]} from a pool`, code: 'struct thing : tarn::pooled<thing>', note: 'none'}] : [],
    },
  });
  data.heap.allocations = (data.heap.allocations ?? 0) + blocks;
}

// Two dozen sites of all categories, locks and calls.
export function example() {
  const data = empty();
  const categories = ['same-thread', 'cross-thread', 'start-up', 'kept'];
  for (let index = 0; index < 24; ++index) {
    add_site(data, [[`make_${index}(int)`, '/home/me/src/make.cpp', index + 1], [`serve_${index % 3}()`, '/home/me/src/serve.cpp', 10], ['main', '/home/me/main.cpp', 5]],
             {category: categories[index % 4], cost: 1e6 * (24 - index), blocks: 1000 * (index + 1), remedy: index % 4 < 2, handed: index % 4 === 1 ? 500 : 0});
  }
  data.heap = {...data.heap, bytes: 30e6, predicted: {now_ns: [2.4e8, 3.6e8], share: [0.5, 0.7], drop_in_saves_ns: [1e7, 2e7]}};
  const mebibyte = 2 ** 20;
  data.sites.forEach((site, index) => {
    Object.assign(site, {peak_bytes: (index + 1) * mebibyte, peak_blocks: 10, trend: index === 6 ? 'grows' : 'steady', bytes_per_second: index === 6 ? 3 * mebibyte : 0});
    if (index % 3 === 0) Object.assign(site, {end_blocks: 5, end_bytes: (24 - index) * mebibyte});
  });
  data.memory = {peak_bytes: 300 * mebibyte, peak_blocks: 240, peak_ns: 4e8, end_bytes: 108 * mebibyte, end_blocks: 40, resident_bytes: 400 * mebibyte};
  data.tick_ns = 0.5;
  data.verdicts = [
    {source: 'heap', verdict: 'worth doing', remedies: 12, text: 'The first remedy at each of 12 sites saves about 25 % of CPU (17–33 %).'},
    {source: 'locks', verdict: 'little to gain', remedies: 1, text: '2 threads together waited 12 ms for locks in a run of 1.0 s.'},
  ];
  data.crossings = [[1, 1, 100000], [1, 2, 3000], [2, 2, 50000]];
  const holder = stack(data, [['hold(lock&)', '/home/me/src/hold.cpp', 7], ['main', '/home/me/main.cpp', 6]]);
  const waiter = stack(data, [['await(lock&)', '/home/me/src/wait.cpp', 8], ['main', '/home/me/main.cpp', 7]]);
  const inside = stack(data, [['std::mutex::lock()', '/usr/include/c++/mutex', 9], ['await(lock&)', '/home/me/src/wait.cpp', 8], ['main', '/home/me/main.cpp', 7]]);
  data.locks = [
    {type: 'mutex', category: 'contended', locks: 1, threads: 2, acquisitions: 9000, error: 0.031, waited_count: 700, waited_ns: 1.2e7, longest_wait_ns: 1e6,
     holds: 9000, held_ns: 5e8, stack: waiter, remedy: 'split it', calls_inside: [{name: 'fdatasync', count: 9000, time_ns: 4e8, stack: waiter}], weights: [[waiter, 8000, 1e7, 1], [holder, 1000, 2e6, 2]],
     sites: [{acquisitions: 9000, waited_count: 700, waited_ns: 1.2e7, stack: waiter, waits: [{holder: 2, waits: 700, waited_ns: 1.2e7, stack: holder}]}]},
    {type: 'condition variable', category: 'condition', locks: 1, threads: 2, acquisitions: 10, waited_ns: 9e9, stack: holder, weights: [[holder, 10, 9e9, 1]], sites: [{acquisitions: 10, waited_ns: 9e9, stack: holder}]},
  ];
  const lock = (number) => ({type: 'mutex', address: 4096 * number, stack: holder});
  const step = (number, first, second) => ({lock: lock(number), times: 3 + number, threads: [number], held_from: {stack: first}, takes_at: {stack: second}});
  data.lock_orders = {
    inversions: [{steps: [step(1, holder, inside), step(2, waiter, holder)], similar_cycles: 4}, {steps: [step(0, holder, holder), step(1, waiter, waiter), step(2, holder, waiter)], by_one_thread: true, similar_cycles: 1}],
    chains: [{waited_ns: 7e6, links: [{lock: lock(1), thread: 0, waits: 2, waited_ns: 9e6, waits_at: {stack: waiter}, holder: 1, held_from: {stack: holder}},
                                      {lock: lock(2), thread: 1, waits: 3, waited_ns: 7e6, waits_at: {stack: holder}, holder: 2, held_from: {stack: waiter}}]}],
  };
  data.totals = {acquisitions: 9000, waited_count: 700, waited_ns: 1.2e7, calls: 42010, calls_ns: 8e8};
  data.syscalls = [
    {name: 'write', category: 'small', count: 42000, bytes: 420000, bytes_asked: 420000, time_ns: 4e6, threads: 1, stack: waiter, weights: [[waiter, 42000, 4e6, 1]], remedy: 'a buffer', in_a_row: 41000},
    {name: 'epoll_wait', category: 'waits', count: 10, time_ns: 7e8, threads: 1, stack: holder, weights: [[holder, 10, 7e8, 2]]},
  ];
  data.timeline = course_of(data, 10);
  data.lanes = lanes_of(waiter, holder);
  data.wait_for = [{links: [{lock: 'mutex', threads: [0], holders: [1], waits: 2, waited_ns: 7.8e9, held_ns: 8e9, waits_at: {stack: waiter}, held_from: {stack: holder}},
                            {lock: 'reader-writer lock', threads: [1], holders: [2], waits: 3, waited_ns: 7e9, held_ns: 8e9, waits_at: {stack: holder}, held_from: {stack: waiter}}],
                    work: [{state: 'sleep', call: 'clock_nanosleep', ns: 6e9, stack: waiter}, {state: 'running', ns: 1e9}]},
                   {links: [{lock: 'mutex', threads: [0, 1], holders: [2], waits: 1, waited_ns: 1e7, waits_at: {stack: waiter}, held_from: {stack: holder}}]}];
  return data;
}

// The states of three threads in ten intervals of 0.1 s: thread 1 runs, waits for the lock of thread 2 and reads; thread
// 2 sleeps in the second half; thread 0 is idle.
function lanes_of(waiter, holder) {
  const part = (state, intervals, facts = {}) => ({state, intervals, interval_ns: intervals.map(() => 1e8), ns: intervals.length * 1e8, ...facts});
  return {
    to_ns: Array.from({length: 10}, (_, index) => (index + 1) * 1e8),
    threads: [
      {thread: 1, running_ns: 4e8, lock_ns: 5e8, kernel_ns: 1e8, activities: [part('running', [0, 1, 2, 3]), part('lock', [4, 5, 6, 7, 8], {holder: 2, stack: waiter}), part('kernel', [9], {call: 'read', stack: holder})]},
      {thread: 2, runnable_ns: 5e8, sleep_ns: 5e8, activities: [part('runnable', [0, 1, 2, 3, 4]), part('sleep', [5, 6, 7, 8, 9], {call: 'clock_nanosleep', stack: holder})]},
      {idle_ns: 1e9, activities: [part('idle', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], {call: 'epoll_wait', stack: holder})]},
    ],
    others: {threads: 7, running_ns: 2e6},
  };
}

// As if all had gone on evenly, in `count` intervals of 0.1 s; but that sites with even numbers are of the first half, and with
// odd ones of the second.
export function course_of(data, count) {
  const table = (names, rows) => {
    const columns = Object.fromEntries([...names, 'points', 'intervals'].map((name) => [name, []]));
    for (const {key, intervals, values} of rows) {
      Object.entries(key).forEach(([name, value]) => columns[name].push(value));
      columns.points.push(intervals.length);
      columns.intervals.push(...intervals);
      Object.entries(values).forEach(([name, value]) => columns[name].push(...intervals.map(() => value / intervals.length)));
    }
    return columns;
  };
  const indexes = Array.from({length: count}, (_, index) => index);
  const half = (odd) => indexes.filter((index) => index >= count / 2 === (odd === 1));
  const sites = (data.sites ?? []).flatMap((site, index) => [
    {key: {site: index, node: site.stack, owner: 1, actor: 1}, intervals: half(index % 2), values: {blocks: site.allocations, bytes: site.bytes, frees: site.category === 'kept' ? 0 : site.freed_by_same_thread,
                                                                                                            freed_bytes: site.category === 'kept' ? 0 : 100 * site.freed_by_same_thread}},
    ...(site.thread_pairs ?? []).map((pair) => ({key: {site: index, node: site.stack, owner: pair.allocating_thread, actor: pair.freeing_thread}, intervals: half(index % 2), values: {blocks: 0, bytes: 0, frees: pair.blocks, freed_bytes: 100 * pair.blocks}})),
  ]);
  const locks = (data.locks ?? []).flatMap((lock, index) => (lock.weights ?? []).map(([node, taken, waited_ns, thread], which) => (
    {key: {lock: index, site: 0, node, thread}, intervals: half(which), values: {taken, waited_count: taken / 10, waited_ns, holds: taken, held_ns: taken, refused: 0}})));
  const waits = (data.locks ?? []).flatMap((lock, index) => (lock.sites?.[0].waits ?? []).map(({waits: count, waited_ns}, wait) => (
    {key: {lock: index, site: 0, wait}, intervals: half(0), values: {waits: count, waited_ns}})));
  const calls = (data.syscalls ?? []).flatMap((call, index) => (call.weights ?? []).map(([node, count, ns, thread]) => (
    {key: {call: index, node, thread}, intervals: half(index), values: {count, errors: 0, asked: call.bytes_asked ?? 0, given: call.bytes ?? 0, ns, same_arguments: 0, in_a_row: 0}})));
  return {
    to_ns: indexes.map((index) => (index + 1) * 1e8), resident_bytes: indexes.map((index) => (index + 1) << 20), cpu_us: indexes.map(() => 50_000), images: indexes.map(() => 1),
    heap: table(['site', 'node', 'owner', 'actor', 'blocks', 'bytes', 'frees', 'freed_bytes'], sites),
    locks: table(['lock', 'site', 'node', 'thread', 'taken', 'waited_count', 'waited_ns', 'holds', 'held_ns', 'refused'], locks),
    waits: table(['lock', 'site', 'wait', 'waits', 'waited_ns'], waits),
    calls: table(['call', 'node', 'thread', 'count', 'errors', 'asked', 'given', 'ns', 'same_arguments', 'in_a_row'], calls),
  };
}

// `count` sites, `depth` frames each, most of which they share with few others.
export function large(count, depth) {
  const data = empty();
  let seed = 1;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  for (let index = 0; index < count; ++index) {
    const frames = [];
    for (let up = 0; up < depth; ++up) {
      const share = Math.min(count, 4 ** (depth - up));
      const which = random(share);
      frames.push([`layer_${up}::function_${which}(std::vector<int> const&)`, `/home/me/src/layer_${up}.cpp`, which]);
    }
    add_site(data, frames, {cost: random(1e6), blocks: random(1e5), remedy: index % 7 === 0});
  }
  data.timeline = course_of(data, count > 5000 ? 6 : 96);
  return data;
}

// What `tarn fleet --html` writes. One host of release 1.4 is slow.
export function fleet() {
  const release = (version, values, dearest) => ({version, hosts: values.length, values, dearest});
  const site = (place, name, fields = {}) => ({
    place, service: 'shop', source: 'lock', category: 'contended', operation: 'mutex', function_id: `id${place}`, function: name, file: '/home/me/src/shop.cpp', seconds: 40 / place, cpu_share: null,
    hosts: 7, all_hosts: 8, median_ms_per_s: 2, max_ms_per_s: 6.5, dearest_host: 'h3',
    releases: [release('1.3', [0, 1.5, 2, 2.5], [['h0', 2.5], ['h2', 2]]), release('1.4', [1.75, 2, 2.25, 6.5], [['h3', 6.5]])], ...fields,
  });
  return {
    kind: 'fleet',
    fleet: {
      folder: 'recordings<b>', before: '1.3', after: '1.4', sites: [site(1, 'shop::take(int)'), site(2, 'give&lt;"()')],
      versions: [{service: 'shop', version: '1.3', hosts: 4, recordings: 9, hours: 1.5}, {service: 'shop', version: '1.4', hosts: 4, recordings: 8, hours: 1.25}],
      remedies: [{source: 'heap', remedy: 'hoist', saves_low_s: 10, saves_high_s: 20, waits_s: 0, hosts: 8}, {source: 'lock', remedy: 'contended', saves_low_s: 0, saves_high_s: 0, waits_s: 30, hosts: 8}],
      outliers: [{version: '1.4', host: '<i>h3', source: 'lock', ms_per_s: 188, median_ms_per_s: 55, hosts: 4}],
      regressions: [{verdict: 'worse', function: 'shop::take(int)', before_ms_per_s: 1.5, after_ms_per_s: 3.125, more_low: 1, more_high: 2.25}],
    },
  };
}

// What `tarn diff --html` writes.
export function difference() {
  const side = (name, allocations, cost, fields = {}) => ({function: name, file: '/home/me/src/make.cpp', line: 7, category: 'same-thread', allocations, bytes: allocations * 64, now_ns: [cost * 0.8, cost * 1.2], ...fields});
  return {
    kind: 'difference',
    difference: {
      before: './program', after: './program --pooled',
      allocations: {'same-thread': {before: 9000, after: 1000}, 'cross-thread': {after: 5}},
      heap_ns: {before: [8e7, 1.2e8], after: [1e7, 2e7]}, saved_cpu_ns: [6e7, 9e7], predicted_ns: [5e7, 8e7],
      notes: ['another load: <b>'],
      changes: [
        {before: side('make(int)', 8000, 1e8, {remedy: 'pool it'}), after: side('make(int)', 10, 1e6), model_saved_ns: [7e7, 9e7], predicted: {name: 'pooled', is_taken: true, saved_ns: [5e7, 8e7], saved_allocations: 8000, outcome: 'as predicted'}},
        {before: side('gone&lt;"()', 100, 1e6), model_saved_ns: [8e5, 1.2e6], predicted: {name: 'hoist', is_taken: false, saved_ns: [8e5, 1.2e6], saved_allocations: 100, outcome: 'not taken'}},
        {after: side('fresh()', 500, 5e6), model_saved_ns: [-6e6, -4e6]},
      ],
      memory: {
        before: {peak_bytes: 8 << 20, end_bytes: 2 << 20}, after: {peak_bytes: 4 << 20},
        changes: [{before: side('keep&lt;"()', 9, 1, {peak_bytes: 5 << 20, end_bytes: 2 << 20}), after: side('keep&lt;"()', 9, 1, {peak_bytes: 1 << 20})}],
      },
      syscalls: {before: {count: 9, time_ns: 5e9, waiting_ns: 4.8e9}, after: {count: 5, time_ns: 3e9, waiting_ns: 2.9e9}, changes: []},
    },
  };
}
