import { backOffMs } from '../../../process/back-off.ts';
import type { EventLogContext } from '../../port.ts';
import type { Sending } from '../publishing/publisher.ts';
import type { Batch } from '../reading/batches.ts';
import { isBetweenLeaders, toLogError } from './errors.ts';

const BACK_OFF = { firstMs: 100, mostMs: 1000 };
/** About fifteen seconds: another broker takes over in less. */
const ELECTION_TRIES = 20;

/** Not when the broker looked at the batch, or at who sent it, and said no; nor for a fault of ours. */
const mayHelp = (error: unknown): boolean => toLogError([], error).code === 'LOG_UNREACHABLE';

export interface Patience {
  readonly send: Sending['send'];
  readonly random: EventLogContext['random'];
  readonly wait: (ms: number) => Promise<unknown>;
  /** Where no leader changes; each of them outlasts a short loss of the connection by itself. */
  readonly tries: number;
}

function isEnough(error: unknown, failures: number, tries: number): boolean {
  return failures >= (isBetweenLeaders(error) ? ELECTION_TRIES : tries) || !mayHelp(error);
}

/** Sends one batch, and again while a leader is missing or the connection was lost. */
export async function sendPatiently({ send, random, wait, tries }: Patience, batch: Batch): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await send([batch]);
    } catch (error) {
      if (isEnough(error, failures, tries)) throw error;
      await wait(backOffMs(BACK_OFF, failures - 1, random));
    }
  }
}
