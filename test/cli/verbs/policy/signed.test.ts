import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { operatorPublication } from '../../../../cli/framework/task-event-log.ts';
import { toRecord } from '../../../../packages/records/publisher.ts';
import { readKeyFile } from '../../../../packages/records/trust/private-key.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { approvalKey } from '../../../../schemas/policy/approval.ts';
import { approval, approvedPods } from '../../../fixtures/approval.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ownLog } from '../../fleetgc.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { signedFleet } from './support/signed-fleet.ts';

test('what an operator writes is signed, and each change has a higher generation', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  await as('operator', 'pause', '--reason', 'disks are moved');
  await as('operator', 'resume');
  await as('operator', 'policy', 'delete', 'web');
  const records = await readTopic(own.log, 'gc.policies');
  expect(records).toHaveLength(4);
  const { keyId } = readKeyFile(file('operator.pem'));
  for (const { headers } of records) expect(headers.ce_fleetgckeyid).toBe(keyId);
  const ofWeb = records.filter(({ key }) => key === 'web').map(({ headers }) => headers.ce_fleetgcgeneration);
  expect(Number(ofWeb[1])).toBeGreaterThan(Number(ofWeb[0]));
});

test.each([
  { key: 'decider', args: ['pause'], why: /is that of a decider, who may not sign this/ },
  { key: 'pauser', args: ['policy', 'apply', 'other.yaml'], why: /a key that may only pause signed it/ },
  { key: 'pauser', args: ['resume', '--all'], why: /a key that may only pause signed it/ },
  { key: 'dashboard', args: ['policy', 'apply', 'other.yaml'], why: /the key of a dashboard signed it, and/ },
  { key: 'dashboard', args: ['policy', 'delete', 'web'], why: /the key of a dashboard signed it, and/ },
  { key: 'eu-dashboard', args: ['pause'], why: /is for the clusters eu alone/ },
  { key: 'eu-dashboard', args: ['resume'], why: /is for the clusters eu alone/ },
  { key: 'eu', args: ['policy', 'apply', 'other.yaml'], why: /is for the clusters eu alone/ },
  { key: 'eu', args: ['pause'], why: /is for the clusters eu alone/ },
  { key: 'eu', args: ['policy', 'delete', 'web'], why: /is for the clusters eu alone/ },
])('a key of $key writes nothing that nobody would believe: $args', async ({ key, args, why }) => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  await as('operator', 'pause');
  const before = await readTopic(own.log, 'gc.policies');
  const { exitCode, stderr } = await as(
    key,
    ...args.map((each) => (each.endsWith('.yaml') ? file(each) : each)),
  );
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(why);
  expect(stderr).toMatch(/Nothing was written/);
  expect(await readTopic(own.log, 'gc.policies')).toEqual(before);
});

test('the key of a dashboard pauses and resumes, which counts', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  expect(await as('dashboard', 'pause')).toMatchObject({ exitCode: 0 });
  const listed = () => own.run('policy', 'list', '--trust-roots', file('roots.yaml'));
  expect((await listed()).stdout).toContain('paused: all nodes');
  expect(await as('dashboard', 'resume')).toMatchObject({ exitCode: 0 });
  expect((await listed()).stdout).not.toMatch(/paused|cannot be read/);
  expect(await as('eu-dashboard', 'pause', '--cluster', 'eu')).toMatchObject({ exitCode: 0 });
});

test('a pauser pauses, and an operator of a cluster works in it', async () => {
  const { file, as } = await signedFleet();
  expect(await as('pauser', 'pause')).toMatchObject({ exitCode: 0 });
  expect(await as('eu', 'policy', 'apply', file('eu.yaml'))).toMatchObject({ exitCode: 0 });
  expect(await as('eu', 'pause', '--cluster', 'eu')).toMatchObject({ exitCode: 0 });
});

