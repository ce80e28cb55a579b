import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256Hex } from '../../packages/canonical/ids.ts';
import { readKeyFile } from '../../packages/records/trust/private-key.ts';
import { signerOf } from '../../packages/records/trust/signer.ts';
import { fleetgc } from '../cli/fleetgc.ts';
import { spawnVerb } from '../cli/service-process.ts';
import { containerRemoval } from '../fixtures/command.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Fleet, startFleet } from './support/fleet/fleet.ts';
import type { FleetNode } from './support/fleet/fleet-node.ts';
import { policyFor } from './support/fleet/policies.ts';
import { putCommands } from './support/fleet/put-commands.ts';
import { removedIds } from './support/outcomes.ts';
import {
  pullUntilPressed,
  pushEqualImages,
  REMOVES_AT_ONCE,
  relieved,
  SMALL_DISK_MEBIBYTES,
} from './support/pressure.ts';

const RELIEVED_MS = 90_000;
const REFUSED_MS = 60_000;
const ROOTS_ON_NODE = '/run/fleetgc-node/roots.yaml';
const directory = mkdtempSync(join(tmpdir(), 'fleetgc-keys-'));
const file = (name: string): string => join(directory, name);
const TRUST = ['--trust', 'required', '--trust-roots', file('roots.yaml')];

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({ services: [] });
  await setUpKeys();
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** As docs/operating/keys.md says it, with a root that has a network. */
async function setUpKeys(): Promise<void> {
  const root = (await fleet.cli(['keys', 'create', file('root.pem')])).trim();
  writeFileSync(
    file('roots.yaml'),
    await fleet.cli(['keys', 'roots', '--fleet', 'e2e', '--root', `first=${root}`]),
  );
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  for (const role of ['decider', 'operator']) {
    const key = (await fleet.cli(['keys', 'create', file(`${role}.pem`)])).trim();
    await fleet.cli([
      'keys',
      'certify',
      key,
      '--role',
      role,
      '--name',
      role,
      '--valid-for',
      '90d',
      ...rooted,
    ]);
  }
}

const keyIdOf = (role: string): string => readKeyFile(file(`${role}.pem`)).keyId;

async function startSignedNode(name: string): Promise<FleetNode> {
  const node = await fleet.startNode({
    name,
    diskMebibytes: SMALL_DISK_MEBIBYTES,
    args: ['--trust', 'required', '--trust-roots', ROOTS_ON_NODE],
  });
  const roots = readFileSync(file('roots.yaml'), 'utf8');
  await node.exec(['sh', '-c', `cat > ${ROOTS_ON_NODE} <<'END'\n${roots}\nEND`]);
  return node;
}

test('with signatures required a full disk is relieved, a forged command is refused, decision services wait once their key is revoked, and nobody orders with it', async () => {
  const images = await pushEqualImages(fleet.registry);
  const node = await startSignedNode('signed');
  const policy = JSON.stringify(policyFor('signed', REMOVES_AT_ONCE));
  await fleet.cli(['policy', 'apply', '-', ...TRUST, '--signing-key-file', file('operator.pem')], policy);
  const decide = spawnVerb(
    ...['decide', '--kafka-brokers', fleet.broker.address, '--kafka-replication-factor', '1'],
    ...[...TRUST, '--signing-key-file', file('decider.pem')],
  );
  await node.startFleetgc();
  await pullUntilPressed(node, images);
  await relieved(fleet.log, node, RELIEVED_MS);
  expect(removedIds(fleet.log, 'signed').length).toBeGreaterThan(0);

  const inventory = fleet.log.events('inventory').findLast((event) => event.node === 'signed');
  if (inventory === undefined) throw new Error('the node never reported');
  const { cluster, nodeInstance, takenAt } = inventory;
  const forged = containerRemoval([], { id: `forged-${sha256Hex(nodeInstance).slice(0, 8)}` });
  await putCommands(fleet.log, [{ ...forged, cluster, node: 'signed', nodeInstance, takenAt }]);
  await fleet.log.waitFor(
    'results',
    'the refusal of the forged command',
    (event) =>
      event.type === 'fleetgc.node.command-result' &&
      event.result.outcome === 'refused' &&
      event.result.reason === 'not-trusted',
  );

  // The forged command is a deviation, so it ends with 1.
  const asked = ['audit', 'verify', '--trust-roots', file('roots.yaml'), '-o', 'json'];
  const { stdout } = await fleetgc([...asked, '--kafka-brokers', fleet.broker.address]);
  const { deviations, signedBy } = JSON.parse(stdout);
  expect(deviations.byKind).toMatchObject({ 'not-trusted': 1 });
  expect(signedBy).toContainEqual(
    expect.objectContaining({ topic: 'gc.node.commands', keyId: keyIdOf('decider'), role: 'decider' }),
  );

  await fleet.cli([
    ...['keys', 'revoke', keyIdOf('decider'), '--reason', 'stolen'],
    ...['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')],
  ]);
  const before = removedIds(fleet.log, 'signed').length;
  await pullUntilPressed(node, images);
  await waitUntil('the decision services to wait for another key', REFUSED_MS, () =>
    decide.output.stderr.includes('nothing is decided until another key signs'),
  );
  const key = readKeyFile(file('decider.pem'));
  const stolen = { ...forged, id: `stolen-${forged.id}`, cluster, node: 'signed', nodeInstance, takenAt };
  await putCommands(fleet.log, [stolen], signerOf({ fleet: 'e2e', role: 'decider', key: () => key }));
  await fleet.log.until('an order of the revoked key to be refused', REFUSED_MS, () =>
    fleet.log
      .events('deadLetters')
      .some((letter) => letter.type === 'fleetgc.dead-letter' && letter.cause === 'untrusted-key'),
  );
  expect(removedIds(fleet.log, 'signed')).toHaveLength(before);
  expect(await decide.terminate()).toBe(0);
});
