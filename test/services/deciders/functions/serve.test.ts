import { HTTP } from 'cloudevents';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { DAY_MS } from '../../../../packages/process/durations.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { expiry } from '../../../fixtures/expiry.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { objectResult } from '../../../fixtures/results.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import {
  inventoryEvent,
  lying,
  type SentEvent,
  sentEvent,
  structured,
  unsignedDocument,
} from './support/function-events.ts';
import { KeptLog, openTestFunction, ScriptedSource } from './support/open-function.ts';
import {
  ask,
  askBinary,
  askJson,
  BATCH,
  binaryHeaders,
  probe,
  type Replied,
  STRUCTURED,
  serveTestFunction,
} from './support/served-function.ts';

const expiryGc = await loadFunction('expiry-gc');
const imageGc = await loadFunction('image-gc');
const pressure = await loadFunction('pressure');

const POLICY = appliedPolicy();
const source = () => new ScriptedSource(unsignedDocument([POLICY], Date.now()));
const serveImageGc = async () =>
  await serveTestFunction(await openTestFunction(imageGc, { source: source() }));

/** A full disk, and images that can go. */
const FULL = inventory({
  filesystems: filesystems({ availableBytes: '100' }),
  reclaim: reclaim(),
  images: [image('a'), image('b', { repoTags: ['registry.example/ü "quoted" 100%:1'] })],
});

const problemOf = ({ status, headers, body }: Replied) => {
  expect(headers['content-type']).toBe('application/problem+json');
  const document = z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.literal(status),
      detail: z.string(),
      events: z.array(z.unknown()).optional(),
    })
    .parse(JSON.parse(body.toString('utf8')));
  return {
    status,
    kind: document.type.replace('urn:fleetgc:problem:', ''),
    detail: document.detail,
    events: document.events,
  };
};

const outputsOf = ({ body }: Replied): readonly string[] =>
  z
    .array(z.object({ data_base64: z.base64() }))
    .parse(JSON.parse(body.toString('utf8')))
    .map(({ data_base64: text }) => Buffer.from(text, 'base64').toString('utf8'));

/** What the handler gives by itself, written as the event log has it. */
const decidedBy = (event: typeof FULL, policies = [POLICY]): readonly string[] => {
  const record = lying('inventory', event);
  const position = { topic: record.topic, partition: 3, offset: '42', sha256: sha256Hex(record.value ?? '') };
  const set = policySet('node', policies, []);
  return imageGcHandler(() => set)({ event, position })
    .flat()
    .map(({ text }) => text);
};

test('in binary mode, structured mode and in a batch the same bytes come out, and they are those of the handler', async () => {
  const address = await serveImageGc();
  const event = inventoryEvent(FULL);
  const expected = decidedBy(FULL);
  const batch = await askJson(address, BATCH, [structured(event)]);
  expect(batch.status).toBe(200);
  expect(outputsOf(batch)).toEqual(expected);
  const single = await ask(address, {
    headers: [...binaryHeaders(event), ['accept', BATCH]],
    body: event.data,
  });
  expect(outputsOf(single)).toEqual(expected);
  const inJson = { ...event.attributes, data: JSON.parse(event.data.toString('utf8')) };
  expect(
    outputsOf(
      await ask(address, {
        headers: [
          ['content-type', STRUCTURED],
          ['accept', BATCH],
        ],
        body: JSON.stringify(inJson),
      }),
    ),
  ).toEqual(expected);
});

test('one event that follows is answered in binary mode, which the SDK of CloudEvents reads; several in a batch', async () => {
  const address = await serveImageGc();
  const kept = inventory({ images: [image('a')] });
  const one = await askBinary(address, inventoryEvent(kept));
  expect(one.body.toString('utf8')).toBe(decidedBy(kept)[0]);
  const headers = Object.fromEntries(
    Object.entries(one.headers).map(([name, value]) => [name, String(value)]),
  );
  const read = HTTP.toEvent({ headers, body: one.body.toString('utf8') });
  expect(read).toMatchObject({
    type: 'fleetgc.node.decision.v1',
    source: '/fleetgc/image-gc',
    partitionkey: 'prod/web-1',
    fleetgctopic: 'gc.node.decisions',
  });
  expect(decidedBy(FULL)).toHaveLength(2);
  const several = await askBinary(address, inventoryEvent(FULL));
  expect(several.headers['content-type']).toBe(BATCH);
});