test('policy sign signs what carries no signature that counts, as it is, and leaves the rest alone', async () => {
  const { own, file, as } = await signedFleet();
  await own.run('policy', 'apply', file('web.yaml'));
  await own.run('pause', '--cluster', 'a');
  await own.run('pause', '--cluster', 'b');
  await own.run('resume', '--cluster', 'b');
  await as('operator', 'policy', 'apply', file('eu.yaml'));
  const before = await readTopic(own.log, 'gc.policies');

  const dry = await as('operator', 'policy', 'sign', '--dry-run', '-o', 'json');
  const { digest } = JSON.parse(dry.stdout);
  expect(JSON.parse(dry.stdout)).toMatchObject({
    dryRun: true,
    signed: [
      { key: 'web', kind: 'policy' },
      { key: '!pause [["a"],[],[],[]]', kind: 'pause' },
      { key: '!pause [["b"],[],[],[]]', kind: 'deletion' },
    ],
  });
  expect(await readTopic(own.log, 'gc.policies')).toEqual(before);

  const signing = () => as('operator', 'policy', 'sign', '--expect', digest);
  expect(await as('operator', 'policy', 'sign')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('look with --dry-run first'),
  });
  expect((await signing()).stderr).toBe('Signed. What they say has not changed.\n');
  const added = (await readTopic(own.log, 'gc.policies')).slice(before.length);
  const lastOf = (key: string | null) => before.findLast((record) => record.key === key);
  for (const record of added) {
    const held = lastOf(record.key);
    expect(jsonOf(record)).toEqual(held && jsonOf(held));
  }
  expect(added).toHaveLength(3);
  expect((await as('operator', 'policy', 'sign', '--dry-run')).stderr).toBe(
    'Everything on gc.policies carries a signature that counts.\n',
  );
  // What was looked at is not there any more.
  await own.run('pause', '--cluster', 'a', '--reason', 'another', '--allow-unsigned');
  expect((await signing()).stderr).toMatch(/holds something else now/);
  const all = JSON.parse((await as('operator', 'policy', 'sign', '--all', '--dry-run', '-o', 'json')).stdout);
  expect(all.signed).toHaveLength(4);
});

test('versions of policies, pauses and deletions are signed too, each with the generation of what it is of', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  await as('pauser', 'pause');
  await as('operator', 'resume');
  const generations = async (topic: 'gc.policies' | 'gc.policy-versions') =>
    (await readTopic(own.log, topic)).map(({ headers }) => headers.ce_fleetgcgeneration);
  const states = await generations('gc.policies');
  expect(states).toHaveLength(3);
  expect(await generations('gc.policy-versions')).toEqual(states);
});

test('apply of an equal policy writes it anew where an old record was put back', async () => {
  const { own, file, as } = await signedFleet();
  const apply = () => as('operator', 'policy', 'apply', file('web.yaml'));
  await apply();
  const [old] = await readTopic(own.log, 'gc.policies');
  if (old?.key !== 'web') throw new Error('nothing was applied');
  await as('operator', 'policy', 'apply', file('other.yaml'));
  await own.log.publish([{ topic: old.topic, key: old.key, value: old.value, headers: old.headers }]);

  expect((await apply()).stdout).toBe(
    'web: unchanged, version 1; written again, since what stands there does not count\n',
  );
  expect((await apply()).stdout).toBe('web: unchanged, version 1\n');
  const last = (await readTopic(own.log, 'gc.policies')).at(-1);
  expect(Number(last?.headers.ce_fleetgcgeneration)).toBeGreaterThan(
    Number(old.headers.ce_fleetgcgeneration),
  );
});

test('policy list and status show with the roots what counts, and without them what lies there', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('eu.yaml'));
  await own.run('policy', 'apply', file('web.yaml'), '--allow-unsigned');
  const roots = ['--trust-roots', file('roots.yaml')];
  const listed = async (...more: readonly string[]) => {
    const { stdout, stderr } = await own.run('policy', 'list', '-o', 'json', ...more);
    return { names: JSON.parse(stdout).policies.map(nameOf), stderr };
  };
  expect(await listed()).toEqual({ names: ['eu.web', 'web'], stderr: UNSIGNED_WEB });
  expect(await listed(...roots)).toEqual({
    names: ['eu.web'],
    stderr: expect.stringMatching(/key "web".*it carries no signature.*Nothing is removed on any node/),
  });
  expect((await own.run('status', ...roots)).stdout).toMatch(/1 record of gc.policies cannot be read/);
});

test('policy show, effective and nodes look at signatures with the roots, too', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('eu.yaml'));
  await own.run('policy', 'apply', file('web.yaml'), '--allow-unsigned');
  const roots = ['--trust-roots', file('roots.yaml')];
  const ofNode = ['policy', 'effective', '--cluster', 'eu', '--node', 'n', '-o', 'json'];
  expect((await own.run('policy', 'show', 'web')).exitCode).toBe(0);
  expect(await own.run('policy', 'show', 'web', ...roots)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('it carries no signature'),
  });
  expect((await own.run('policy', 'show', 'eu.web', ...roots)).exitCode).toBe(0);
  for (const verb of [ofNode, ['nodes']]) {
    expect((await own.run(...verb)).stderr).toEqual(UNSIGNED_WEB);
    expect((await own.run(...verb, ...roots)).stderr).toMatch(/it carries no signature.*Nothing is removed/);
  }
  expect((await own.run(...ofNode, ...roots)).stdout).not.toContain('"web"');
});

const nameOf = ({ policy }: { readonly policy: { readonly name: string } }): string => policy.name;

