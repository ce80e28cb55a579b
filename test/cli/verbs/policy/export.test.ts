import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { readPolicyDocument } from '../../../../packages/policy/policy-document.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { signedFleet } from './support/signed-fleet.ts';

const documentIn = (path: string) => {
  const reading = readPolicyDocument(readFileSync(path));
  if (!reading.ok) throw new Error(reading.why);
  return reading.document;
};

test('an operator writes what is in force as one document, and tells the event log what its sets consist of', async () => {
  const { own, file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  await as('operator', 'pause');
  await as('operator', 'resume');
  expect(await as('operator', 'policy', 'export', '--file', file('policies.jsonl'))).toMatchObject({
    exitCode: 0,
  });
  const { keys, policies } = documentIn(file('policies.jsonl'));
  expect(policies.map(({ key }) => key)).toEqual(['web', expect.stringContaining('pause')]);
  expect(policies).toMatchObject([{ headers: { ce_fleetgcsignature: expect.any(String) } }, {}]);
  // Of the seven keys that the root vouches for.
  expect(keys).toHaveLength(7);
  const told = (await readTopic(own.log, 'gc.policy-versions')).map(jsonOf);
  expect(told).toContainEqual(
    expect.objectContaining({
      type: 'fleetgc.policy-set',
      policies: [expect.objectContaining({ name: 'web' })],
    }),
  );
});

test('nothing is written through a link beside the document, and a document that cannot be put there leaves nothing', async () => {
  const { own, file } = await signedFleet();
  const folder = dirname(file('policies.jsonl'));
  writeFileSync(file('else'), 'of somebody else');
  symlinkSync(file('else'), file('policies.jsonl.new'));
  const exporting = (to: string) => own.run('policy', 'export', '--trust', 'off', '--file', to);
  expect(await exporting(file('policies.jsonl'))).toMatchObject({ exitCode: 0 });
  expect(readFileSync(file('else'), 'utf8')).toBe('of somebody else');
  mkdirSync(file('taken'));
  const before = readdirSync(folder);
  expect(await exporting(file('taken'))).toMatchObject({ exitCode: 1 });
  expect(readdirSync(folder)).toEqual(before);
});

test.each([
  ['pauser', /the key of a pauser signed it/],
  ['eu', /for some clusters alone/],
  ['decider', /is that of a decider/],
])('a key of %s writes no document that nobody would believe', async (key, why) => {
  const { file, as } = await signedFleet();
  await as('operator', 'policy', 'apply', file('web.yaml'));
  const { exitCode, stderr } = await as(key, 'policy', 'export', '--file', file('policies.jsonl'));
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(why);
  expect(() => readFileSync(file('policies.jsonl'))).toThrow();
});

test('where no signatures count the document has none, and goes to stdout', async () => {
  const { own } = await signedFleet();
  const { exitCode, stdout } = await own.run('policy', 'export', '--trust', 'off');
  expect(exitCode).toBe(0);
  expect(readPolicyDocument(Buffer.from(stdout))).toMatchObject({
    ok: true,
    document: { keys: [], policies: [] },
  });
});

test.each([
  ['the end of a pause', [['pause'], ['resume'], ['pause']], 1, '!pause'],
  [
    'a policy',
    [
      ['policy', 'apply', 'other.yaml'],
      ['policy', 'apply', 'web.yaml'],
    ],
    0,
    'web',
  ],
])(
  'of %s that was put back no document is written: a function that starts would believe it',
  async (_, said, old, key) => {
    const { own, file, as } = await signedFleet();
    const earlier = await readTopic(own.log, 'gc.policies');
    for (const args of said)
      await as('operator', ...args.map((each) => (each.endsWith('.yaml') ? file(each) : each)));
    const again = (await readTopic(own.log, 'gc.policies'))[earlier.length + old];
    if (again === undefined) throw new Error('nothing was said');
    const { topic, value, headers } = again;
    await own.log.publish([{ topic, key, value, headers }]);
    const exporting = () => as('operator', 'policy', 'export', '--file', file('policies.jsonl'));
    const { exitCode, stderr } = await exporting();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${JSON.stringify(key)} is older than what it replaces`);
    expect(() => readFileSync(file('policies.jsonl'))).toThrow();
    await as('operator', ...(said.at(-1) ?? []).map((each) => (each.endsWith('.yaml') ? file(each) : each)));
    expect(await exporting()).toMatchObject({ exitCode: 0 });
  },
);
