import { describe, expect, test } from 'vitest';
import { clusterOutput, nodeOutput, type Output } from '../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { MAX_MEMBERS } from '../../../packages/records/parse/json-bounds.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { publishingReadable } from '../../../packages/records/readable-facts.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { census } from '../../fixtures/census.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { expiry } from '../../fixtures/expiry.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { ownership } from '../../fixtures/ownership.ts';
import { pods } from '../../fixtures/pods.ts';
import { countedIds, recordOf } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';

const FACTS: readonly (readonly [fact: string, output: Output])[] = [
  ['inventory', nodeOutput('inventory', inventory())],
  ['disk-stats', nodeOutput('diskStats', diskStats())],
  ['ownership', clusterOutput('clusterOwnership', ownership())],
  ['pods', clusterOutput('clusterPods', pods())],
  ['expiry', clusterOutput('clusterExpiry', expiry())],
  ['census', clusterOutput('clusterCensus', census())],
];

/** What became of a fact of an agent: what it told, and what its metric says. */
async function publishing(output: Output) {
  const sent: OutgoingRecord[] = [];
  const metrics = createMetrics();
  const publisher = createPublisher({
    source: '/test',
    now: () => 0,
    ids: countedIds(),
    signer: UNSIGNED,
    log: {
      publish: async (records) => {
        sent.push(...records);
        return madeUpPositions(records);
      },
    },
  });
  const told = await publishingReadable(
    publisher,
    metrics,
  )([output]).then(
    () => null,
    (error: unknown) => error,
  );
  const refused = [...(await metrics.text()).matchAll(/^fleetgc_facts_refused_total\{fact="(.*)"\} 1$/gm)];
  return { told, sent: sent.length, refused: refused.map(([, fact]) => fact) };
}

const withMore = ({ event, ...output }: Output, more: unknown): Output => ({
  ...output,
  event: Object.assign({ ...event }, { more }),
});
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

describe.each(FACTS)('a fact of the kind %s', (fact, output) => {
  const { bounds } = TOPICS[output.topic];

  test('is published where it is read', async () => {
    expect(await publishing(output)).toEqual({ told: null, sent: 1, refused: [] });
  });

  test.each<{ name: string; wrong: Output; says: string }>([
    {
      name: 'bytes',
      wrong: withMore(output, 'x'.repeat(bounds.bytes)),
      says: `at most ${bounds.bytes} are read`,
    },
    {
      name: 'elements',
      wrong: withMore(output, new Array<number>(bounds.elements).fill(0)),
      says: `more elements than the ${bounds.elements}`,
    },
    {
      name: 'members of one object',
      wrong: withMore(
        output,
        Object.fromEntries(Array.from({ length: MAX_MEMBERS + 1 }, (_, n) => [`m${n}`, 0])),
      ),
      says: `more members of one object than the ${MAX_MEMBERS}`,
    },
    {
      name: 'levels of brackets',
      wrong: withMore(output, nested(bounds.depth)),
      says: 'more levels of brackets',
    },
    { name: 'half of a character', wrong: withMore(output, '\ud800'), says: 'half characters' },
    {
      name: 'another schema',
      wrong: { ...output, event: Object.assign({ ...output.event }, { takenAt: 'now' }) },
      says: 'takenAt: must be a map, not text',
    },
  ])('is not published where readers would refuse it: $name', async ({ wrong, says }) => {
    expect(parseRecord(wrong.topic, recordOf(wrong)).ok).toBe(false);
    expect(await publishing(wrong)).toEqual({
      told: expect.objectContaining({ code: 'EVENT_REJECTED', message: expect.stringContaining(says) }),
      sent: 0,
      refused: [fact],
    });
  });
});
