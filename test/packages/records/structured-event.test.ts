import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import {
  MAX_EVENT_BYTES,
  readStructuredEvent,
  type StructuredEvent,
  structuredEvent,
} from '../../../packages/records/structured-event.ts';
import { KeyRing } from '../../../packages/records/trust/key-ring.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import { RequiredTrust } from '../../../packages/records/trust/trust.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { certified, FLEET, newKey, onLog, rootsOf, SIGNED_AT_MS } from '../../fixtures/trust.ts';
import { TRACEPARENT } from '../../support/logs/log-record.ts';
import { runs } from '../../support/property-runs.ts';

const HEADERS = {
  ce_specversion: '1.0',
  ce_id: 'event-1',
  ce_type: 'fleetgc.node.command.v1',
  ce_source: '/fleetgc/image-gc',
  ce_time: '2026-01-31T00:00:00.000Z',
  'content-type': 'application/json',
  traceparent: TRACEPARENT,
};
const [root, decider] = [newKey(), newKey()];

const command: LogRecord = {
  ...onLog(
    signRecord(
      {
        topic: TOPICS.commands.name,
        key: 'prod/web-1',
        value: Buffer.from('{"says":"something"}'),
        headers: HEADERS,
      },
      { fleet: FLEET, key: decider, generation: 7 },
    ),
  ),
  partition: 3,
  offset: 9_007_199_254_740_993n,
};

const lineOf = (event: StructuredEvent): Buffer => Buffer.from(JSON.stringify(event));
const readAgain = (record: LogRecord) => readStructuredEvent(lineOf(structuredEvent(record)));

test('a record becomes one CloudEvent in structured mode, with its exact bytes', () => {
  expect(structuredEvent(command)).toEqual({
    specversion: '1.0',
    id: 'event-1',
    type: 'fleetgc.node.command.v1',
    source: '/fleetgc/image-gc',
    time: '2026-01-31T00:00:00.000Z',
    datacontenttype: 'application/json',
    traceparent: TRACEPARENT,
    fleetgckeyid: decider.keyId,
    fleetgcsignature: command.headers.ce_fleetgcsignature,
    fleetgcgeneration: '7',
    partitionkey: 'prod/web-1',
    fleetgctopic: 'gc.node.commands',
    fleetgcpartition: 3,
    fleetgcoffset: '9007199254740993',
    fleetgctimems: String(SIGNED_AT_MS),
    data_base64: Buffer.from('{"says":"something"}').toString('base64'),
  });
});

test('a record without a value has no data, and one that its writer dated says so', () => {
  const record = { ...command, value: null, isDatedByWriter: true } as const;
  expect(structuredEvent(record)).not.toHaveProperty('data_base64');
  expect(structuredEvent(record)).toMatchObject({ fleetgcdatedbywriter: true });
  expect(readAgain(record)).toEqual({ ok: true, record });
});

const hostileText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '__proto__', '\u0000', '\u009f', '\ufffe', 'ce_data', 'ce_traceparent', 'ce_Id'),
);
const headers = fc.oneof(
  fc.constant(HEADERS),
  fc
    .dictionary(fc.oneof(hostileText, fc.constantFrom(...Object.keys(HEADERS))), hostileText, { maxKeys: 5 })
    .map((over) => ({ ...HEADERS, ...over })),
  fc.dictionary(hostileText, hostileText, { maxKeys: 5 }),
);
const anyRecord: fc.Arbitrary<LogRecord> = fc
  .record({
    topic: fc.constantFrom(...TOPIC_NAMES),
    partition: fc.nat(100),
    offset: fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }),
    timestampMs: fc.integer({ min: -1, max: 253_402_300_799_999 }),
    key: fc.oneof(fc.constant(null), hostileText, fc.constant('prod/web-1')),
    headers,
    value: fc.oneof(fc.constant(null), fc.uint8Array({ maxLength: 200 }).map(Buffer.from)),
    isDated: fc.boolean(),
  })
  .map(({ isDated, ...record }) => ({ ...record, ...(isDated && { isDatedByWriter: true as const }) }));

test('any record comes back as it was, whatever somebody wrote into it', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      expect(readAgain(record)).toEqual({ ok: true, record });
    }),
    runs(2_000),
  );
});

const isAttribute = (value: string | number | boolean | undefined): boolean => {
  if (typeof value === 'string') return /^[^\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]+$/u.test(value);
  return value === true || (Number.isInteger(value) && Number(value) < 2 ** 31);
};

test('any event fits the rules of CloudEvents', () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const { data_base64: data = '', ...attributes } = structuredEvent(record);
      expect(attributes).toMatchObject({
        specversion: '1.0',
        id: expect.anything(),
        type: expect.anything(),
        source: expect.anything(),
      });
      expect(Object.keys(attributes).filter((name) => !/^[a-z0-9]{1,20}$/.test(name))).toEqual([]);
      expect(Object.values(attributes).filter((value) => !isAttribute(value))).toEqual([]);
      expect(data).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
    }),
    runs(1_000),
  );
});

