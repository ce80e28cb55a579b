import { expect, test } from 'vitest';
import type { EventLog, LogRecord } from '../../../../packages/log/port.ts';
import { headsOf } from '../../../../packages/records/read-heads.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import type { DecisionHead } from '../../../../schemas/events/head.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../../fixtures/trust.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';

const [root, decider] = [newKey(), newKey()];

const event = (chain: string): DecisionHead => ({
  type: 'fleetgc.decision-head',
  version: 1,
  id: 'head-1',
  chain,
  decider: 'pressure',
  statements: {},
  ranges: [],
});

const head = (): LogRecord => {
  const record = outgoing({ topic: 'heads', key: 'a', event: event('a') });
  return { ...onLog(signRecord(record, { fleet: FLEET, key: decider, generation: null })), offset: 0n };
};

/** What each reading brings, where brokers answer the second one otherwise. */
async function chainsOf(first: LogRecord, second: LogRecord): Promise<readonly (readonly string[])[]> {
  const keys = certified(root, decider);
  const logs = [logOf([keys, first]), logOf([keys, second])];
  let readings = 0;
  const read: EventLog['read'] = (request, signal) => {
    const log = request.topic === 'gc.heads' ? logs[readings++] : logs[0];
    if (log === undefined) throw new Error('it is read twice');
    return log.read(request, signal);
  };
  const heads = headsOf({ read }, rootsOf(root));
  const chains = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const { event: one } of heads.read('earliest', new AbortController().signal))
      if (one.type === 'fleetgc.decision-head') found.push(one.chain);
    return found;
  };
  return [await chains(), await chains()];
}

test('what was believed is believed again', async () => {
  const honest = head();
  expect(await chainsOf(honest, honest)).toEqual([['a'], ['a']]);
});

test('what lies in the place of a head that was believed is judged by its own signature and time', async () => {
  const honest = head();
  const forged = outgoing({ topic: 'heads', key: 'b', event: event('b') });
  for (const other of [
    { ...honest, ...forged, headers: { ...honest.headers, ...forged.headers } },
    { ...honest, timestampMs: SIGNED_AT_MS + 365 * 86_400_000 },
  ])
    expect(await chainsOf(honest, other)).toEqual([['a'], []]);
});