test('the same event again gives the same ids and bytes, whatever process decides', async () => {
  const event = inventoryEvent(FULL);
  const [first, second] = [await serveImageGc(), await serveImageGc()];
  const answers = [
    await askBinary(first, event),
    await askBinary(first, event),
    await askBinary(second, event),
  ];
  expect(new Set(answers.map((answer) => JSON.stringify(outputsOf(answer)))).size).toBe(1);
});

test('what nothing follows from is answered without anything', async () => {
  const open = await openTestFunction(pressure, { source: source() });
  const address = await serveTestFunction(open);
  const answer = await askBinary(address, sentEvent(lying('results', objectResult())));
  expect(answer).toMatchObject({ status: 204, body: Buffer.alloc(0) });
  expect((await askJson(address, BATCH, [])).body.toString('utf8')).toBe('[]');
});

test('without policies everything is kept, and record and logger output say so', async () => {
  const open = await openTestFunction(imageGc);
  const address = await serveTestFunction(open);
  const answer = await askBinary(address, inventoryEvent(FULL));
  expect(answer.body.toString('utf8')).toBe(decidedBy(FULL, [])[0]);
  expect(JSON.parse(answer.body.toString('utf8'))).toMatchObject({ outcome: 'no-policy', outputIds: [] });
  expect(open.lines.join('\n')).toContain('no policies are given, so everything is kept');
  expect((await probe(address.probes, '/readyz?verbose')).body.toString('utf8')).toContain('[!] policies');
});

test('KafkaSource of Knative tells partition and offset in attributes of its own, and no key', async () => {
  const address = await serveImageGc();
  const { attributes, data } = inventoryEvent(FULL);
  const {
    fleetgctopic: _topic,
    fleetgcpartition: _p,
    fleetgcoffset: _o,
    partitionkey: _k,
    ...rest
  } = attributes;
  const knative = { attributes: { ...rest, knativekafkapartition: '3', knativekafkaoffset: '42' }, data };
  expect(outputsOf(await askBinary(address, knative))).toEqual(decidedBy(FULL));
  const asNumbers = {
    ...structured({ attributes: rest, data }),
    knativekafkapartition: 3,
    knativekafkaoffset: 42,
  };
  expect(outputsOf(await askJson(address, STRUCTURED, asNumbers))).toEqual(decidedBy(FULL));
});

test('EventBridge Pipes sends records of Kafka', async () => {
  const address = await serveImageGc();
  const { topic, partition, offset, key, value, headers } = lying('inventory', FULL);
  const record = {
    eventSource: 'aws:kafka',
    eventSourceKey: `${topic}-${partition}`,
    topic,
    partition,
    offset: Number(offset),
    timestamp: 1,
    timestampType: 'CREATE_TIME',
    key: Buffer.from(key ?? '').toString('base64'),
    value: value?.toString('base64'),
    headers: Object.entries(headers).map(([name, text]) => ({ [name]: [...Buffer.from(text)] })),
  };
  expect(outputsOf(await askJson(address, 'application/json', [record]))).toEqual(decidedBy(FULL));
  expect(outputsOf(await askJson(address, 'application/json', record))).toEqual(decidedBy(FULL));
  const asText = { ...record, partition: String(partition), offset: String(offset), timestamp: '1' };
  expect(outputsOf(await askJson(address, 'application/json', [asText]))).toEqual(decidedBy(FULL));
  expect(
    problemOf(await askJson(address, 'application/json', [{ ...record, topic: 'gc.node.commands' }])).status,
  ).toBe(400);
});

type Change = (event: SentEvent) => SentEvent;
const without =
  (...names: readonly string[]): Change =>
  ({ attributes, data }) => ({
    attributes: Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.includes(name))),
    data,
  });
