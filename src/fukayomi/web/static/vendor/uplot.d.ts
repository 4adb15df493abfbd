// uplot.js for the type check; its options and hooks are as in its documentation.
declare class uPlot {
  static join(tables: unknown[][]): any[];
  constructor(options: object, data: any[], place: HTMLElement);
  [member: string]: any;
}
export default uPlot;
