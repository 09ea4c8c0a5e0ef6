declare module '*.css';
declare module 'd3-selection' {
  export function select(element: Element): {
    datum(data: unknown): {call(flame: unknown): void};
    selectAll(selector: string): {interrupt(): void};  // from d3-transition, a dependency of the flame graph
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
    inverted(is_inverted: boolean): this;
    setColorMapper(color_of: (frame: Frame<Data>) => string): this;
    getName(name_of: (frame: Frame<Data>) => string): this;
    setLabelHandler(label_of: (frame: Frame<Data>) => string): this;
    destroy(): this;
  }
  export default function flamegraph<Data>(): FlameGraph<Data>;
}
