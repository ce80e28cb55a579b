import { expect, onTestFinished, test, vi } from 'vitest';
import type { LogReader } from '../../packages/log/port.ts';
import type { FactsTrust, TrustChoice } from '../../packages/records/trust/process-trust.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import { signerOf } from '../../packages/records/trust/signer.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { imageRemoval } from '../fixtures/command.ts';
import { NODE } from '../fixtures/inventory.ts';
import { MINUTE } from '../fixtures/time.ts';
import { certified, FLEET, newKey, revoked, rootsOf, signingWith } from '../fixtures/trust.ts';
import { recordingOf, replayed } from '../packages/audit/support/recorded-log.ts';
import { verify } from '../packages/audit/support/verify-recording.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { waitUntil } from '../support/wait-until.ts';
import { commandResults, objectResults } from './support/events.ts';
import { oldImages, pressure } from './support/images.ts';
import {
  type Pipeline,
  type PipelineOptions,
  type SignState,
  startPipeline,
  TEST_BOUND_MS,
} from './support/pipeline.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS });

const [root, decider, operator, stranger] = [newKey(), newKey(), newKey(), newKey()];
const [ownKey, neighboursKey] = [newKey(), newKey()];
const IMAGES = ['old/a:1', 'old/b:1', 'old/c:1', 'old/d:1'];
const BOUND_MS = 10_000;
/** Keys are judged by the clock of this machine. */
const NOW_MS = Date.now();
const YEAR_MS = 365 * 86_400_000;
const over = { issuedAtMs: NOW_MS, notAfterMs: NOW_MS + YEAR_MS } as const;
const CERTIFIED = [
  certified(root, decider, over),
  certified(root, operator, { ...over, role: 'operator' }),
  certified(root, ownKey, { ...over, role: 'node', clusters: [NODE.cluster], nodes: [NODE.node] }),
  certified(root, neighboursKey, { ...over, role: 'node', clusters: [NODE.cluster], nodes: ['web-2'] }),
].map(({ topic, key, value, headers }) => ({ topic, key: key ?? '', value, headers }));

const required = (facts: FactsTrust = 'off'): TrustChoice => ({
  kind: 'required',
  roots: rootsOf(root),
  signing: signingWith(decider),
  facts,
  seen: new SeenGenerations(),
  learnsFrom: null,
});

const operatorOf =
  (generation = NOW_MS): SignState =>
  (record) =>
    signRecord(record, { fleet: FLEET, key: operator, generation });

/** A node with old images and a pod, where everything has to be signed. */
async function nodeWithImages(options: PipelineOptions = {}): Promise<Pipeline> {
  const signed = { trust: required(), statements: CERTIFIED, operator: operatorOf() };
  const pipeline = await startPipeline({ ...signed, ...options });
  onTestFinished(() => pipeline[Symbol.asyncDispose]());
  await pipeline.startNode();
  const pod = { name: 'live', namespace: 'default', containers: { app: 'app:1' } };
  await pipeline.node.kubelet.startPod(pod);
  await oldImages(pipeline, IMAGES);
  return pipeline;
}

/** And its disk fills up. */
async function nodeUnderPressure(options: PipelineOptions = {}): Promise<Pipeline> {
  const pipeline = await nodeWithImages(options);
  pressure(pipeline);
  return pipeline;
}

const removed = async (pipeline: Pipeline): Promise<number> =>
  (await objectResults(pipeline)).filter(({ result }) => result.outcome === 'removed').length;

const refusals = async (pipeline: Pipeline): Promise<readonly string[]> =>
  (await commandResults(pipeline)).flatMap(({ result }) =>
    result.outcome === 'refused' ? [result.reason] : [],
  );

test('signed orders under signed policies are carried out', async () => {
  const pipeline = await nodeUnderPressure();
  await pipeline.time.passUntil('a removal', 3 * MINUTE, async () => (await removed(pipeline)) > 0);
  for (const topic of ['commands', 'observe', 'policies'] as const)
    for (const { headers } of await pipeline.records(topic))
      expect(headers.ce_fleetgckeyid).toBe(topic === 'policies' ? operator.keyId : decider.keyId);
  expect(await pipeline.records('deadLetters')).toEqual([]);
});

test('when deciders end, all that they have written is under signed heads, and a cut tail is told', async () => {
  const pipeline = await nodeUnderPressure();
  await pipeline.time.passUntil('a removal', 3 * MINUTE, async () => (await removed(pipeline)) > 0);
  await pipeline.deciders.stop();
  const heads = await pipeline.records('heads');
  const decisions = await pipeline.records('decisions');
  expect(new Set(heads.map(({ headers }) => headers.ce_fleetgckeyid))).toEqual(new Set([decider.keyId]));

  const verified = (log: LogReader) =>
    verify(log, undefined, new AbortController().signal, true, rootsOf(root));
  const found = await verified(pipeline.log);
  expect(found.deviations.byKind).toEqual({});
  expect(found.counts).toMatchObject({ headed: decisions.length, withoutHead: 0 });

  const recording = await recordingOf(pipeline.log, 1);
  const cut = replayed({ ...recording, decisions: recording.decisions.slice(0, -1) });
  expect((await verified(cut)).deviations.byKind).toMatchObject({ 'decisions-cut': 1 });
});

