import type { Logger } from 'pino';
import type { TraceIds } from '../../../packages/process/trace.ts';
import type { ProcessTrust } from '../../../packages/records/trust/process-trust.ts';
import type { Signer } from '../../../packages/records/trust/signer.ts';
import type { PipelineTime } from './pipeline-time.ts';
import type { WatchedLog } from './watched-log.ts';

/** What all processes of a pipeline share. The log has a clock of its own, as a broker has. */
export interface Surroundings {
  readonly time: PipelineTime;
  readonly log: WatchedLog;
  readonly logger: Logger;
  readonly ids: TraceIds;
  readonly trust: ProcessTrust;
  /** Signs what the node reports. */
  readonly nodeSigner: Signer;
  /** Epoch milliseconds, for envelopes. */
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
  /** Of the machine, for what waits for the log and not for the node's time. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}
