// The data of a flame graph: weights at the ends of stacks, chosen by metric and filters, added up towards the root.
import type {Call, Data, Lock, Site, Site_weight} from './recording';
import type {Names} from './names';
import {format_bytes, format_count, format_duration, middle} from './formatting';

export interface Metric {
  name: string;
  label: string;
  table: 'sites' | 'locks' | 'syscalls' | 'cpu' | 'time';
  format: (value: number) => string;
}

export const metrics: Metric[] = [
  {name: 'cpu', label: 'CPU: time', table: 'cpu', format: format_duration},
  {name: 'waiting', label: 'Time: waiting', table: 'time', format: format_duration},
  {name: 'cost', label: 'Heap: estimated cost', table: 'sites', format: format_duration},
  {name: 'bytes', label: 'Heap: bytes', table: 'sites', format: format_bytes},
  {name: 'blocks', label: 'Heap: blocks', table: 'sites', format: format_count},
  {name: 'peak', label: 'Memory: in use at the peak', table: 'sites', format: format_bytes},
  {name: 'end', label: 'Memory: in use at the end', table: 'sites', format: format_bytes},
  {name: 'waited', label: 'Locks: time waited', table: 'locks', format: format_duration},
  {name: 'taken', label: 'Locks: times taken', table: 'locks', format: format_count},
  {name: 'kernel', label: 'System calls: time', table: 'syscalls', format: format_duration},
  {name: 'calls', label: 'System calls: number', table: 'syscalls', format: format_count},
];

// Calls that wait (for a lock, an event, a time): shown only if their category is selected.
export const on_purpose = new Set(['condition', 'waits']);

// The categories in their order in all views, which also selects their colours.
export const categories: Record<Metric['table'], string[]> = {
  sites: ['same-thread', 'cross-thread', 'start-up', 'kept'],
  locks: ['contended', 'uncontended', 'one thread', 'condition'],
  syscalls: ['small', 'repeated', 'batch', 'memory', 'waits', 'needed'],
  cpu: ['program', 'kernel'],
  time: ['waiting'],
};

export interface Weight {
  node: number;
  value: number;
  category: string;
  index: number;  // in its table
}

export interface Filter {
  metric: Metric;
  category: string;
  thread: string;
  text: string;
}

export const stacks_of = (site: Site): Site_weight[] =>
  site.weights ?? [[site.stack ?? 0, site.allocations ?? 0, site.bytes ?? 0, site.peak_bytes ?? 0, site.end_bytes ?? 0]];

export function weights(data: Data, filter: Filter): Weight[] {
  const {metric} = filter;
  const all_weights: Weight[] = [];
  const add = (node = 0, value = 0, category: string, index: number) => {
    const wanted = filter.category ? category === filter.category : !on_purpose.has(category);
    if (value > 0 && wanted) all_weights.push({node, value, category, index});
  };
  if (metric.table === 'cpu') {
    (data.cpu?.weights ?? []).forEach(([node, ns, kernel_ns, thread], index) => {
      if (filter.thread !== '' && filter.thread !== String(thread)) return;
      add(node, ns - kernel_ns, 'program', index);
      add(node, kernel_ns, 'kernel', index);
    });
  } else if (metric.table === 'time') {
    (data.cpu?.weights ?? []).forEach(([node, , , thread, waited_ns = 0], index) => {
      if (filter.thread === '' || filter.thread === String(thread)) add(node, waited_ns, 'waiting', index);
    });
  } else if (metric.table !== 'sites') {
    const is_time = metric.name === 'waited' || metric.name === 'kernel';
    const rows: (Lock | Call)[] = (metric.table === 'locks' ? data.locks : data.syscalls) ?? [];
    rows.forEach((row, index) => {
      for (const [node, count, ns, thread] of row.weights ?? []) {
        if (filter.thread === '' || filter.thread === String(thread)) add(node, is_time ? ns : count, row.category, index);
      }
    });
  } else {
    (data.sites ?? []).forEach((site, index) => {
      let part = 1;
      if (filter.thread !== '') {
        const share = site.by_thread?.find(([thread]) => String(thread) === filter.thread)?.[1] ?? 0;
        part = share / Math.max(1, site.allocations ?? 1);
      }
      const cost = middle(site.predicted.now_ns) / Math.max(1, site.allocations ?? 1);
      for (const [node, blocks, bytes, peak, end] of stacks_of(site)) {
        const value = {cost: cost * blocks, bytes, blocks, peak, end}[metric.name] ?? 0;
        add(node, part * value, site.category, index);
      }
    });
  }
  return all_weights;
}

export class Tree {
  readonly total: Float64Array;
  private readonly kinds: string[];
  private readonly shares: Float64Array[] = [];  // by category

  constructor(private readonly names: Names, all_weights: Weight[], kinds: string[], text: string) {
    const {parent} = names;
    const count = parent.length;
    const stays = names.with_text(text);  // a stack stays if any of its frames has the text
    this.kinds = kinds.filter((kind) => all_weights.some((weight) => weight.category === kind));
    for (const kind of this.kinds) {
      const share = new Float64Array(count);
      for (const weight of all_weights) {
        if (weight.category === kind && (!stays || stays[weight.node])) share[weight.node] += weight.value;
      }
      for (let node = count - 1; node > 0; --node) {  // a parent comes first
        if (share[node] !== 0) share[parent[node]] += share[node];
      }
      this.shares.push(share);
    }
    if (this.shares.length === 1) {
      this.total = this.shares[0];
      return;
    }
    this.total = new Float64Array(count);
    for (const share of this.shares) for (let node = 0; node < count; ++node) this.total[node] += share[node];
  }

  // Returns the nodes with at least `least`, the largest first.
  children_of(node: number, least: number): number[] {
    const children: number[] = [];
    const {first, nodes} = this.names.children;
    for (let index = first[node]; index < first[node + 1]; ++index) {
      if (this.total[nodes[index]] >= least && this.total[nodes[index]] > 0) children.push(nodes[index]);
    }
    return children.sort((a, b) => this.total[b] - this.total[a]);
  }

  // Returns the category with most of the weight.
  kind_of(node: number): string {
    let best = 0;
    for (let index = 1; index < this.kinds.length; ++index) if (this.shares[index][node] > this.shares[best][node]) best = index;
    return this.kinds[best] ?? '';
  }

  is_above(node: number, inner: number): boolean {
    while (inner > node) inner = this.names.parent[inner];
    return inner === node;
  }
}