test('what replaces the record of a stolen key has a higher generation, though the thief signed one of tomorrow', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  const { keyId, ...thief } = readKeyFile(file('operator.pem'));
  const [held] = await readTopic(own.log, 'gc.policies');
  if (held?.key !== 'web') throw new Error('nothing was applied');
  const generation = Date.now() + 80_000_000;
  const stolen = { topic: held.topic, key: held.key, value: held.value, headers: held.headers };
  await own.log.publish([signRecord(stolen, { fleet: 'prod', key: { keyId, ...thief }, generation })]);
  const rooted = ['--trust-roots', file('roots.yaml'), '--root-key-file', file('root.pem')];
  await own.run('keys', 'revoke', keyId, '--reason', 'stolen', '--stolen-for', '1d', ...rooted);

  expect((await as('second', 'policy', 'apply', file('web.yaml'))).stdout).toMatch(/written again/);
  const last = (await readTopic(own.log, 'gc.policies')).at(-1);
  expect(Number(last?.headers.ce_fleetgcgeneration)).toBe(generation + 1);
});

/** What a verb without roots says of it. */
const UNSIGNED_WEB = expect.stringMatching(
  /1 record of gc.policies without a signature, although this fleet has signing keys: "web"\. Nodes and services with --trust required do not trust this and remove nothing/,
);

test.each([
  { name: 'apply over a signed policy', args: ['policy', 'apply', 'other.yaml'] },
  { name: 'apply beside one', args: ['policy', 'apply', 'eu.yaml'] },
  { name: 'delete', args: ['policy', 'delete', 'web'] },
  { name: 'delete of what is not there', args: ['policy', 'delete', 'gone'] },
  { name: 'pause', args: ['pause'] },
  { name: 'pause beside it', args: ['pause', '--cluster', 'a'] },
  { name: 'resume', args: ['resume'] },
  { name: 'resume of all', args: ['resume', '--all'] },
  {
    name: 'withdrawal of an approval',
    args: ['approve', 'prod', 'Pod', '--as', 'pods-of-missing-nodes', '--withdraw'],
  },
  { name: 'pause with --trust warn', args: ['pause', '--trust', 'warn', '--trust-roots', 'roots.yaml'] },
])(
  'without a key nothing is written where the fleet signs, unless asked for by name: $name',
  async ({ args }) => {
    const { own, file, as } = await signedFleet();
    await as('operator', 'policy', 'apply', file('web.yaml'));
    await as('operator', 'pause');
    const state = approval(approvedPods(5), { cluster: 'prod' });
    const record = toRecord(
      { topic: 'policies', key: approvalKey(state), event: state },
      operatorPublication(),
    );
    await own.log.publish([
      signRecord(record, { fleet: 'prod', key: readKeyFile(file('operator.pem')), generation: Date.now() }),
    ]);
    const before = await readTopic(own.log, 'gc.policies');
    const given = args.map((each) => (each.endsWith('.yaml') ? file(each) : each));
    const { exitCode, stderr, stdout } = await own.run(...given);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/without a signature.*Nothing was written.*--signing-key-file.*--allow-unsigned/s);
    expect(await readTopic(own.log, 'gc.policies')).toEqual(before);

    await own.run(...given, '--allow-unsigned');
    expect((await readTopic(own.log, 'gc.policies')).length).toBeGreaterThan(before.length);
  },
);

test('every verb that shows policies without roots says what the fleet would not trust, also after the last signed record is replaced', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  const effective = ['policy', 'effective', '--cluster', 'eu', '--node', 'n'];
  const verbs = [['policy', 'list'], ['policy', 'show', 'web'], effective, ['nodes'], ['held']];
  for (const verb of verbs)
    expect((await own.run(...verb)).stderr).toMatch(
      /Signatures were not verified, since --trust-roots was not/,
    );
  await own.run('policy', 'apply', file('other.yaml'), '--allow-unsigned');
  for (const verb of [...verbs, ['policy', 'export']])
    expect((await own.run(...verb)).stderr).toEqual(UNSIGNED_WEB);
  expect((await own.run('status')).stdout).toEqual(UNSIGNED_WEB);
  const facts = join(temporaryDirectory(), 'inventory.json');
  writeFileSync(facts, JSON.stringify(inventory()));
  expect((await own.run('plan', '--from-log', '--inventory', facts)).stderr).toEqual(UNSIGNED_WEB);
});

test('a fleet without keys is told nothing of signatures', async () => {
  const own = await ownLog();
  const { file } = await signedFleet();
  await own.run('policy', 'apply', file('web.yaml'));
  expect((await own.run('policy', 'list')).stderr).toBe('');
});

test('what is written without a key on the way to signatures is told', async () => {
  const { own, file } = await signedFleet();
  const { stderr } = await own.run('pause', '--trust', 'warn', '--trust-roots', file('roots.yaml'));
  expect(stderr).toMatch(/This is written without a signature/);
});
