import type { Expiry } from '../../../../schemas/events/expiry.ts';
import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import type { AgentParts } from '../agent-parts.ts';
import { HoldsWatch } from '../candidates/what-holds.ts';
import { publishUntilDone, takenAt } from '../publish-until-done.ts';
import type { ExpiryBook } from './expiry-book.ts';

export interface ExpiryPublishing {
  readonly parts: AgentParts;
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly book: Pick<ExpiryBook, 'take' | 'tellAgain'>;
  /** Whether anything may be published (cluster I10). */
  readonly isReady: () => boolean;
}

/** How often it is looked whose time is over. */
const LOOK_EVERY_MS = 1_000;

/** Publishes objects whose time is over, until the signal aborts. */
export async function publishExpiry(publishing: ExpiryPublishing, signal: AbortSignal): Promise<void> {
  const { parts, identity, book, isReady } = publishing;
  const holds = new HoldsWatch();
  for (let seq = 0; !signal.aborted; ) {
    const instant = takenAt(parts);
    if (instant !== null && holds.isChanged(parts.holds(identity, instant.serverMs), parts.nowMs()))
      book.tellAgain();
    const batch = instant === null || !isReady() ? null : book.take(instant.serverMs);
    if (instant === null || batch === null || batch.candidates.length === 0) {
      await parts.sleep(LOOK_EVERY_MS, signal);
      continue;
    }
    const { cluster, clusterInstance, session } = identity;
    const fact: Expiry = {
      type: 'fleetgc.cluster.expiry',
      version: 1,
      id: parts.newId(),
      cluster,
      clusterInstance,
      session,
      seq: seq++,
      takenAt: instant,
      ...batch,
    };
    await publishUntilDone(parts, fact, signal);
  }
}
