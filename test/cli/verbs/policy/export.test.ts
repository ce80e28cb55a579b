import { readFileSync } from 'node:fs';
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
