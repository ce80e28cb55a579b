import { expect, test } from 'vitest';
import type { FleetNode } from '../../../../lab/sim/fleet/node.ts';
import { createFleetTally } from '../../../../lab/sim/fleet-run/tally.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { fleetInNoTime, nodesOf } from '../fleet/support.ts';

function setUp() {
  const fleet = fleetInNoTime(7, 0);
  const [node] = nodesOf(fleet, 1);
  if (node === undefined) throw new Error('there is no node');
  const set = policySet('node', [appliedPolicy({})], []);
  const log = { isReached: true };
  const policies = {
    problem: () => (log.isReached ? null : 'Kafka is away'),
    current: {
      node: () => {
        if (!log.isReached) throw new FleetGcError('POLICIES_UNREADABLE', 'Kafka is away');
        return set;
      },
      cluster: () => ({ subject: 'cluster' as const, policies: [], pauses: [], approvals: [], hash: '' }),
    },
  };
  const tally = createFleetTally({ fleet, policies, realNowMs: () => 0 });
  const command = (ids: readonly string[]) => tally.commanded.received(node.identity.node, imageRemoval(ids));
  return { node, tally, command, log };
}

const imagesOf = ({ disk, pods }: FleetNode) => {
  const used = new Set([...pods.values()].map(({ image }) => image.id));
  const ids = [...disk.images.values()]
    .filter(({ image }) => !image.listed.pinned)
    .map(({ image }) => image.id);
  const [unused = '', usedOne = ''] = [ids.find((id) => !used.has(id)), ids.find((id) => used.has(id))];
  return { unused, used: usedOne };
};

test('a removal that a command lists and nothing forbids is done', () => {
  const { node, tally, command } = setUp();
  const { unused } = imagesOf(node);
  command([unused]);
  tally.removal(node, { kind: 'image', id: unused });
  expect(tally.removals()).toMatchObject({ done: { image: 1 }, wrong: 0, twice: 0 });
});

test('while the log is away the policy that was last read still says what may go', () => {
  const { node, tally, command, log } = setUp();
  const { unused, used } = imagesOf(node);
  command([unused, used]);
  tally.measured(node);
  log.isReached = false;
  tally.measured(node);
  tally.removal(node, { kind: 'image', id: unused });
  expect(tally.removals()).toMatchObject({ done: { image: 1 }, wrong: 0 });
  tally.removal(node, { kind: 'image', id: used });
  expect(tally.removals()).toMatchObject({ wrong: 1 });
});

test('a planted removal before any policy was read is wrong', () => {
  const { node, tally, command, log } = setUp();
  const { unused } = imagesOf(node);
  log.isReached = false;
  command([unused]);
  tally.removal(node, { kind: 'image', id: unused });
  expect(tally.removals()).toMatchObject({ wrong: 1 });
});

test('a planted removal of an image in use is wrong, though a command lists it', () => {
  const { node, tally, command } = setUp();
  const { used } = imagesOf(node);
  command([used]);
  tally.removal(node, { kind: 'image', id: used });
  expect(tally.removals()).toMatchObject({
    wrong: 1,
    wrongs: [{ id: used, why: ['in-use', 'wanted-by-pod'] }],
  });
});

test('a planted removal that no command lists is wrong', () => {
  const { node, tally } = setUp();
  const { unused } = imagesOf(node);
  tally.removal(node, { kind: 'image', id: unused });
  expect(tally.removals()).toMatchObject({ wrong: 1, wrongs: [{ why: ['not-listed'] }] });
});

test('a planted second removal by one command is done twice', () => {
  const { node, tally, command } = setUp();
  const { unused } = imagesOf(node);
  command([unused]);
  tally.removal(node, { kind: 'image', id: unused });
  tally.removal(node, { kind: 'image', id: unused });
  expect(tally.removals()).toMatchObject({ twice: 1 });
});
