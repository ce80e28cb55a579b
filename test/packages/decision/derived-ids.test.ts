import { describe, expect, test } from 'vitest';
import { policySetRecord } from '../../../packages/decision/policy-set.ts';
import {
  commandHeader,
  type Deciding,
  decisionId,
  endingId,
  observeOrder,
} from '../../../packages/decision/record.ts';
import {
  commandResultId,
  continuesId,
  objectResultId,
  passFailedId,
  unrelievedId,
} from '../../../packages/decision/result-ids.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { input } from '../../fixtures/input.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { policyRecord } from '../../fixtures/policy.ts';
import { reclaim } from '../../fixtures/reclaim.ts';

const ANSWERING = { nodeInstance: 'instance-1', commandId: 'command-1' };
const deciding: Deciding<'node', Inventory> = {
  decider: { name: 'image-gc', version: '1' },
  input: input('inventory', inventory()),
  policies: { hash: 'c'.repeat(64) },
  record: policyRecord(),
};

describe('an id that is derived never changes, since a repetition, and a record of years ago, is known by it', () => {
  test('of decisions and what follows from them', () => {
    expect({
      decision: decisionId(deciding),
      command: commandHeader(deciding, policyRecord()).id,
      order: observeOrder(deciding, reclaim()).id,
      ending: endingId('decision-1'),
    }).toMatchInlineSnapshot(`
      {
        "command": "command-1f19123c04a5d7876159d436f98a193c",
        "decision": "decision-43f97e4e93059c953b254a59faa22e64",
        "ending": "unrelieved-279872bed0197ef5fe61ff1ff7eff52e",
        "order": "observe-1f19123c04a5d7876159d436f98a193c",
      }
    `);
  });

  test('of results', () => {
    expect({
      object: objectResultId(ANSWERING, 3, { kind: 'image', id: 'a' }),
      command: commandResultId(ANSWERING),
      passFailed: passFailedId(ANSWERING, 'image-gc-failed'),
      continues: continuesId('command-1'),
      unrelieved: unrelievedId('command-1'),
    }).toMatchInlineSnapshot(`
      {
        "command": "command-result-340d694eb9818db0e6c8b97c51c2f790",
        "continues": "reclaim-continues-930e6ac566723186fedf7f7d1b2eea90",
        "object": "object-result-67e1872f01bb63fce9ef9751a95a6103",
        "passFailed": "pass-failed-3a27cff4d101c1b7dbff5f93a0193d12",
        "unrelieved": "pressure-unrelieved-930e6ac566723186fedf7f7d1b2eea90",
      }
    `);
  });

  test('of sets of policies', () => {
    const set = { subject: 'node', hash: 'c'.repeat(64), policies: [], pauses: [], approvals: [] } as const;
    expect(policySetRecord(set).id).toMatchInlineSnapshot(`"policy-set-6d77960cb94321f0d022a25ae3ea8744"`);
  });
});