const having =
  (over: Readonly<Record<string, string>>): Change =>
  ({ attributes, data }) => ({ attributes: { ...attributes, ...over }, data });
const ofType =
  (type: string): Change =>
  (event) =>
    having({ type })(without('fleetgctopic')(event));
const saying =
  (text: string | Buffer): Change =>
  ({ attributes }) => ({ attributes, data: Buffer.from(text) });

test.each<readonly [string, Change, number, string]>([
  ['no offset', without('fleetgcoffset'), 400, 'no-position'],
  ['no position at all', without('fleetgcoffset', 'fleetgcpartition'), 400, 'no-position'],
  ['a partition that is not there', having({ fleetgcpartition: '99999' }), 400, 'no-position'],
  ['an offset that is none', having({ fleetgcoffset: '-1' }), 400, 'no-position'],
  ['an offset beyond those that verify takes', having({ fleetgcoffset: '1'.repeat(19) }), 400, 'no-position'],
  ['an offset in another writing', having({ fleetgcoffset: '042' }), 400, 'no-position'],
  ['two positions', having({ knativekafkapartition: '3', knativekafkaoffset: '43' }), 400, 'no-position'],
  ['a topic of another service', having({ fleetgctopic: 'gc.node.disk-stats' }), 400, 'not-taken'],
  ['a type of another service', ofType('fleetgc.node.disk-stats.v1'), 400, 'not-taken'],
  ['a type of nobody, and no position', without('fleetgctopic', 'type', 'fleetgcoffset'), 400, 'not-taken'],
  ['no version of CloudEvents', without('specversion'), 400, 'no-cloud-event'],
  ['another version', having({ specversion: '0.3' }), 400, 'no-cloud-event'],
  ['another type', having({ type: 'fleetgc.node.inventory.v9' }), 422, 'header-mismatch'],
  ['another id', having({ id: 'other' }), 422, 'header-mismatch'],
  ['another key', having({ partitionkey: 'prod/web-2' }), 422, 'key-mismatch'],
  ['no JSON', saying('{'), 422, 'not-json'],
  ['no UTF-8', saying(Buffer.from([0x22, 0xff, 0x22])), 422, 'not-json'],
  ['nothing', saying(''), 422, 'not-json'],
  ['JSON that is too deep', saying(`${'['.repeat(17)}${']'.repeat(17)}`), 413, 'too-large'],
  ['another schema', saying('{"type":"fleetgc.node.inventory","version":1}'), 422, 'wrong-schema'],
  [
    'a version that is not known',
    saying('{"type":"fleetgc.node.inventory","version":9}'),
    422,
    'unknown-version',
  ],
])('%s never works, in binary and structured mode', async (_, change, status, kind) => {
  const address = await serveImageGc();
  const event = change(inventoryEvent(FULL));
  if (event.attributes.specversion !== undefined)
    expect(problemOf(await askBinary(address, event))).toMatchObject({ status, kind });
  expect(problemOf(await askJson(address, STRUCTURED, structured(event)))).toMatchObject({ status, kind });
});

test('of a batch nothing is decided where one event will never work, and the answer names it', async () => {
  const address = await serveImageGc();
  const good = structured(inventoryEvent(FULL));
  const bad = structured(having({ id: 'other' })(inventoryEvent(FULL)));
  const { status, events } = problemOf(await askJson(address, BATCH, [good, bad, good]));
  expect(status).toBe(422);
  expect(events).toMatchObject([{ index: 1, id: 'other', kind: 'header-mismatch' }]);
});

test('an event with more attributes than are read is refused as such, also where one of them stands there twice', async () => {
  const address = await serveImageGc();
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`a${index}`, 'x']));
  const text = JSON.stringify({ ...structured(inventoryEvent(FULL)), ...many });
  for (const body of [text, `${text.slice(0, -1)},"a199":"y"}`])
    expect(problemOf(await askJson(address, STRUCTURED, body))).toMatchObject({
      status: 400,
      kind: 'no-cloud-event',
      detail: 'it has more than 100 attributes',
    });
});