test.each([
  { name: 'nobody signed', sign: (record: ReturnType<typeof outgoing>) => record, cause: 'unsigned' },
  {
    name: 'a stranger signed',
    sign: (record: ReturnType<typeof outgoing>) =>
      signRecord(record, { fleet: FLEET, key: stranger, generation: null }),
    cause: 'untrusted-key',
  },
  {
    name: 'an operator signed',
    sign: (record: ReturnType<typeof outgoing>) =>
      signRecord(record, { fleet: FLEET, key: operator, generation: null }),
    cause: 'untrusted-key',
  },
  {
    name: 'was signed for another fleet',
    sign: (record: ReturnType<typeof outgoing>) =>
      signRecord(record, { fleet: 'other', key: decider, generation: null }),
    cause: 'bad-signature',
  },
])('a command that $name is refused, and becomes a dead letter', async ({ sign, cause }) => {
  const pipeline = await nodeWithImages();
  const ids = IMAGES.map((image) => pipeline.node.runtime.findImage(image)?.id ?? image);
  const event = imageRemoval(ids, { id: 'forged', takenAt: pipeline.time.now() });
  await pipeline.log.publish([sign(outgoing({ topic: 'commands', key: nodeKey(NODE), event }))]);
  await pipeline.time.passUntil('the refusal', MINUTE, async () => (await refusals(pipeline)).length > 0);

  expect(await refusals(pipeline)).toEqual(['not-trusted']);
  expect(await pipeline.events('deadLetters')).toMatchObject([{ cause }]);
  expect(await removed(pipeline)).toBe(0);
});

test('what a decider orders after its key was revoked is refused', async () => {
  const pipeline = await nodeWithImages();
  await revoke(pipeline, decider);
  pressure(pipeline);
  await pipeline.time.pass(3 * MINUTE);
  expect(await removed(pipeline)).toBe(0);
  expect(await pipeline.events('deadLetters')).toContainEqual(
    expect.objectContaining({ topic: 'gc.node.observe', cause: 'untrusted-key' }),
  );
});

test('a revocation that comes while a command is carried out ends it before the next removal', async () => {
  const pipeline = await nodeWithImages();
  pipeline.node.faults.afterCall('removeImage', () => revoke(pipeline, decider));
  pressure(pipeline);
  await pipeline.time.passUntil('a removal', 3 * MINUTE, async () => (await removed(pipeline)) > 0);
  await pipeline.time.pass(3 * MINUTE);
  expect(await removed(pipeline)).toBe(1);
});

test('an unsigned policy, and one that was put back, hold everything until an operator signs another', async () => {
  const pipeline = await nodeWithImages();
  const [signed] = await pipeline.records('policies');
  if (signed?.key !== 'default') throw new Error('the policy is not there');
  const unreadable = (why: RegExp) =>
    waitUntil('the policies to be unreadable', BOUND_MS, () => why.test(pipeline.policyProblem() ?? ''));
  const put = (headers: typeof signed.headers) =>
    pipeline.log.publish([{ topic: signed.topic, key: 'default', value: signed.value, headers }]);

  const { ce_fleetgckeyid, ce_fleetgcsignature, ce_fleetgcgeneration, ...unsigned } = signed.headers;
  await put(unsigned);
  await unreadable(/it carries no signature/);
  const anew = outgoing({ topic: 'policies', key: 'default', event: appliedPolicy() });
  await pipeline.log.publish([operatorOf(Date.now())(anew)]);
  await waitUntil('the policies to be readable', BOUND_MS, () => pipeline.policyProblem() === null);

  await put(signed.headers);
  await unreadable(/somebody put an old record back/);
});

const nodeSigner = (key: typeof ownKey) => signerOf({ fleet: FLEET, role: 'node', key: () => key });

test('where facts are required, a node that signs its own is cleaned', async () => {
  const pipeline = await nodeUnderPressure({ trust: required('required'), nodeSigner: nodeSigner(ownKey) });
  await pipeline.time.passUntil('a removal', 3 * MINUTE, async () => (await removed(pipeline)) > 0);
  for (const topic of ['diskStats', 'inventory', 'results'] as const) {
    const records = await pipeline.records(topic);
    expect(records.length).toBeGreaterThan(0);
    for (const { headers } of records) {
      expect(headers.ce_fleetgckeyid).toBe(ownKey.keyId);
      expect(headers.ce_fleetgcgeneration).toBeUndefined();
    }
  }
  expect(await pipeline.records('deadLetters')).toEqual([]);
});

test.each([
  { name: 'does not sign', options: {}, cause: 'unsigned' },
  {
    name: 'signs with the key of its neighbour',
    options: { nodeSigner: nodeSigner(neighboursKey) },
    cause: 'untrusted-key',
  },
])('where facts are required, nothing is decided for a node that $name', async ({ options, cause }) => {
  const pipeline = await nodeUnderPressure({ trust: required('required'), ...options });
  await pipeline.time.pass(3 * MINUTE);
  for (const topic of ['decisions', 'commands', 'observe', 'results'] as const)
    expect(await pipeline.records(topic)).toEqual([]);
  const letters = await pipeline.events('deadLetters');
  for (const topic of ['gc.node.disk-stats', 'gc.node.inventory'])
    expect(letters).toContainEqual(expect.objectContaining({ topic, cause }));
});

test('with warn, facts count whoever signed them, and each is told of', async () => {
  const pipeline = await nodeUnderPressure({ trust: required('warn') });
  await pipeline.time.passUntil('a removal', 3 * MINUTE, async () => (await removed(pipeline)) > 0);
  expect(pipeline.lines.join('\n')).toContain(
    'it would not count if signatures were required: it carries no signature',
  );
});

async function revoke(pipeline: Pipeline, { keyId }: typeof decider): Promise<void> {
  const { topic, key, value, headers } = revoked(root, { keyId }, { issuedAtMs: Date.now() });
  await pipeline.log.publish([{ topic, key: key ?? '', value, headers }]);
  await waitUntil('the revocation to be known', BOUND_MS, () => pipeline.keys()?.isRevoked(keyId) === true);
}
