import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { EVENT_SCHEMAS, parseRecord, topicIdOf } from '../../../../packages/records/parse/parse-record.ts';
import { DeadLetterCause } from '../../../../schemas/events/dead-letter.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { diskStats as diskStatsOf } from '../../../fixtures/disk-stats.ts';
import { inventory, NODE } from '../../../fixtures/inventory.ts';
import { observe } from '../../../fixtures/observe.ts';
import { command } from '../../../fixtures/outputs.ts';
import { pauseRecord } from '../../../fixtures/policy.ts';
import { recordOf } from '../../../support/logs/log-record.ts';

const diskStats = (over: Partial<DiskStats> = {}) => diskStatsOf({}, over);
const good = (over: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('diskStats', diskStats()), over);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const withHeaders = (headers: Record<string, string>): LogRecord =>
  good({ headers: { ...good().headers, ...headers } });

test('what was published is what is parsed', () => {
  const event = diskStats({ nodeLabels: { pool: 'a' } });
  expect(parseRecord('diskStats', recordOf(nodeOutput('diskStats', event)))).toEqual({ ok: true, event });
});

test('the key of a policy is its name, of a version of it the hash, and of a pause its own', () => {
  const record = appliedPolicy({ name: 'base' });
  const pause = pauseRecord();
  const keys: readonly [TopicId, string, typeof record | typeof pause][] = [
    ['policies', 'base', record],
    ['policies', '!pause', pause],
    ['policyVersions', record.hash, record],
  ];
  for (const [topic, key, event] of keys) {
    const found = recordOf({ topic, key, event });
    expect(parseRecord(topic, found)).toEqual({ ok: true, event });
    expect(parseRecord(topic, { ...found, key: 'other' })).toMatchObject({
      rejection: { cause: 'key-mismatch' },
    });
  }
});

test('a fact may carry fields that are not known yet; they are dropped', () => {
  expect(parseRecord('diskStats', good({ value: json({ ...diskStats(), later: 1 }) }))).toEqual({
    ok: true,
    event: diskStats(),
  });
});

test('of a list with more faults than there is memory for, those of one element are told', () => {
  const value = Buffer.from(
    JSON.stringify({ ...inventory(), images: Array.from({ length: 500_000 }, () => ({})) }),
  );
  const record = recordOf(nodeOutput('inventory', inventory()), { value });
  const parsed = parseRecord('inventory', record);
  expect(parsed).toMatchObject({
    rejection: { message: expect.stringMatching(/^images\[0\]\.id: is missing;/) },
  });
  expect(parsed).toMatchObject({
    rejection: { message: expect.not.stringMatching(/images\[1\]|\d{3,} more/) },
  });
});

