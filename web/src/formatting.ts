// Formats numbers and names for people.
import type {Range} from './recording';

const digits = (value: number) => {
  const size = Math.abs(value);
  if (size >= 100 || size === 0) return Math.round(value).toLocaleString('en');
  if (size >= 10) return value.toFixed(0);
  if (size >= 0.995) return value.toFixed(1);
  if (size >= 0.005) return value.toFixed(2);
  return value < 0 ? '0' : '< 0.01';
};

export const grouped = (value = 0) => Math.round(value).toLocaleString('en');
export const format_number = digits;

// 78.0 million
export function format_count(value = 0): string {
  if (value >= 1e9) return `${digits(value / 1e9)} billion`;
  if (value >= 1e6) return `${digits(value / 1e6)} million`;
  return grouped(value);
}

// Returns the error of an estimate, to stand behind its count; empty if all were counted.
export function format_error(error = 0): string {
  if (error >= 1) return ' (of too few samples)';
  return error ? ` ± ${Math.ceil(error * 100)} %` : '';
}

export function format_bytes(bytes = 0): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let index = 0;
  while (bytes >= 1024 && index < units.length - 1) {
    bytes /= 1024;
    ++index;
  }
  return `${index === 0 ? grouped(bytes) : digits(bytes)} ${units[index]}`;
}

// The first returns whether a range has more than one figure. The second formats an estimate with its range; without a
// range the bytes are exact.
export const is_estimate = (range?: Range) => !!range && range[0] < range[1];
export function format_estimate(bytes = 0, range?: Range): string {
  if (!range || !is_estimate(range)) return format_bytes(bytes);
  return `${bytes > 0 ? 'about ' : ''}${format_bytes(bytes)} (${range[0] < 0.5 ? '0' : format_bytes(range[0])}–${format_bytes(range[1])})`;
}

export function format_duration(ns = 0): string {
  if (ns >= 1e9) return `${digits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${digits(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${digits(ns / 1e3)} µs`;
  return `${digits(ns)} ns`;
}

export function format_range([low, high]: Range): string {
  const [low_text, high_text] = [digits(low), digits(high)];
  return low_text === high_text ? low_text : `${low_text} to ${high_text}`;
}

// Returns the middle of a range and then the range: "about 4 % of CPU (2–7 %)". `covered` says what the range covers.
export function format_guess(range: Range, unit: string, end: string, covered = ''): string {
  const [figure, ends] = guess_parts(range, unit, end);
  return ends ? `${figure} (${ends}${covered})` : `${figure}${covered}`;
}

// Returns the same in two parts; the second is empty if the range has a single value.
export function guess_parts([low, high]: Range, unit: string, end: string): [string, string] {
  if (digits(low) === digits(high)) return [`${digits(high)}${unit}`, ''];
  // Digits finer than a third of the range's width would claim too much precision.
  const decimals = Math.min(2, Math.max(0, Math.ceil(-Math.log10((high - low) / 3))));
  const text = (value: number) => {
    const size = Math.abs(value);
    let needed = decimals;
    while (needed < 2 && size * 10 ** needed < 0.5) ++needed;  // one digit that is not 0
    return size < 0.005 ? '0' : size >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(needed);
  };
  return [`about ${text((low + high) / 2)}${unit}`, `${text(low)}${low < 0 ? ' to ' : '–'}${text(high)}${end}`];
}

// Returns the middle of a range and the range, without a unit: "12 (8–16)".
export function format_middle(range: Range): string {
  const [figure, ends] = guess_parts(range, '', '');
  return `${figure.replace(/^about /, '')}${ends && ` (${ends})`}`;
}

export const middle = ([low, high]: Range) => (low + high) / 2;
export const plural = (count: number, word: string) => `${format_count(count)} ${word}${count === 1 ? '' : 's'}`;

// Shows invisible characters, and those that reverse the text, by their numbers: ⟨202e⟩.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
export const shown = (text = '') => text.replace(unseen, (letter) => `⟨${letter.codePointAt(0)!.toString(16)}⟩`);

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

// Returns the position behind the bracket that closes the one at `start`.
function past(text: string, start: number, opening: string, closing: string): number {
  let depth = 0;
  for (let index = start; index < text.length; ++index) {
    if (text[index] === opening) ++depth;
    if (text[index] === closing && --depth === 0) return index + 1;
  }
  return text.length;
}

// `shared_ptr::reset` of `void std::shared_ptr<T>::reset<U>(U*)`: no arguments, no template arguments, no result.
// A lambda has its arguments in its name: `f::{lambda(int)#1}::operator()`.
export function short_function(name: string): string {
  if (/^function \d+$/.test(name)) return name;  // in a redacted page
  if (/^(lambda|function object) at /.test(name)) return name;  // these have no arguments
  let depth = 0;
  let kept = '';
  const text = cut(name, 2000).replace(/\(anonymous namespace\)::|__cxx11::|__n4861::|\[abi:\w+\]/g, '');
  for (let index = 0; index < text.length; ++index) {
    const letter = text[index];
    if (depth === 0 && text.startsWith('operator()', index)) return `${kept}operator()`;
    if (depth === 0 && text.startsWith('operator', index)) return kept + text.slice(index).replace(/(?<=.{8}.+)\(.*$/s, '');
    if (letter === '<') ++depth;
    else if (letter === '>') depth = Math.max(0, depth - 1);
    else if (depth > 0) continue;
    else if (letter === '{') {
      const end = past(text, index, '{', '}');
      kept += text.slice(index, end);
      index = end - 1;
    } else if (letter === '(') {
      const local = /^[^(<:]*::/.exec(text.slice(past(text, index, '(', ')')));
      if (!local) break;  // else the function has a local class or lambda
      index = past(text, index, '(', ')') + local[0].length - 3;
    } else if (letter === ' ') kept = '';
    else kept += letter;
  }
  return kept || text;
}
