// The names of uplot.js that the page uses, for the type check.
/** Places, which ascend, and the values of each line at them. */
export type Data = [number[], ...(number | null | undefined)[][]];
type Texts = (plot: uPlot, ticks: (number | null)[]) => string[];
type Axis = {stroke: string; grid: object; ticks: object; font: string; size: number; values: Texts; incrs?: number[]};
type Scale = {time?: boolean; distr: number; range?: (plot: uPlot, low: number | null, high: number | null) => [number, number]};
export type Series = {
  label: string; value: (plot: uPlot, value: number | null, index: number, place: number | null) => string; class?: string; spanGaps?: boolean;
  stroke?: string; alpha?: number; width?: number; dash?: number[]; points?: object;
};
type Options = {
  width: number; height: number; cursor: object; scales: {x: Scale; y: Scale}; axes: Axis[]; series: Series[];
  legend: {live: boolean; markers: {width: number; fill: (plot: uPlot, index: number) => string}};
  hooks: {draw: ((plot: uPlot) => void)[]; setSelect: (() => void)[]};
};
declare class uPlot {
  static join(tables: [number[], (number | null)[]][]): Data;
  constructor(options: Options, data: Data, place: HTMLElement);
  readonly data: Data;
  readonly width: number;
  readonly ctx: CanvasRenderingContext2D;
  readonly scales: {x: {min: number; max: number}};
  destroy(): void;
  redraw(): void;
  setData(data: Data, resetScales: boolean): void;
  setSize(size: {width: number; height: number}): void;
  valToPos(value: number, scale: string, canvasPixels: boolean): number;
}
export default uPlot;
