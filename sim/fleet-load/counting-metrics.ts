import type { Metrics } from '../../packages/process/metrics.ts';

/** What was counted, by the name of the metric and its labels. */
export type Counted = (name: string, labels: Readonly<Record<string, string>>, by: number) => void;

/** Metrics of one of thousands of nodes: counts are passed on, and nothing is served. */
export const countingMetrics = (counted: Counted): Metrics => ({
  count: (name) => ({ add: (labels, by = 1) => counted(name, labels, by) }),
  distribution: () => ({ observe: () => {} }),
  gauge: () => {},
  total: () => {},
  text: async () => '',
  contentType: 'text/plain',
});
