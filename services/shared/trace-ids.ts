import { randomBytes } from 'node:crypto';
import type { TraceIds } from './trace.ts';

/** Random ids; the chance of all zeros is none worth a branch. */
export const randomTraceIds: TraceIds = {
  traceId: () => randomBytes(16).toString('hex'),
  spanId: () => randomBytes(8).toString('hex'),
};
