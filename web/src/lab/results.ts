// The results in the page: as `tarn lab --json` writes them (docs/guide/lab.md).
export type Point = [number, number];

export interface Curve {
  name: string;
  unit: string;
  points: Point[];
}

export interface Sweep {
  name: string;
  title: string;
  x: string;
  y: string;
  values: number[];
  originals: Curve[];
  ratios: Curve[];
  original_ratios: Curve[];
  exponents: Record<string, number>;
  names: string[];
}

export interface Row {
  sweep: string;
  x: number;
  form: string;
  ns: {median: number; low: number; high: number; rounds: number[]};
  processor_ns: number;
  counts: Record<string, number>;
}

export interface Form {
  name: string;
  role: 'original' | 'peer' | 'ours';
  settings: string[];
}

export interface Experiment {
  name: string;
  source: string;
  claim: string;
  claimed: string;
  why: string;
  unit: string;
  rounds: number;
  seconds: number;
  parameters: Record<string, number>;
  forms: Form[];
  sweeps: Sweep[];
  shown_counts: string[];
  rows: Row[];
  skipped: string[];
  verdict: {holds: 'yes' | 'partly' | 'no' | 'unknown'; text: string};
  failure?: string;
}

export interface Results {
  format: number;
  quick: boolean;
  machine: Record<string, string>;
  experiments: Experiment[];
}

export async function unpack(text: string): Promise<Results> {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return (await new Response(plain).json()) as Results;
}

// Formats with two significant digits, and groups thousands.
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.5) return Math.round(value).toLocaleString('en');
  return size >= 9.95 ? value.toFixed(0) : size >= 0.995 || size === 0 ? value.toFixed(1) : size >= 0.0995 ? value.toFixed(2) : value.toPrecision(1);
}

export const times = (value: number): string => `${digits(value)} times`;

export function geometric_mean(values: number[]): number {
  return values.length ? Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length) : 0;
}

export const x_name = (sweep: Sweep, x: number): string => sweep.names[x - 1] ?? x.toLocaleString('en');

// Returns the forms of a sweep, and the rows of each by x.
export function rows_of(experiment: Experiment, sweep: Sweep): Map<string, Map<number, Row>> {
  const rows = new Map<string, Map<number, Row>>();
  for (const form of experiment.forms) {
    const form_rows = experiment.rows.filter((row) => row.sweep === sweep.name && row.form === form.name && row.ns.rounds.length > 0);
    if (form_rows.length) rows.set(form.name, new Map(form_rows.map((row) => [row.x, row])));
  }
  return rows;
}