describe('who signed a record is told of its event', () => {
  const ring = new KeyRing(rootsOf(root));
  ring.add(certified(root, decider));
  const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: () => SIGNED_AT_MS });
  const verdict = (record: LogRecord) => trust.authenticate('commands', record);

  test('as of the record', () => {
    const again = readAgain(command);
    expect(again.ok && verdict(again.record)).toEqual(verdict(command));
    expect(verdict(command)).toMatchObject({ ok: true });
  });

  const SIGNED = ['fleetgckeyid', 'fleetgcsignature', 'fleetgcgeneration', 'partitionkey', 'data_base64'];

  test('and no byte of what is signed can be another one', () => {
    const event = structuredEvent(command);
    fc.assert(
      fc.property(
        fc.constantFrom(...SIGNED),
        fc.nat(),
        fc.constantFrom(...'AB09az+/=g'),
        (name, at, character) => {
          const text = String(event[name]);
          const from = at % text.length;
          const changed = `${text.slice(0, from)}${character}${text.slice(from + 1)}`;
          fc.pre(changed !== text);
          const read = readStructuredEvent(lineOf({ ...event, [name]: changed }));
          expect(read.ok && verdict(read.record).ok).toBe(false);
        },
      ),
      runs(1_000),
    );
  });

  test.each([...SIGNED.filter((name) => name !== 'data_base64'), 'fleetgctopic'])(
    'nor can %s be missing',
    (name) => {
      const { [name]: _, ...event } = structuredEvent(command);
      const read = readStructuredEvent(lineOf(event));
      expect(read.ok && verdict(read.record).ok).toBe(false);
    },
  );

  test('nor can the topic be another one', () => {
    const read = readStructuredEvent(
      lineOf({ ...structuredEvent(command), fleetgctopic: TOPICS.observe.name }),
    );
    expect(read.ok && trust.authenticate('observe', read.record).ok).toBe(false);
  });
});

describe('a line is refused', () => {
  const event = structuredEvent(command);
  const changed = (over: Readonly<Record<string, unknown>>): string => JSON.stringify({ ...event, ...over });

  test.each([
    ['that is no JSON', '{', 'it is no object in JSON'],
    ['that is a list', '["a"]', 'it is no object in JSON'],
    ['that is nothing', 'null', 'it is no object in JSON'],
    ['that is empty', '{}', 'it is no record of an event log'],
    ['with data that is an object', changed({ data: {} }), 'an event is flat'],
    [
      'with too many members',
      changed(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x${n}`, ''] as const))),
      'more than the 128 members',
    ],
    [
      'that says one thing twice',
      JSON.stringify(event).replace('{', '{"id":"other",'),
      'one of its members stands there twice',
    ],
    ['of an unknown topic', changed({ fleetgctopic: 'gc.other' }), 'fleetgctopic'],
    ['with a partition that is none', changed({ fleetgcpartition: -1 }), 'fleetgcpartition'],
    ['with an offset in another form', changed({ fleetgcoffset: '01' }), 'fleetgcoffset'],
    ['with an offset that is none', changed({ fleetgcoffset: '1e3' }), 'fleetgcoffset'],
    ['with a time in another form', changed({ fleetgctimems: '-0' }), '"fleetgctimems" is not as'],
    ['with base64 in another form', changed({ data_base64: 'e30' }), '"data_base64" is not as'],
    ['with a member too many', changed({ Extra: 'x' }), 'is not as'],
    ['with a number for an attribute', changed({ id: 1 }), 'nobody can tell'],
    ['of another version of CloudEvents', changed({ specversion: '0.3' }), 'nobody can tell'],
    ['without a key', changed({ partitionkey: undefined }), 'nobody can tell'],
    ['with headers that are none', changed({ fleetgcrecord: 'e30=' }), 'nobody can tell'],
    [
      'with headers that are far too deep',
      changed({ fleetgcrecord: Buffer.from('['.repeat(10_000)).toString('base64') }),
      'nobody can tell',
    ],
    [
      'that says by attributes what it says in fleetgcrecord, too',
      changed({ fleetgcrecord: Buffer.from('["k",[]]').toString('base64') }),
      'is not as FleetGC writes it',
    ],
  ])('%s', (_, line, why) => {
    expect(readStructuredEvent(Buffer.from(line))).toEqual({ ok: false, why: expect.stringContaining(why) });
  });

  test('that is no UTF-8', () => {
    expect(readStructuredEvent(Buffer.from([0x7b, 0xff, 0x7d]))).toEqual({
      ok: false,
      why: 'it is not UTF-8 text',
    });
  });

  test('that is too large, before anything looks into it', () => {
    expect(readStructuredEvent(Buffer.alloc(MAX_EVENT_BYTES + 1, '['))).toEqual({
      ok: false,
      why: expect.stringContaining('bytes that are read'),
    });
  });

  test('with its members in another order it is read', () => {
    const turned = Object.fromEntries(Object.entries(event).toReversed());
    expect(readStructuredEvent(lineOf(turned))).toEqual({ ok: true, record: command });
  });
});
