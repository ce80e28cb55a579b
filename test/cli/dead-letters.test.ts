import { expect, test } from 'vitest';
import type { DeadLetter } from '../../schemas/dead-letter.ts';
import { TOPICS } from '../../schemas/topics.ts';
import type { EventLog } from '../../services/shared/event-log/port.ts';
import { keyOf } from '../../services/shared/record-key.ts';
import { outgoing } from '../support/log-record.ts';
import { ownLog } from './fleetgc.ts';
import { jsonOf, readTopic } from './read-topic.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A message of node prod/web-1 that image-gc could not read. */
const deadLetter = (overrides: Partial<DeadLetter> = {}): DeadLetter => ({
  type: 'fleetgc.dead-letter',
  version: 1,
  id: 'dead-letter-aaaa1',
  cause: 'wrong-schema',
  message: 'takenAt: Required',
  group: 'image-gc',
  topic: TOPICS.inventory.name,
  partition: 3,
  offset: '17',
  timestampMs: Date.UTC(2026, 0, 1),
  key: base64('prod/web-1'),
  value: base64('{"half":"an inventory"}'),
  headers: { ce_id: 'inventory-1', traceparent: '00-1' },
  omittedBytes: 0,
  suppressedBefore: 0,
  ...overrides,
});

const bury = (log: EventLog, ...letters: readonly DeadLetter[]): Promise<void> =>
  log.publish(
    letters.map((event) => outgoing({ topic: 'deadLetters', key: keyOf('deadLetters', event), event })),
  );

test('list shows what died, of whom and why', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter());
  const { exitCode, stdout, stderr } = await run('dead-letters', 'list');

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(
    /^ID +TIME +TOPIC +KEY +GROUP +CAUSE +MESSAGE\ndead-letter-aaaa1 +[^ ]+Z +gc\.node\.inventory +prod\/web-1 +image-gc +wrong-schema +takenAt: Required\n$/,
  );
});

test('list of nothing', async () => {
  const { run } = await ownLog();
  expect(await run('dead-letters', 'list')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'There are no such dead letters.\n',
  });
});

test.each<{ filter: string[]; finds: string[] }>([
  { filter: [], finds: ['a', 'b', 'c'] },
  { filter: ['--cause', 'not-json'], finds: ['b'] },
  { filter: ['--group', 'container-gc'], finds: ['c'] },
  { filter: ['--key', 'prod/web-2'], finds: ['b', 'c'] },
  { filter: ['--key', 'prod/web-2', '--group', 'image-gc'], finds: ['b'] },
  { filter: ['--topic', TOPICS.commands.name], finds: ['a'] },
  { filter: ['--since', '1h'], finds: ['a', 'b', 'c'] },
  { filter: ['--key', 'prod/web'], finds: [] },
])('list $filter finds $finds', async ({ filter, finds }) => {
  const { log, run } = await ownLog();
  await bury(
    log,
    deadLetter({ id: 'a', topic: TOPICS.commands.name }),
    deadLetter({ id: 'b', key: base64('prod/web-2'), cause: 'not-json' }),
    deadLetter({ id: 'c', key: base64('prod/web-2'), group: 'container-gc' }),
  );
  const { stdout } = await run('dead-letters', 'list', '--output', 'json', ...filter);

  expect(JSON.parse(stdout).map(({ id }: DeadLetter) => id)).toEqual(finds);
});

test('what somebody else wrote cannot rewrite the terminal', async () => {
  const { log, run } = await ownLog();
  await bury(
    log,
    deadLetter({
      message: 'a\u001b[2Jb\nc',
      key: base64('prod/\u202eweb'),
      value: base64('x\u009by\u001b[0m'),
    }),
  );

  expect((await run('dead-letters', 'list')).stdout).toContain('prod/\\u{202e}web');
  expect((await run('dead-letters', 'list')).stdout).toMatch(/a\\u\{1b\}\[2Jb\\u\{a\}c\n$/);
  expect((await run('dead-letters', 'show', 'dead-letter')).stdout).toMatch(/x\\u\{9b\}y\\u\{1b\}\[0m\n$/);
});

test('show has everything, for people and for machines', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ suppressedBefore: 4 }));

  const { stdout } = await run('dead-letters', 'show', 'dead-letter-aa');
  expect(stdout.replace(/given up .*Z/, 'given up <time>')).toBe(
    [
      'id            dead-letter-aaaa1',
      'cause         wrong-schema: takenAt: Required',
      'given up <time> by image-gc',
      'message       gc.node.inventory partition 3 offset 17, 2026-01-01T00:00:00Z',
      'key           prod/web-1',
      'put back      no',
      'only counted  4 more of this key before it, which were not kept',
      'header        ce_id: inventory-1',
      'header        traceparent: 00-1',
      '',
      '{',
      '  "half": "an inventory"',
      '}',
      '',
    ].join('\n'),
  );
  const json = await run('dead-letters', 'show', 'dead-letter-aaaa1', '-o', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    letter: deadLetter({ suppressedBefore: 4 }),
    redrivenAtMs: null,
  });
});

test.each([
  { value: null, says: '(no value)' },
  { value: '', says: '(empty value)' },
  { value: base64('null'), says: 'null' },
])('show of a message with the value $value says $says', async ({ value, says }) => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ value }));

  expect((await run('dead-letters', 'show', 'dead-letter-aaaa1')).stdout).toMatch(`\n\n${says}\n`);
});

