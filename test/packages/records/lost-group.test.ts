import { expect, test } from 'vitest';
import type { Handler } from '../../../packages/decision/handler.ts';
import type { DeathCount } from '../../../packages/log/port.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { consumer, message } from './consumer-under-test.ts';

/** A slice that is counted, and the moment at which the broker knows that it was lived through. */
function counted() {
  const known = Promise.withResolvers<void>();
  const inHand: DeathCount = { deaths: 0, begin: async () => undefined, end: () => known.promise };
  return { inHand, known: () => known.resolve() };
}

test('no slice of another partition is begun before it is known that the one before was lived through', async () => {
  const handled: string[] = [];
  const handle: Handler<DiskStats> = ({ event }) => {
    handled.push(event.id);
    return [];
  };
  const { log } = await consumer({}, handle);
  const { inHand, known } = counted();
  const good = log.deliver([message('good', {}, { partition: 1 })], new AbortController().signal, inHand);
  // It takes so long that the group is lost: the good one must not be counted as in hand by then.
  const endless = log.deliver([message('endless', {}, { partition: 2 })]);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(handled).toEqual(['good']);
  known();
  await Promise.all([good, endless]);
  expect(handled).toEqual(['good', 'endless']);
});
