import { expect, test } from 'vitest';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { FleetNode } from '../../../sim/fleet/fleet-node.ts';
import { createBooks } from '../../../sim/fleet-load/books.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { imageRemoval } from '../../fixtures/command.ts';
import { fleetInNoTime, nodesOf } from '../fleet/support.ts';

function setUp() {
  const fleet = fleetInNoTime(7, 0);
  const [node] = nodesOf(fleet, 1);
  if (node === undefined) throw new Error('there is no node');
  const set = policySet([appliedPolicy({})], []);
  const log = { isReached: true };
  const policies = {
    problem: () => (log.isReached ? null : 'Kafka is away'),
    current: () => {
      if (!log.isReached) throw new FleetGcError('POLICIES_UNREADABLE', 'Kafka is away');
      return set;
    },
  };
  const books = createBooks({ fleet, policies, realNowMs: () => 0 });
  const command = (ids: readonly string[]) => books.commanded.received(node.identity.node, imageRemoval(ids));
  return { node, books, command, log };
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
  const { node, books, command } = setUp();
  const { unused } = imagesOf(node);
  command([unused]);
  books.removal(node, { kind: 'image', id: unused });
  expect(books.removals()).toMatchObject({ done: { image: 1 }, wrong: 0, twice: 0 });
});

test('while the log is away the policy that was last read still says what may go', () => {
  const { node, books, command, log } = setUp();
  const { unused, used } = imagesOf(node);
  command([unused, used]);
  books.measured(node);
  log.isReached = false;
  books.measured(node);
  books.removal(node, { kind: 'image', id: unused });
  expect(books.removals()).toMatchObject({ done: { image: 1 }, wrong: 0 });
  books.removal(node, { kind: 'image', id: used });
  expect(books.removals()).toMatchObject({ wrong: 1 });
});

test('a planted removal before any policy was read is wrong', () => {
  const { node, books, command, log } = setUp();
  const { unused } = imagesOf(node);
  log.isReached = false;
  command([unused]);
  books.removal(node, { kind: 'image', id: unused });
  expect(books.removals()).toMatchObject({ wrong: 1 });
});

test('a planted removal of an image in use is wrong, though a command lists it', () => {
  const { node, books, command } = setUp();
  const { used } = imagesOf(node);
  command([used]);
  books.removal(node, { kind: 'image', id: used });
  expect(books.removals()).toMatchObject({
    wrong: 1,
    wrongs: [{ id: used, why: ['in-use', 'wanted-by-pod'] }],
  });
});

test('a planted removal that no command lists is wrong', () => {
  const { node, books } = setUp();
  const { unused } = imagesOf(node);
  books.removal(node, { kind: 'image', id: unused });
  expect(books.removals()).toMatchObject({ wrong: 1, wrongs: [{ why: ['not-listed'] }] });
});

test('a planted second removal by one command is done twice', () => {
  const { node, books, command } = setUp();
  const { unused } = imagesOf(node);
  command([unused]);
  books.removal(node, { kind: 'image', id: unused });
  books.removal(node, { kind: 'image', id: unused });
  expect(books.removals()).toMatchObject({ twice: 1 });
});