test.each<{
  name: string;
  topic?: TopicId;
  record: LogRecord;
  cause: DeadLetterCause;
  message: string | RegExp;
}>([
  { name: 'no value', record: good({ value: null }), cause: 'not-json', message: 'the record has no value' },
  {
    name: 'no bytes',
    record: good({ value: Buffer.alloc(0) }),
    cause: 'not-json',
    message: 'the value is not JSON',
  },
  {
    name: 'half of it',
    record: good({ value: json(diskStats()).subarray(0, 50) }),
    cause: 'not-json',
    message: 'the value is not JSON',
  },
  {
    name: 'bytes that are no text',
    record: good({ value: Buffer.from([0x22, 0xff, 0x22]) }),
    cause: 'not-json',
    message: 'the value is not UTF-8 text',
  },
  {
    name: 'half a character',
    record: good({ value: json({ ...diskStats(), nodeLabels: { pool: '\ud83d' } }) }),
    cause: 'not-json',
    message: 'the text at nodeLabels.pool has half a character (a lone surrogate)',
  },
  { name: 'a number', record: good({ value: json(7) }), cause: 'wrong-schema', message: /no type/ },
  { name: 'null', record: good({ value: json(null) }), cause: 'wrong-schema', message: /no type/ },
  { name: 'a list', record: good({ value: json([diskStats()]) }), cause: 'wrong-schema', message: /no type/ },
  {
    name: 'no version',
    record: good({ value: json({ ...diskStats(), version: undefined }) }),
    cause: 'wrong-schema',
    message: /no type/,
  },
  {
    name: 'a version in text',
    record: good({ value: json({ ...diskStats(), version: '1' }) }),
    cause: 'wrong-schema',
    message: /no type/,
  },
  {
    name: 'an unknown type',
    record: good({ value: json({ ...diskStats(), type: 'fleetgc.node.weather' }) }),
    cause: 'unknown-type',
    message: 'fleetgc.node.weather does not belong on gc.node.disk-stats',
  },
  {
    name: 'an event of another topic',
    topic: 'inventory',
    record: good(),
    cause: 'unknown-type',
    message: 'fleetgc.node.disk-stats does not belong on gc.node.inventory',
  },
  {
    name: 'a version that is not known yet',
    record: good({ value: json({ ...diskStats(), version: 2 }) }),
    cause: 'unknown-version',
    message:
      'version 2 of fleetgc.node.disk-stats is not known; this release reads version 1: a newer one wrote it, so upgrade this one',
  },
  {
    name: 'a version that nobody ever wrote',
    record: good({ value: json({ ...diskStats(), version: 0 }) }),
    cause: 'unknown-version',
    message: /^version 0 of .* is not known; this release reads version 1$/,
  },
  {
    name: 'a missing field',
    record: good({ value: json({ ...diskStats(), nodeLabels: undefined }) }),
    cause: 'wrong-schema',
    message: 'nodeLabels: is missing',
  },
  {
    name: 'fields of another kind',
    record: good({ value: json({ ...diskStats(), nodeLabels: ['a'], id: null }) }),
    cause: 'wrong-schema',
    message: 'id: must be text, not null; nodeLabels: must be a map, not a list',
  },
  {
    name: 'an order with a field that is not known',
    topic: 'observe',
    record: recordOf(nodeOutput('observe', observe()), { value: json({ ...observe(), force: true }) }),
    cause: 'wrong-schema',
    message: 'value: has no field force',
  },
  {
    name: 'a command of a kind that is not known',
    topic: 'commands',
    record: recordOf(nodeOutput('commands', command()), {
      value: json({ ...command(), kind: 'format-disk' }),
    }),
    cause: 'wrong-schema',
    message: 'kind: must be one of image-removal, container-removal',
  },
  {
    name: 'more wrong fields than anybody reads',
    record: good({ value: json({ type: 'fleetgc.node.disk-stats', version: 1 }) }),
    cause: 'wrong-schema',
    message: / and \d+ more$/,
  },
  {
    name: 'no headers',
    record: good({ headers: {} }),
    cause: 'header-mismatch',
    message: /^headers: ce_specversion: is missing;/,
  },
  {
    name: 'the id of another event',
    record: withHeaders({ ce_id: 'other' }),
    cause: 'header-mismatch',
    message: 'ce_id is "other", but the value has "disk-stats-1"',
  },
  {
    name: 'the type of another event',
    record: withHeaders({ ce_type: 'fleetgc.node.observe.v1' }),
    cause: 'header-mismatch',
    message: /^ce_type is/,
  },
  {
    name: 'the subject of another event',
    record: withHeaders({ ce_subject: 'prod/web-2' }),
    cause: 'header-mismatch',
    message: 'ce_subject is "prod/web-2", but the value belongs to "prod/web-1"',
  },
  {
    name: 'another content type',
    record: withHeaders({ 'content-type': 'application/avro' }),
    cause: 'header-mismatch',
    message: /^headers: .*content-type/,
  },
  {
    name: 'the key of another node',
    record: good({ key: 'prod/web-2' }),
    cause: 'key-mismatch',
    message: 'the record key is "prod/web-2", but the value belongs to "prod/web-1"',
  },
  {
    name: 'the node without its cluster',
    record: good({ key: 'web-1' }),
    cause: 'key-mismatch',
    message: /belongs to "prod\/web-1"/,
  },
  { name: 'no key', record: good({ key: null }), cause: 'key-mismatch', message: /^the record key is null/ },
])('refuses $name', ({ topic = 'diskStats', record, cause, message }) => {
  const parsed = parseRecord(topic, record);
  expect(parsed).toMatchObject({ ok: false, rejection: { cause } });
  if (!parsed.ok) expect(parsed.rejection.message).toMatch(message);
});

test('refuses what is too large without reading it, and reads what is not', () => {
  const nonsense = (bytes: number) => good({ value: Buffer.alloc(bytes).fill(0xff, 0, 1) });
  const { bytes } = TOPICS.diskStats.bounds;
  expect(parseRecord('diskStats', nonsense(bytes))).toMatchObject({ rejection: { cause: 'not-json' } });
  expect(parseRecord('diskStats', nonsense(bytes + 1))).toMatchObject({
    rejection: {
      cause: 'too-large',
      message: `the value has ${bytes + 1} bytes; on gc.node.disk-stats at most ${bytes} are read`,
    },
  });
});

