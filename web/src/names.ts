// The names of a recording: locations and stacks by number.
import type {Data} from './recording';
import {cut, plural, short_function, shown} from './formatting';

const longest_label = 120;
const library = /^\/(usr|lib).*\.so(\.|$)/;  // does not match the program itself, in any folder
const system_header = /^\/usr\//;

export class Names {
  readonly parent: Int32Array;
  readonly location: Int32Array;
  private readonly base: string;  // the common folder of the program's own files
  private lower?: string[];
  private searched?: {text: string; nodes: Uint8Array};
  private inner?: {first: Int32Array; nodes: Int32Array};
  private readonly labels = new Map<number, string>();

  constructor(private readonly data: Data) {
    this.parent = Int32Array.from(data.nodes?.parent ?? [0]);
    this.location = Int32Array.from(data.nodes?.location ?? [0]);
    this.base = this.common_folder();
  }

  // Returns the frames of a stack, innermost first, without the root.
  stack(node = 0): number[] {
    const nodes: number[] = [];
    for (let index = node; index !== 0 && nodes.length < 4096; index = this.parent[index]) nodes.push(index);
    return nodes;
  }
  // Returns the node `up` frames above the innermost.
  above(node = 0, up = 0): number {
    for (; up > 0 && node !== 0; --up) node = this.parent[node];
    return node;
  }

  // Returns the innermost frame of the program itself; if there is none, the innermost of all.
  node_of(node = 0): number {
    return this.stack(node).find((frame) => !this.is_installed(this.location[frame])) ?? node;
  }

  private text(texts: number[] | undefined, location: number): string {
    return this.data.strings[texts?.[location] ?? 0] ?? '';
  }
  function_of(location: number): string {
    return this.text(this.data.locations.function, location);
  }
  file_of(location: number): string {
    return this.text(this.data.locations.file, location);
  }
  module_of(location: number): string {
    return this.text(this.data.locations.module, location);
  }
  is_installed(location: number): boolean {
    return library.test(this.module_of(location)) || system_header.test(this.file_of(location));
  }

  // Returns "pages.cpp:30"; without debug information "libc.so.6+0x1234".
  location_text(location: number): string {
    const file = this.file_of(location);
    const line = this.data.locations.line[location];
    const base = (path: string) => cut(shown(path.slice(path.lastIndexOf('/') + 1)), longest_label);
    return file ? `${base(file)}:${line}` : `${base(this.module_of(location))}+0x${(line ?? 0).toString(16)}`;
  }
  // Returns the same with the folders below the common one.
  path(location: number): string {
    const file = this.file_of(location);
    if (!file) return this.location_text(location);
    const path = file.startsWith(this.base) ? file.slice(this.base.length) : file;
    return `${shown(path)}:${this.data.locations.line[location]}`;
  }
  label(node: number): string {
    if (node === 0) return 'all';
    const location = this.location[node];
    let label = this.labels.get(location);
    if (label === undefined) {
      label = cut(shown(short_function(this.function_of(location))), longest_label) || this.location_text(location);
      this.labels.set(location, label);
    }
    return label;
  }
  // Returns the name, with the line if the name alone is not enough.
  frame(node: number): string {
    const label = this.label(node);
    return /^operator ?\(\)|^_FUN$/.test(label) ? `${label} ${this.location_text(this.location[node])}` : label;
  }
  full(node: number): string {
    const name = this.function_of(this.location[node]);
    return shown(name) || this.label(node);
  }

  // Returns for each node whether a frame of its stack has the text in a name, in any case; null if all have.
  with_text(text: string): Uint8Array | null {
    if (text === '') return null;
    if (this.searched?.text === text) return this.searched.nodes;
    this.lower ??= this.data.strings.map((phrase) => phrase.toLowerCase());
    const wanted = text.toLowerCase();
    const has = this.lower.map((name) => name.includes(wanted));
    const {function: functions, file: files, module: modules} = this.data.locations;
    const nodes = new Uint8Array(this.parent.length);
    for (let node = 1; node < nodes.length; ++node) {  // a parent comes first
      const location = this.location[node];
      nodes[node] = nodes[this.parent[node]] || has[functions[location]] || has[files[location]] || has[modules[location]] ? 1 : 0;
    }
    this.searched = {text, nodes};
    return nodes;
  }

  // The children of a node are those from first[node] to first[node + 1].
  get children(): {first: Int32Array; nodes: Int32Array} {
    if (this.inner) return this.inner;
    const {parent} = this;
    const count = parent.length;
    const first = new Int32Array(count + 1);
    for (let node = 1; node < count; ++node) ++first[parent[node] + 1];
    for (let node = 0; node < count; ++node) first[node + 1] += first[node];
    const nodes = new Int32Array(Math.max(0, count - 1));
    const next = first.slice();
    for (let node = 1; node < count; ++node) nodes[next[parent[node]]++] = node;
    return (this.inner = {first, nodes});
  }

  private common_folder(): string {
    let common: string | undefined;
    const seen = new Set<number>();
    (this.data.locations?.file ?? []).forEach((file, location) => {
      if (file === 0 || seen.has(file) || this.is_installed(location)) return;
      seen.add(file);
      const path = this.data.strings[file];
      const folder = path.slice(0, path.lastIndexOf('/') + 1);
      if (common === undefined) common = folder;
      while (!folder.startsWith(common)) common = common.slice(0, common.lastIndexOf('/', common.length - 2) + 1);
    });
    return common ?? '';
  }
}

// Returns how many threads there were. A row without a number of the kernel stands for threads of other rows.
export function thread_count(data: Data): number {
  return (data.threads ?? []).reduce((sum, thread) => sum + (thread.id === 0 && thread.name === 'ended threads' ? 0 : 1) + (thread.predecessors ?? 0), 0);
}

// Returns the name that the program gave to a thread; a thread without one has the program's name. Else it is the
// function that the thread runs, else "thread 1234". Threads of one name are numbered: worker #2. A row in which others
// counted before says how many did.
export function thread_names(data: Data): string[] {
  const threads = data.threads ?? [];
  const path = data.program?.arguments?.[0] ?? '';
  const program = path.slice(path.lastIndexOf('/') + 1);
  // The kernel keeps 15 bytes.
  const is_of_program = (name: string) => name === program || (name.length > 10 && program.startsWith(name.replace(/\ufffd+$/, '')));
  const roles = threads.map((thread, index) => {
    if (thread.name && !is_of_program(thread.name)) return cut(shown(thread.name), 60);
    if (thread.role) return cut(shown(short_function(thread.role)), 60);
    return index === 0 ? 'main' : '';
  });
  const counts = new Map<string, number>();
  for (const role of roles) counts.set(role, (counts.get(role) ?? 0) + 1);
  const used = new Map<string, number>();
  const name_of = (role: string, index: number) => {
    if (role === '') return `thread ${threads[index].id || index + 1}`;
    if (counts.get(role) === 1) return role;
    used.set(role, (used.get(role) ?? 0) + 1);
    return `${role} #${used.get(role)}`;
  };
  return roles.map((role, index) => {
    const before = threads[index].predecessors ?? 0;
    return before === 0 ? name_of(role, index) : `${name_of(role, index)} after ${plural(before, 'thread')}`;
  });
}
