import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DECIDER as CONTAINER_GC } from '../../../packages/deciders/container-gc/decide.ts';
import { containerGcHandler } from '../../../packages/deciders/container-gc/decider.ts';
import { DECIDER as IMAGE_GC } from '../../../packages/deciders/image-gc/decide.ts';
import { imageGcHandler } from '../../../packages/deciders/image-gc/decider.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { overtakenHandler } from '../../../packages/decision/overtaking.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { decide } from '../../../packages/records/decide.ts';
import { type LookAhead, lookAhead, readAlone, scanAhead } from '../../../packages/records/look-ahead.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { arbitraryNode, arbitraryPolicy } from '../../fixtures/arbitrary-node.ts';
import { incompleteInventory } from '../../fixtures/inventory.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { countedIds, NOW_MS, recordOf } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { readableLog } from '../../support/logs/readable-log.ts';
import { runs } from '../../support/property-runs.ts';

const TOPIC = TOPICS.inventory.name;
const DECIDERS = [
  { name: 'image-gc', decider: IMAGE_GC, handlerOf: imageGcHandler },
  { name: 'container-gc', decider: CONTAINER_GC, handlerOf: containerGcHandler },
] as const;

const publisher = createPublisher({
  signer: UNSIGNED,
  log: { publish: async (records) => madeUpPositions(records) },
  source: '/fleetgc/test',
  now: () => NOW_MS,
  ids: countedIds(),
});

/** What follows from each inventory of a slice: the record of its decision, and the rest. */
async function decideAll(
  { decider, handlerOf }: (typeof DECIDERS)[number],
  records: readonly LogRecord[],
  { policies, see }: { readonly policies: PolicySet; readonly see: LookAhead },
) {
  const handling = {
    handlers: { inventory: handlerOf(() => policies) },
    onOvertaken: overtakenHandler(decider, () => policies),
    publisher,
  };
  const all = [];
  for (const record of records) {
    const { stages, failure } = await decide('inventory', see(record), handling);
    expect(failure).toBeNull();
    const [decided, ...following] = stages.flat().map(({ value }) => JSON.parse(String(value)));
    all.push({ decision: Decision.parse(decided), following });
  }
  return all;
}

const RECLAIMS: readonly (Reclaim | null)[] = [
  null,
  null,
  null,
  reclaim({ step: 'containers' }),
  reclaim(),
  reclaim({ id: 'reclaim-2' }),
];
const INSTANCES = ['3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2c', '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d'];

/** An inventory of one of two nodes, with whatever may keep it from overtaking or from being overtaken. */
const someLook = fc
  .record({
    look: arbitraryNode,
    node: fc.constantFrom('web-1', 'web-1', 'web-2'),
    nodeInstance: fc.constantFrom(INSTANCES[0], INSTANCES[0], INSTANCES[0], INSTANCES[1]),
    reclaim: fc.constantFrom(...RECLAIMS),
    trigger: fc.constantFrom('interval', 'listing-changed', 'container-died'),
    isComplete: fc.constantFrom(true, true, true, true, false),
    afterMs: fc.constantFrom(0, 1, MINUTE, 5 * MINUTE, 10 * MINUTE),
  })
  .map(({ look, nodeInstance = '', isComplete, afterMs, ...header }) => ({
    afterMs,
    event: { ...(isComplete ? look : incompleteInventory), ...header, nodeInstance } satisfies Inventory,
  }));

/** Consecutive records of one partition, each taken so long after the one before it. */
const someSlice = fc.array(someLook, { minLength: 2, maxLength: 8 }).map((looks) => {
  let sinceBootMs = 24 * HOUR;
  return looks.map(({ event, afterMs }, index) => {
    sinceBootMs += afterMs;
    const numbered = { ...event, id: `inventory-${index}`, takenAt: instant({ sinceBootMs }) };
    return recordOf(nodeOutput('inventory', numbered), { offset: BigInt(index) });
  });
});

/** Where one slice ends and the next begins, and where the backlog ended when its end was read ahead; both as parts of the records. */
const someCuts = fc.record({
  slice: fc.constantFrom(0.1, 0.25, 0.5, 1),
  end: fc.constantFrom(1, 1, 0.75),
});