test('refuses what is small as text and large as values, without parsing it', () => {
  const listsOf = (bytes: number) => Buffer.from(`[${'[],'.repeat(bytes / 3)}[]]`);
  const parse = vi.spyOn(JSON, 'parse');
  expect(parseRecord('inventory', good({ value: listsOf(60 * 1024 * 1024) }))).toMatchObject({
    rejection: {
      cause: 'too-large',
      message: 'the value has more elements than the 1500000 that are read on gc.node.inventory',
    },
  });
  expect(parseRecord('inventory', good({ value: Buffer.from('['.repeat(100_000)) }))).toMatchObject({
    rejection: {
      cause: 'too-large',
      message: 'the value has more levels of brackets than the 16 that are read on gc.node.inventory',
    },
  });
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});

test('a rejection carries what could be parsed of the value', () => {
  const value = { type: 'fleetgc.node.command', version: 9, id: 'x' };
  const record = recordOf(nodeOutput('commands', command()), { value: json(value) });
  expect(parseRecord('commands', record)).toMatchObject({ rejection: { cause: 'unknown-version', value } });
});

test.each(['nonsense', '', '00-00000000000000000000000000000000-b7ad6b7169203331-01'])(
  'a malformed trace (%j) is no reason to refuse',
  (traceparent) => {
    expect(parseRecord('diskStats', withHeaders({ traceparent })).ok).toBe(true);
  },
);

test('every topic of the table knows the types of its schemas', () => {
  const claims = {
    commands: 'fleetgc.node.command',
    inventory: 'fleetgc.node.inventory',
    policies: 'fleetgc.pause',
  } as const;
  for (const [topic, type] of Object.entries(claims)) {
    const id = topic === 'commands' || topic === 'inventory' ? topic : 'policies';
    expect(EVENT_SCHEMAS[id].versionsOf(type)).toEqual([1]);
    expect(EVENT_SCHEMAS[id].find({ type, version: 1 })).toBeDefined();
    expect(EVENT_SCHEMAS[id].find({ type, version: 2 })).toBeUndefined();
  }
});

describe('whatever comes', () => {
  const topics = Object.values(TOPICS).map(({ name }) => topicIdOf(name));
  const headers = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('ce_id', 'ce_type', 'ce_specversion', 'content-type', '__proto__')),
    fc.string(),
  );
  const record = (value: fc.Arbitrary<Buffer | null>): fc.Arbitrary<LogRecord> =>
    fc.record({
      topic: fc.constant('gc.node.disk-stats'),
      partition: fc.nat(),
      offset: fc.bigInt({ min: 0n }),
      key: fc.option(fc.oneof(fc.string(), fc.constant('prod/web-1'))),
      value,
      headers,
      timestampMs: fc.nat(),
    });
  const isVerdict = (topic: TopicId, given: LogRecord): void => {
    const parsed = parseRecord(topic, given);
    if (!parsed.ok) expect(DeadLetterCause.options).toContain(parsed.rejection.cause);
  };

  test('bytes never throw', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
    fc.assert(fc.property(fc.constantFrom(...topics), record(fc.option(bytes)), isVerdict));
  });

  test('JSON of any shape never throws', () => {
    fc.assert(fc.property(fc.constantFrom(...topics), record(fc.jsonValue().map(json)), isVerdict));
  });

  test('an event with anything in place of a field never throws', () => {
    const fields = Object.keys(diskStats());
    const damaged = fc
      .tuple(fc.constantFrom(...fields), fc.jsonValue())
      .map(([field, value]) => json({ ...diskStats(), [field]: value }));
    fc.assert(
      fc.property(damaged, headers, (value, extra) => {
        isVerdict('diskStats', good({ value }));
        isVerdict('diskStats', good({ value, headers: { ...good().headers, ...extra } }));
      }),
    );
  });

  test('nesting of any depth never throws', () => {
    for (const depth of [1_000, 200_000]) {
      const value = Buffer.from('['.repeat(depth) + ']'.repeat(depth));
      isVerdict('diskStats', good({ value }));
      isVerdict(
        'diskStats',
        good({ value: Buffer.from(`{"type":"fleetgc.node.disk-stats","version":1,"id":${value}}`) }),
      );
    }
  });
});

test('the identity of the fixtures is what the keys say', () => {
  expect(`${NODE.cluster}/${NODE.node}`).toBe(good().key);
});
