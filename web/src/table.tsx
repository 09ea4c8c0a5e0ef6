// A table of any length, sorted by a click on a column. Only the rows in view are in the document.
import type {ComponentChildren, JSX} from 'preact';
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {Change_state, State} from './address';

export interface Column<Row> {
  name: string;
  label: string;
  title?: string;
  is_text?: boolean;
  is_minor?: boolean;  // left out on narrow screens
  value: (row: Row) => number | string;  // to sort by
  cell: (row: Row) => ComponentChildren;
}

interface Properties<Row> {
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  sort: string;  // the column to sort by at first
  state: State;
  change: Change_state;
  id: (row: Row) => string;
  details: (row: Row) => ComponentChildren;
  empty_text: string;  // shown for a table without rows
}

const row_height = 38;  // as in style.css
const printed = 60;     // rows

// Sorts indexes instead of rows, in a typed array, which takes half the time for 200,000 rows. The last order is cached.
const orders = new WeakMap<object, Map<string, unknown[]>>();
function in_order<Row>(rows: Row[], column: Column<Row>, is_up: boolean): Row[] {
  let sorted = orders.get(rows) as Map<string, Row[]> | undefined;
  if (!sorted) orders.set(rows, (sorted = new Map()));
  const name = `${column.name} ${is_up}`;
  let order = sorted.get(name);
  if (order) return order;
  const indexes = new Uint32Array(rows.length);
  for (let index = 0; index < indexes.length; ++index) indexes[index] = index;
  const sign = is_up ? 1 : -1;
  if (column.is_text) {
    const keys = rows.map((row) => column.value(row));
    indexes.sort((a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
  } else {
    const keys = Float64Array.from(rows, (row) => Number(column.value(row)));
    indexes.sort((a, b) => sign * (keys[a] - keys[b]) || a - b);
  }
  order = Array.from(indexes, (index) => rows[index]);
  sorted.set(name, order);
  return order;
}

export function Table<Row>(properties: Properties<Row>): JSX.Element {
  const {rows, columns, state, change} = properties;
  const scroller = useRef<HTMLDivElement>(null);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(600);
  const [is_printing, set_printing] = useState(false);
  const sort = columns.find((column) => column.name === state.sort) ?? columns.find((column) => column.name === properties.sort)!;
  const is_up = (state.order || (sort.is_text ? 'up' : 'down')) === 'up';

  const sorted = useMemo(() => in_order(rows, sort, is_up), [rows, sort.name, is_up]);

  useLayoutEffect(() => {
    const box = scroller.current!;
    const see = new ResizeObserver(() => set_height(box.clientHeight));
    see.observe(box);
    return () => see.disconnect();
  }, []);
  useEffect(() => {
    const before = () => set_printing(true);
    const after = () => set_printing(false);
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);

  const open = sorted.findIndex((row) => properties.id(row) === state.site);
  // Scrolls to the row that the address names.
  useEffect(() => {
    const box = scroller.current!;
    const top = open * row_height;
    if (open >= 0 && (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 2 * row_height)) {
      box.scrollTop = Math.max(0, top - 2 * row_height);
    }
  }, [state.site, rows]);

  const first = is_printing ? 0 : Math.max(0, Math.floor(top / row_height) - 10);
  const last = Math.min(sorted.length, is_printing ? printed : Math.ceil((top + height) / row_height) + 10);
  const turn = (column: Column<Row>) => {
    const usual = column.is_text ? 'up' : 'down';
    const now = is_up ? 'up' : 'down';
    const order = column === sort ? (now === 'up' ? 'down' : 'up') : usual;
    change({sort: column.name === properties.sort ? '' : column.name, order: order === usual ? '' : order});
  };
  const go = (event: KeyboardEvent, index: number) => {
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -sorted.length, End: sorted.length}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(sorted.length - 1, Math.max(0, index + step));
    scroller.current!.scrollTop = Math.max(0, next * row_height - height / 2);
    set_top(scroller.current!.scrollTop);
    change({site: properties.id(sorted[next])});
    requestAnimationFrame(() => requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`)?.focus({preventScroll: true})));
  };

  return (
    <div class={open >= 0 ? 'with-details opened' : 'with-details'}>
      <div class="scroller" ref={scroller} onScroll={(event) => set_top(event.currentTarget.scrollTop)} tabIndex={0} role="region"
           aria-label={properties.label}>
        <table aria-rowcount={sorted.length + 1} aria-label={properties.label}>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <th key={column.name} scope="col" class={`col-${column.name}${column.is_text ? ' text' : ''}${column.is_minor ? ' minor' : ''}`}
                    aria-sort={column === sort ? (is_up ? 'ascending' : 'descending') : undefined}>
                  <button type="button" onClick={() => turn(column)} title={column.title}>
                    {column.label}<span aria-hidden="true">{column === sort ? (is_up ? ' ▲' : ' ▼') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr aria-hidden="true" class="space"><td style={{height: first * row_height}} /></tr>}
            {sorted.slice(first, last).map((row, offset) => {
              const id = properties.id(row);
              const index = first + offset;
              return (
                <tr key={id} aria-rowindex={index + 2} class={id === state.site ? 'row open' : 'row'}
                    onClick={() => change({site: id === state.site ? '' : id})}>
                  {columns.map((column, column_index) => (
                    <td key={column.name} class={(column.is_text ? 'text' : '') + (column.is_minor ? ' minor' : '')}>
                      {column_index === 0 ? (
                        <button type="button" class="opens" data-row={index} aria-expanded={id === state.site}
                                onKeyDown={(event) => go(event, index)}>
                          {column.cell(row)}
                        </button>
                      ) : column.cell(row)}
                    </td>
                  ))}
                </tr>
              );
            })}
            {last < sorted.length && !is_printing && (
              <tr aria-hidden="true" class="space"><td style={{height: (sorted.length - last) * row_height}} /></tr>
            )}
          </tbody>
        </table>
        {sorted.length === 0 && <p class="none">{properties.empty_text}</p>}
      </div>
      {open >= 0 && <aside class="details" aria-label="Details of the chosen row">
        <button type="button" class="close" onClick={() => change({site: ''})} aria-label="Close the details">×</button>
        {properties.details(sorted[open])}
      </aside>}
    </div>
  );
}
