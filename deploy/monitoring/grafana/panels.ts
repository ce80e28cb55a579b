/** How Grafana writes values. */
type Unit = 'short' | 'bytes' | 'Bps' | 's' | 'percentunit' | 'ops';

interface Query {
  readonly expr: string;
  /** What a line is called: `{{label}}`. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What a reader should know beside the title. */
  readonly description: string;
  readonly kind: 'timeseries' | 'stat';
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  /** Also the name of its file. */
  readonly uid: string;
  readonly title: string;
  readonly rows: readonly Row[];
}

export const stat = (title: string, description: string, expr: string, unit: Unit = 'short'): Panel => ({
  title,
  description,
  kind: 'stat',
  unit,
  queries: [{ expr, legend: title }],
});

export const lines = (
  title: string,
  description: string,
  unit: Unit,
  ...queries: readonly Query[]
): Panel => ({
  title,
  description,
  kind: 'timeseries',
  unit,
  queries,
});

export const query = (expr: string, legend: string): Query => ({ expr, legend });

/** The share of them that took no longer. */
export const quantile = (share: number, histogram: string, by: string): string =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${histogram}_bucket[$__rate_interval])))`;