test('show of an id that is none, or of several', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter(), deadLetter({ id: 'dead-letter-aaaa2' }));

  expect(await run('dead-letters', 'show', 'dead-letter-b')).toMatchObject({
    exitCode: 1,
    stderr: 'fleetgc dead-letters show: there is no dead letter dead-letter-b\n',
  });
  expect(await run('dead-letters', 'show', 'dead-letter-a')).toMatchObject({
    exitCode: 1,
    stderr: 'fleetgc dead-letters show: 2 dead letters begin with dead-letter-a; write more of it\n',
  });
});

test('redrive puts the message back as it was, and leaves a trace', async () => {
  const { log, run } = await ownLog();
  const value = Buffer.from([0xff, 0x00, 0x7b]);
  await bury(log, deadLetter({ value: value.toString('base64') }));

  expect(await run('dead-letters', 'redrive', 'dead-letter-aaaa1')).toEqual({
    exitCode: 0,
    stdout: '1 message put back\n',
    stderr: '',
  });
  expect(await readTopic(log, TOPICS.inventory.name)).toMatchObject([
    { key: 'prod/web-1', value, headers: { ce_id: 'inventory-1', traceparent: '00-1' } },
  ]);
  const marks = (await readTopic(log, TOPICS.deadLetters.name)).map(jsonOf);
  expect(marks[1]).toMatchObject({
    type: 'fleetgc.dead-letter-redrive',
    deadLetterId: 'dead-letter-aaaa1',
    key: base64('prod/web-1'),
  });
  expect((await run('dead-letters', 'list')).stdout).toBe('');
  expect((await run('dead-letters', 'list', '--all')).stdout).toContain('(put back) takenAt: Required');
});

test('redrive twice puts back once, unless asked', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter());
  await run('dead-letters', 'redrive', 'dead-letter-aaaa1');

  expect(await run('dead-letters', 'redrive', 'dead-letter-aaaa1')).toEqual({
    exitCode: 0,
    stdout: '0 messages put back\n',
    stderr: '1 put back before and left alone now; --again puts them back once more\n',
  });
  expect(await readTopic(log, TOPICS.inventory.name)).toHaveLength(1);
  await run('dead-letters', 'redrive', 'dead-letter-aaaa1', '--again');
  expect(await readTopic(log, TOPICS.inventory.name)).toHaveLength(2);
});

test('a message that two groups gave up goes back once, and both dead letters are marked', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ id: 'a' }), deadLetter({ id: 'b', group: 'container-gc' }));

  expect((await run('dead-letters', 'redrive', '--all')).stdout).toBe('1 message put back\n');
  expect(await readTopic(log, TOPICS.inventory.name)).toHaveLength(1);
  expect((await run('dead-letters', 'list')).stdout).toBe('');
});

test('messages of one node go back in the order in which they were on the log', async () => {
  const { log, run } = await ownLog();
  const offsets = ['9', '10', '100'];
  await bury(
    log,
    ...offsets.toReversed().map((offset) => deadLetter({ id: offset, offset, value: base64(offset) })),
  );
  await run('dead-letters', 'redrive', '--all');

  const back = await readTopic(log, TOPICS.inventory.name);
  expect(back.map(({ value }) => value?.toString())).toEqual(offsets);
});

test.each<{ name: string; letter: Partial<DeadLetter>; reason: string }>([
  {
    name: 'a policy, since it would replace a newer one',
    letter: { topic: TOPICS.policies.name, key: base64('web') },
    reason: 'messages of gc.policies are not put back',
  },
  {
    name: 'a topic that does not exist',
    letter: { topic: 'gc.other' },
    reason: 'messages of gc.other are not put back',
  },
  { name: 'no key', letter: { key: null }, reason: 'it had no key, so nobody knows where it belongs' },
  {
    name: 'a key that is not text',
    letter: { key: Buffer.from([0xff]).toString('base64') },
    reason: 'its key is not text',
  },
  { name: 'no content', letter: { value: null }, reason: 'it had no content' },
  {
    name: 'content that was too large to keep',
    letter: { value: null, omittedBytes: 9 },
    reason: 'it was too large to be kept here; it still lies at its own position',
  },
])('redrive leaves alone $name', async ({ letter, reason }) => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter({ id: 'dead-letter-1', ...letter }));

  expect(await run('dead-letters', 'redrive', '--all')).toMatchObject({
    stdout: '0 messages put back\n',
    stderr: `warning: dead-letter-1 is not put back: ${reason}\n`,
  });
});

test('a dry run of redrive changes nothing', async () => {
  const { log, run } = await ownLog();
  await bury(log, deadLetter());

  expect((await run('dead-letters', 'redrive', '--all', '--dry-run')).stdout).toBe(
    '1 message would be put back\n',
  );
  expect(await readTopic(log, TOPICS.inventory.name)).toEqual([]);
});

test('many messages: progress is told on stderr', async () => {
  const { log, run } = await ownLog();
  await bury(log, ...Array.from({ length: 250 }, (_, n) => deadLetter({ id: `${n}`, offset: `${n}` })));
  const { stdout, stderr } = await run('dead-letters', 'redrive', '--all');

  expect(stdout).toBe('250 messages put back\n');
  expect(stderr).toBe('100 of 250 messages put back\n200 of 250 messages put back\n');
});

test.each<{ args: string[]; says: string }>([
  { args: [], says: 'give ids of dead letters, or --all; "fleetgc dead-letters list" shows them' },
  { args: ['a', '--all'], says: 'give either ids, or --all with conditions' },
  { args: ['a', '--cause', 'not-json'], says: 'give either ids, or --all with conditions' },
])('redrive $args is a mistake', async ({ args, says }) => {
  const { run } = await ownLog();

  expect(await run('dead-letters', 'redrive', ...args)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: `fleetgc dead-letters redrive: ${says}\n`,
  });
});