/** Two slices, the first with what was read ahead of it. */
async function seeTwice(
  records: readonly LogRecord[],
  cuts: { readonly slice: number; readonly end: number },
): Promise<LookAhead> {
  const cut = Math.ceil(cuts.slice * records.length);
  const behind = Math.ceil(cuts.end * (records.length - cut));
  // The last quarter of it is all that lies behind the slice.
  const backlog = { from: BigInt(cut - 3 * behind), end: BigInt(cut + behind), topic: TOPIC, partition: 0 };
  const scanning = {
    log: readableLog(records).log,
    parse: parseRecord,
    yieldToEventLoop: async () => undefined,
  };
  const found = await scanAhead(backlog, scanning, new AbortController().signal);
  const first = lookAhead(records.slice(0, cut), parseRecord, (key) => found.get(key ?? '') ?? null);
  const second = lookAhead(records.slice(cut), parseRecord);
  return (record) => (record.offset < cut ? first : second)(record);
}

/** The decision for which another was passed over in the end. */
function decidedFor(all: readonly { readonly decision: Decision }[], index: number): Decision | undefined {
  const decision = all[index]?.decision;
  return decision?.overtakenBy ? decidedFor(all, Number(decision.overtakenBy.offset)) : decision;
}

function expectPassedOverFor(decision: Decision, decided: Decision | undefined): void {
  const { node, nodeInstance, reclaim: part, takenAt, verdicts } = decision;
  expect(Object.values(verdicts).flat()).toEqual([]);
  expect(decided).toMatchObject({ node, nodeInstance, reclaim: part });
  expect(decided?.takenAt.sinceBootMs).toBeGreaterThan(takenAt.sinceBootMs);
}

const someSet = arbitraryPolicy.map((settings) =>
  policySet('node', [appliedPolicy({ ...settings, imageMaximumGCAgeMs: MINUTE })], []),
);

const Taken = z.object({
  nodeInstance: z.string(),
  status: z.string(),
  reclaim: z.looseObject({}).nullable(),
});
const takenOf = ({ value }: LogRecord) => Taken.parse(JSON.parse(String(value)));

describe.each(DECIDERS)('$name, whatever lies in a slice', (decider) => {
  test('decides on what is not overtaken as if it came alone, and commands nothing else', async () => {
    let overtaken = 0;
    await fc.assert(
      fc.asyncProperty(someSlice, someSet, someCuts, async (records, policies, cuts) => {
        const inTurn = await decideAll(decider, records, { policies, see: readAlone(parseRecord) });
        const ahead = await decideAll(decider, records, { policies, see: await seeTwice(records, cuts) });
        for (const [index, { decision, following }] of ahead.entries()) {
          if (decision.overtakenBy === undefined) {
            expect({ decision, following }).toEqual(inTurn[index]);
            continue;
          }
          overtaken++;
          expect(following).toEqual([]);
          expect(decision.id).not.toBe(inTurn[index]?.decision.id);
          const newerOffset = Number(decision.overtakenBy.offset);
          expect(newerOffset).toBeGreaterThan(index);
          expectPassedOverFor(decision, decidedFor(ahead, newerOffset));
        }
      }),
      runs(300),
    );
    expect(overtaken).toBeGreaterThan(0);
  });

  test('lets the newest complete look of each installation, and an answer to each order, be decided on', async () => {
    await fc.assert(
      fc.asyncProperty(someSlice, someSet, someCuts, async (records, policies, cuts) => {
        const ahead = await decideAll(decider, records, { policies, see: await seeTwice(records, cuts) });
        const parts = Map.groupBy(records.entries(), ([, record]) => {
          const { nodeInstance, reclaim: part, status } = takenOf(record);
          return JSON.stringify([record.key, nodeInstance, part, status === 'complete']);
        });
        for (const part of parts.values()) {
          const [newest, record] = part.at(-1) ?? [];
          if (record === undefined || takenOf(record).status !== 'complete') continue;
          expect(ahead[newest ?? -1]?.decision.outcome).not.toBe('overtaken');
        }
      }),
      runs(50),
    );
  });
});
