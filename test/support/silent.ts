import { createLogger } from '../../packages/process/logger.ts';
import type { Metrics } from '../../packages/process/metrics.ts';

/** For code that is run a hundred thousand times: nobody reads what it tells and counts. */
export const SILENT = createLogger(
  { service: 'test', level: 'silent' },
  { isTerminal: false, write: () => undefined },
);

export const NO_METRICS: Metrics = {
  count: () => ({ add: () => undefined }),
  occurrences: () => ({ add: () => undefined }),
  distribution: () => ({ observe: () => undefined }),
  gauge: () => undefined,
  total: () => undefined,
  text: async () => '',
  contentType: 'text/plain',
};