test('what follows from an event can be too large for the event log: what was written of the others is told', async () => {
  const log = new KeptLog();
  const publish: KeptLog['publish'] = async (records) => {
    if (records.some(({ topic, key }) => topic === TOPICS.decisions.name && key.includes('web-2')))
      throw new FleetGcError('LOG_RECORD_TOO_LARGE', 'too large');
    return await log.publish(records);
  };
  const opened = await openTestFunction(imageGc, { source: source(), log: { publish } });
  const address = await serveTestFunction(opened);
  const events = [FULL, inventory({ ...FULL, node: 'web-2' })].map((event) =>
    structured(inventoryEvent(event)),
  );
  const { status, detail, events: named } = problemOf(await askJson(address, BATCH, events));
  expect(status).toBe(422);
  expect(detail).toContain('what follows from the others is on the event log');
  expect(named).toMatchObject([{ index: 1 }]);
  expect(log.records.map(({ topic }) => topic)).toContain(TOPICS.decisions.name);
});

test('what will pass is asked for again', async () => {
  const later = new ScriptedSource({ kind: 'unreachable', why: 'nobody answers' });
  const address = await serveTestFunction(await openTestFunction(imageGc, { source: later }));
  const answer = await askBinary(address, inventoryEvent(FULL));
  expect(problemOf(answer)).toMatchObject({ status: 503, kind: 'policies-unreadable' });
  expect(answer.headers['retry-after']).toBe('5');
  expect((await probe(address.probes, '/readyz')).status).toBe(503);
  later.put(unsignedDocument([POLICY], Date.now()));
  expect(outputsOf(await askBinary(address, inventoryEvent(FULL)))).toEqual(decidedBy(FULL));
  expect((await probe(address.probes, '/readyz')).status).toBe(200);
});

test('a function to which nobody sends events, because it is not ready, looks for policies all the same', async () => {
  const clock = { nowMs: Date.now() };
  const later = new ScriptedSource({ kind: 'unreachable', why: 'nobody answers' });
  const opened = await openTestFunction(imageGc, { source: later, now: () => clock.nowMs });
  const address = await serveTestFunction(opened);
  const ready = async () => (await probe(address.probes, '/readyz')).status;
  expect(await ready()).toBe(503);
  later.put(unsignedDocument([POLICY], clock.nowMs));
  await waitUntil('it is ready', 2_000, async () => (await ready()) === 200);
  clock.nowMs += 2 * DAY_MS;
  expect(await ready()).toBe(503);
  later.put(unsignedDocument([POLICY], clock.nowMs));
  await waitUntil('it is ready again', 2_000, async () => (await ready()) === 200);
});

test('clusters are decided on as nodes are', async () => {
  const address = await serveTestFunction(await openTestFunction(expiryGc, { source: source() }));
  const answer = await askBinary(address, sentEvent(lying('clusterExpiry', expiry())));
  expect(answer.headers['ce-fleetgctopic']).toBe('gc.cluster.decisions');
});

test('whatever is sent, the answer is a problem or an event, and the function lives', async () => {
  const address = await serveImageGc();
  const event = inventoryEvent(FULL);
  const contentTypes = [
    'application/json',
    STRUCTURED,
    BATCH,
    'text/plain',
    '',
    'application/json; charset=utf-16',
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...contentTypes),
      fc.oneof(fc.json(), fc.string(), fc.constant(JSON.stringify(structured(event)))),
      fc.dictionary(fc.stringMatching(/^ce-[a-z]{1,12}$/), fc.stringMatching(/^[\x21-\x7e]{1,20}$/), {
        maxKeys: 5,
      }),
      async (contentType, body, headers) => {
        const answer = await ask(address, {
          headers: [['content-type', contentType], ...Object.entries(headers)],
          body,
        });
        expect([200, 204, 400, 403, 413, 415, 422]).toContain(answer.status);
      },
    ),
    { numRuns: 100 },
  );
  expect((await askBinary(address, event)).status).toBe(200);
});
