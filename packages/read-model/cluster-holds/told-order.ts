import type { Census } from '../../../schemas/events/census.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import type { CandidatesFact } from './held-objects.ts';

type Told = CandidatesFact | Census;

/** The latest fact of one kind. */
interface Last extends Pick<Told, 'session'> {
  /** `null` where facts are not counted. */
  readonly seq: number | null;
  /** By the API server's clock. */
  readonly serverMs: number;
  /** By the log's clock. */
  readonly atMs: number;
}

/** Clocks of API servers of one cluster differ. */
const CLOCKS_DIFFER_MS = MINUTE_MS;
/** An agent reports within ten minutes. Where it has stopped, another one counts whatever its API server's clock says. */
const SILENT_AFTER_MS = 15 * MINUTE_MS;

/**
 * Which facts of one cluster are newer than the last. Any account that may write to the log can replay a fact that the agent once signed: it lies after
 * newer ones then, with a signature that counts, and would show what was held long ago, or hide what is held now.
 */
export class ToldOrder {
  readonly #last = new Map<FleetEvent['type'], Last>();

  /** In the order of the log; `atMs`: when the log took it. */
  isNews(told: Told, atMs: number): boolean {
    const { type, session, takenAt } = told;
    const seq = 'seq' in told ? told.seq : null;
    const now = { session, seq, serverMs: takenAt.serverMs, atMs };
    const last = this.#last.get(type);
    if (last !== undefined && !follows(now, last)) return false;
    this.#last.set(type, now);
    return true;
  }
}

function follows(now: Last, last: Last): boolean {
  if (now.session === last.session && now.seq !== null && last.seq !== null) return now.seq > last.seq;
  return now.serverMs >= last.serverMs - CLOCKS_DIFFER_MS || now.atMs - last.atMs > SILENT_AFTER_MS;
}
