import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OutgoingRecord } from '../../port.ts';
import { type Batch, partitionName, toBatches } from '../reading/batches.ts';

/** What one request carries at most, before compression; a single larger batch goes all the same. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

/** How batches are sent; both resolve when all is acknowledged. */
export interface Sending {
  /** Batches of different partitions in one request, once. */
  readonly send: (batches: readonly Batch[]) => Promise<void>;
  /** One batch, again and again while that may help. */
  readonly sendPatiently: (batch: Batch) => Promise<void>;
}

interface Waiting {
  readonly batch: Batch;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface Publisher {
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  /** Settles when nothing is on its way. */
  idle(): Promise<void>;
}

/**
 * Sends what waits as soon as it may: of each partition one batch is on its way at a time, so that the order within a
 * partition holds also when one is tried again; batches of several publishes share a request.
 */
export function createPublisher({ send, sendPatiently }: Sending): Publisher {
  const waiting: Waiting[] = [];
  const busy = new Set<string>();
  const sending = new Set<Promise<void>>();
  let scheduled = false;

  /** The first batch of each partition that is free, in the order of the calls. */
  function take(): Waiting[] {
    const taken: Waiting[] = [];
    const skipped = new Set<string>(busy);
    let bytes = 0;
    for (const next of waiting) {
      const name = partitionName(next.batch);
      if (skipped.has(name)) continue;
      skipped.add(name);
      if (taken.length > 0 && bytes + next.batch.bytes > MAX_REQUEST_BYTES) continue;
      bytes += next.batch.bytes;
      taken.push(next);
    }
    return taken;
  }

  /** When a request fails, its batches go apart: one that cannot be sent fails no other, and is not sent with it again. */
  async function sendAll(group: readonly Waiting[]): Promise<void> {
    const apart = (): Promise<unknown> =>
      Promise.all(group.map(({ batch, resolve, reject }) => sendPatiently(batch).then(resolve, reject)));
    if (group.length === 1) return void (await apart());
    try {
      await send(group.map(({ batch }) => batch));
      for (const { resolve } of group) resolve();
    } catch {
      await apart();
    }
  }

  function start(group: readonly Waiting[]): void {
    const names = group.map(({ batch }) => partitionName(batch));
    for (const name of names) busy.add(name);
    for (const one of group) waiting.splice(waiting.indexOf(one), 1);
    const work = sendAll(group).finally(() => {
      for (const name of names) busy.delete(name);
      sending.delete(work);
      schedule();
    });
    sending.add(work);
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    void nextTurn().then(() => {
      scheduled = false;
      for (let group = take(); group.length > 0; group = take()) start(group);
    });
  }

  return {
    publish: async (records) => {
      const acknowledged = toBatches(records).map(
        (batch) => new Promise<void>((resolve, reject) => waiting.push({ batch, resolve, reject })),
      );
      schedule();
      await Promise.all(acknowledged);
    },
    idle: async () => {
      while (sending.size > 0 || waiting.length > 0) await Promise.race([...sending, nextTurn()]);
    },
  };
}
