declare module '*.css';
declare module 'd3-selection' {
  export function select(of: Element): {
    datum(data: unknown): {call(what: unknown): void};
    selectAll(what: string): {interrupt(): void};  // by d3-transition, which the flame graph brings
  };
}
declare module 'd3-flame-graph' {
  export interface Frame<Data> {
    data: Data;
    value: number;
    x0: number;
    x1: number;
  }
  export interface FlameGraph<Data> {
    width(pixels: number): this;
    cellHeight(pixels: number): this;
    transitionDuration(ms: number): this;
    inverted(is: boolean): this;
    setColorMapper(of: (frame: Frame<Data>) => string): this;
    getName(of: (frame: Frame<Data>) => string): this;
    setLabelHandler(of: (frame: Frame<Data>) => string): this;
    destroy(): this;
  }
  export default function flamegraph<Data>(): FlameGraph<Data>;
}
