import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { Decision } from '../../../../schemas/events/decision.ts';
import { incompleteInventory, NODE } from '../../../fixtures/inventory.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { at, explained, type Logged, look, told } from './support/recorded-log.ts';

const decided = (seconds: number, over: Partial<Decision>): Logged => [
  seconds,
  nodeOutput(
    'decisions',
    decision({ id: `decision-${seconds}`, takenAt: at(seconds), outcome: 'nothing-to-do', input, ...over }),
  ),
];
const input = { ...decision().input, offset: '0' };
const pressure = { name: 'pressure', version: '1' } as const;
const answer = (commandId: string): Logged => [
  9,
  nodeOutput('results', {
    type: 'fleetgc.node.command-result',
    version: 1,
    id: 'command-result-1',
    ...NODE,
    at: at(9),
    commandId,
    decisionId: 'decision-1',
    inventoryId: 'inventory-1',
    journal: 'disk',
    kind: 'image-removal',
    result: { outcome: 'refused', reason: 'paused', message: 'a pause is in force' },
  }),
];

test('of a node equal conclusions of one decider are one entry, and what happened stands between', async () => {
  const boot = { ...at(5), bootId: 'another-boot' };
  const explanation = await explained(
    [
      look(0),
      decided(1, { decider: pressure, reason: 'used to 70%' }),
      decided(2, {}),
      decided(3, { decider: pressure, reason: 'used to 71%' }),
      decided(4, {}),
      look(5, { takenAt: boot }),
      [6, nodeOutput('inventory', { ...incompleteInventory, takenAt: boot })],
      [7, nodeOutput('inventory', { ...incompleteInventory, takenAt: boot })],
      decided(8, { outcome: 'commanded', outputIds: ['command-1'] }),
      answer('command-1'),
    ],
    'node/web-1',
  );

  expect(told(explanation)).toEqual([
    '0 seen first-look',
    '1 decision pressure nothing-to-do x2',
    '2 decision image-gc nothing-to-do x2',
    '5 changed bootId=another-boot',
    '6 not-seen',
    '8 decision image-gc commanded x1',
    '9 command-result',
  ]);
  expect(explanation).toMatchObject({
    timeline: expect.arrayContaining([
      expect.objectContaining({ what: 'decision', reason: 'used to 71%' }),
      expect.objectContaining({ what: 'not-seen', times: 2, status: 'incomplete' }),
      expect.objectContaining({ outcome: 'commanded', answered: true }),
    ]),
  });
});

test('another policy, and each command, are conclusions of their own', async () => {
  const policy = (hash: string) => ({ name: 'default', version: 1, hash, setHash: hash });
  const explanation = await explained(
    [
      decided(1, { policy: policy('a') }),
      decided(2, { policy: policy('b') }),
      decided(3, { outcome: 'commanded', policy: policy('b') }),
      decided(4, { outcome: 'commanded', policy: policy('b') }),
    ],
    'web-1',
  );

  expect(told(explanation)).toHaveLength(4);
  expect(explanation).toMatchObject({
    timeline: expect.arrayContaining([expect.objectContaining({ answered: false })]),
  });
});

test('a complete look ends what could not be seen', async () => {
  const blind = (seconds: number): Logged => [
    seconds,
    nodeOutput('inventory', { ...incompleteInventory, takenAt: at(seconds) }),
  ];

  expect(told(await explained([look(0), blind(1), blind(2), look(3), blind(4)], 'web-1'))).toEqual([
    '0 seen first-look',
    '1 not-seen',
    '4 not-seen',
  ]);
});

test('inventories that were passed over are one entry of their decider', async () => {
  const overtaken = (seconds: number): Logged =>
    decided(seconds, {
      outcome: 'overtaken',
      reason: 'a newer look was already there',
      overtakenBy: { topic: input.topic, partition: input.partition, offset: '9', id: 'inventory-9' },
    });
  const explanation = await explained(
    [look(0), overtaken(1), overtaken(2), overtaken(3), decided(4, {})],
    'node/web-1',
  );

  expect(told(explanation)).toEqual([
    '0 seen first-look',
    '1 decision image-gc overtaken x3',
    '4 decision image-gc nothing-to-do x1',
  ]);
});
