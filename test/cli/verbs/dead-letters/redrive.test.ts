import { expect, test } from 'vitest';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { inProcess, ownLog, stoppedInProcess, withoutProgress } from '../../fleetgc.ts';
import { jsonOf, readTopic } from '../../read-topic.ts';
import { base64, bury, deadLetter, KEY, lose, PARTITION, putBack } from './letters.ts';

test('redrive puts the message back as it was, and leaves a trace', async () => {
  const { log, run } = await ownLog();
  const value = Buffer.from([0xff, 0x00, 0x7b]);
  await bury(log, ...(await lose(log, [value])));

  expect(await run('dead-letters', 'redrive', 'dead-letter-0')).toEqual({
    exitCode: 0,
    stdout: '1 message put back\n',
    stderr: '',
  });
  expect(await putBack(log, 1)).toMatchObject([
    { key: KEY, value, headers: { ce_id: 'inventory-1', traceparent: '00-1' } },
  ]);
  const marks = (await readTopic(log, TOPICS.deadLetters.name)).map(jsonOf);
  expect(marks[1]).toMatchObject({
    type: 'fleetgc.dead-letter-redrive',
    deadLetterId: 'dead-letter-0',
    key: base64(KEY),
  });
  expect((await run('dead-letters', 'list')).stdout).toBe('');
  expect((await run('dead-letters', 'list', '--all')).stdout).toContain('(put back) takenAt: Required');
});

test('redrive twice puts back once, unless asked', async () => {
  const { log, run } = await ownLog();
  await bury(log, ...(await lose(log, ['{}'])));
  await run('dead-letters', 'redrive', 'dead-letter-0');

  expect(await run('dead-letters', 'redrive', 'dead-letter-0')).toEqual({
    exitCode: 0,
    stdout: '0 messages put back\n',
    stderr: '1 put back before and left alone now; --again puts them back once more\n',
  });
  expect(await putBack(log, 1)).toHaveLength(1);
  await run('dead-letters', 'redrive', 'dead-letter-0', '--again');
  expect(await putBack(log, 1)).toHaveLength(2);
});

test('a message that two groups gave up goes back once, and both dead letters are marked', async () => {
  const { log, run } = await ownLog();
  const [letter] = await lose(log, ['{}']);
  await bury(
    log,
    deadLetter({ ...letter, id: 'a' }),
    deadLetter({ ...letter, id: 'b', group: 'container-gc' }),
  );

  expect((await run('dead-letters', 'redrive', '--all')).stdout).toBe('1 message put back\n');
  expect(await putBack(log, 1)).toHaveLength(1);
  expect((await run('dead-letters', 'list')).stdout).toBe('');
});

test('messages of one node go back in the order in which they were on the log', async () => {
  const { log, run } = await ownLog();
  const values = Array.from({ length: 120 }, (_, n) => `message ${n}`);
  const letters = await lose(log, values);
  const [second, tenth, last] = [letters[2], letters[10], letters[119]];
  await bury(log, deadLetter(last), deadLetter(second), deadLetter(tenth));
  await run('dead-letters', 'redrive', '--all');

  const back = await putBack(log, values.length);
  expect(back.map(({ value }) => value?.toString())).toEqual(['message 2', 'message 10', 'message 119']);
});

test('a letter that somebody gave the id of another one hides nothing: the message goes back', async () => {
  const { log, run } = await ownLog();
  const lost = await lose(log, ['{}']);
  const [letter] = lost;
  await bury(log, ...lost, deadLetter({ ...letter, value: base64('made up'), message: 'nothing to see' }));
  await bury(log, deadLetter({ ...letter, offset: '7', message: 'of another place' }));

  expect((await run('dead-letters', 'list')).stdout.match(/^dead-letter-0 /gm)).toHaveLength(3);
  const shown = await run('dead-letters', 'show', 'dead-letter-0');
  expect(shown.stderr).toContain('3 dead letters have this id, and at most one of them is true');
  expect(shown.stdout).toContain('takenAt: Required');
  const { exitCode, stdout, stderr } = await run('dead-letters', 'redrive', 'dead-letter-0');
  expect([exitCode, stdout]).toEqual([1, '1 message put back\n']);
  expect(stderr).toContain('somebody made this dead letter up');
  expect((await putBack(log, 1)).map(({ value }) => value?.toString())).toEqual(['{}']);
});

test('a letter that came once more without its value is the same one', async () => {
  const { log, run } = await ownLog();
  const lost = await lose(log, ['{}']);
  const again = lost.map((letter) => ({ ...letter, value: null, omittedBytes: 2 }));
  await bury(log, ...lost, ...again);
  expect((await run('dead-letters', 'list')).stdout.match(/^dead-letter-0 /gm)).toHaveLength(1);
  expect((await run('dead-letters', 'redrive', 'dead-letter-0')).exitCode).toBe(0);
});

const ELSEWHERE = `gc.node.inventory/${PARTITION}@0 holds another message`;
const MADE_UP = 'somebody made this dead letter up, or the topic was made anew since';

test.each<{ name: string; letter: Partial<DeadLetter>; reason: string }>([
  {
    name: 'other content than lies there',
    letter: { value: base64('{"forged":true}') },
    reason: `${ELSEWHERE} (different: content): ${MADE_UP}`,
  },
  {
    name: 'one byte more',
    letter: { value: base64('{} ') },
    reason: `${ELSEWHERE} (different: content): ${MADE_UP}`,
  },
  {
    name: 'another key',
    letter: { key: base64('prod/web-2') },
    reason: `${ELSEWHERE} (different: key): ${MADE_UP}`,
  },
  {
    name: 'another header',
    letter: { headers: { ce_id: 'inventory-2', traceparent: '00-1' } },
    reason: `${ELSEWHERE} (different: headers): ${MADE_UP}`,
  },
  {
    name: 'a header more',
    letter: { headers: { ce_id: 'inventory-1', traceparent: '00-1', 'fleetgc-key-id': 'mine' } },
    reason: `${ELSEWHERE} (different: headers): ${MADE_UP}`,
  },
  {
    name: 'a place where nothing lies',
    letter: { offset: '7' },
    reason: `nothing lies at gc.node.inventory/${PARTITION}@7 any more, so nobody can tell whether the message was ever there`,
  },
  {
    name: 'another partition',
    letter: { partition: (PARTITION + 1) % 32 },
    reason: `nothing lies at gc.node.inventory/${(PARTITION + 1) % 32}@0 any more, so nobody can tell whether the message was ever there`,
  },
  {
    name: 'a partition that no topic has',
    letter: { partition: 32 },
    reason: 'its position is none that this topic can have',
  },
  {
    name: 'an offset that is none',
    letter: { offset: '-1' },
    reason: 'its position is none that this topic can have',
  },
])('redrive refuses a dead letter with $name', async ({ letter, reason }) => {
  const { log, run } = await ownLog();
  const [true_] = await lose(log, ['{}']);
  await bury(log, deadLetter({ ...true_, ...letter }));

  const refused = {
    exitCode: 1,
    stderr: `warning: dead-letter-0 is not put back: ${reason}\nfleetgc dead-letters redrive: 1 dead letter is not put back, for the reasons above\n`,
  };
  expect(await run('dead-letters', 'redrive', 'dead-letter-0', '--dry-run')).toEqual({
    ...refused,
    stdout: '0 messages would be put back\n',
  });
  expect(await run('dead-letters', 'redrive', 'dead-letter-0')).toEqual({
    ...refused,
    stdout: '0 messages put back\n',
  });
  expect(await putBack(log, 1)).toEqual([]);
  expect(await readTopic(log, TOPICS.deadLetters.name)).toHaveLength(1);
});

test('a dead letter that somebody made up does not hold up the true one of the same message', async () => {
  const { log, run } = await ownLog();
  const [letter] = await lose(log, ['{}']);
  await bury(log, deadLetter({ ...letter, id: 'forged', value: base64('[]') }), deadLetter(letter));

  expect(await run('dead-letters', 'redrive', '--all')).toMatchObject({
    exitCode: 1,
    stdout: '1 message put back\n',
    stderr: expect.stringContaining('warning: forged is not put back: '),
  });
  expect((await putBack(log, 1)).map(({ value }) => value?.toString())).toEqual(['{}']);
});

test.each([TOPICS.commands.name, TOPICS.observe.name] as const)(
  'an order of %s is never put back, also where it lies on the log as its dead letter tells',
  async (topic) => {
    const { log, run } = await ownLog();
    const partition = partitionOf(topic, KEY);
    await log.publish([{ topic, key: KEY, value: Buffer.from('{}'), headers: {} }]);
    await bury(
      log,
      deadLetter({ topic, partition, offset: '0', key: base64(KEY), value: base64('{}'), headers: {} }),
    );

    expect(await run('dead-letters', 'redrive', '--all')).toEqual({
      exitCode: 1,
      stdout: '0 messages put back\n',
      stderr: `warning: dead-letter-aaaa1 is not put back: messages of ${topic} are not put back, only facts about nodes and clusters are\nfleetgc dead-letters redrive: 1 dead letter is not put back, for the reasons above\n`,
    });
    expect(await readTopic(log, topic)).toHaveLength(1);
  },
);

test.each<{ name: string; letter: Partial<DeadLetter>; reason: string }>([
  {
    name: 'a policy, since it would replace a newer one',
    letter: { topic: TOPICS.policies.name, key: base64('web') },
    reason: 'messages of gc.policies are not put back, only facts about nodes and clusters are',
  },
  {
    name: 'a decision, which nobody reads to act on it: it would bear the number of one that its writer signed',
    letter: { topic: TOPICS.decisions.name },
    reason: 'messages of gc.node.decisions are not put back, only facts about nodes and clusters are',
  },
  {
    name: 'a topic that does not exist',
    letter: { topic: 'gc.other' },
    reason: 'messages of gc.other are not put back, only facts about nodes and clusters are',
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
    exitCode: 1,
    stdout: '0 messages put back\n',
    stderr: expect.stringMatching(`^warning: dead-letter-1 is not put back: ${reason}\n`),
  });
});

test('a dry run of redrive changes nothing', async () => {
  const { log, run } = await ownLog();
  await bury(log, ...(await lose(log, ['{}'])));

  expect((await run('dead-letters', 'redrive', '--all', '--dry-run')).stdout).toBe(
    '1 message would be put back\n',
  );
  expect(await putBack(log, 1)).toEqual([]);
});

test('many messages on a slow machine: progress is reported on stderr', async () => {
  const { log, path } = await ownLog();
  await bury(log, ...(await lose(log, new Array<string>(250).fill('{}'))));
  let nowMs = 0;
  const { stdout, stderr } = await inProcess(
    ['dead-letters', 'redrive', '--all', '--log', 'embedded', '--log-path', path],
    undefined,
    undefined,
    () => (nowMs += 10_000),
  );

  expect(stdout).toBe('250 messages put back\n');
  expect(stderr).toBe('100 of 250 messages put back …\n200 of 250 messages put back …\n');
});

test('stopped in the middle, redrive says how far it is, and a second one puts back what is missing', async () => {
  const { log, path, run } = await ownLog();
  await bury(log, ...(await lose(log, new Array<string>(250).fill('{}'))));
  const stopped = await stoppedInProcess(
    ['dead-letters', 'redrive', '--all', '--log', 'embedded', '--log-path', path],
    { signal: 'SIGINT', once: (stderr) => stderr.includes('100 of 250 messages put back') },
  );

  expect({ ...stopped, stderr: withoutProgress(stopped.stderr) }).toEqual({
    exitCode: 130,
    stdout: '100 messages put back\n',
    stderr:
      'stopping\nfleetgc dead-letters redrive: stopped after 100 of 250 messages. Written to gc.node.inventory: prod/web-1 (100 records). Written to gc.dead-letters: prod/web-1 (100 records). Nothing else was written. Run the same command again: it is safe, and writes what is missing.\n',
  });
  expect(await putBack(log, 250)).toHaveLength(100);
  expect(await run('dead-letters', 'redrive', '--all')).toMatchObject({
    exitCode: 0,
    stdout: '150 messages put back\n',
  });
  expect(await putBack(log, 250)).toHaveLength(250);
});

test('stopped before it has begun, redrive says that nothing was written', async () => {
  const { log, path } = await ownLog();
  await bury(log, ...(await lose(log, ['{}'])));
  const stopped = await stoppedInProcess(
    ['dead-letters', 'redrive', '--all', '--log', 'embedded', '--log-path', path],
    { signal: 'SIGTERM', once: () => true },
  );

  expect(stopped).toEqual({
    exitCode: 143,
    stdout: '',
    stderr:
      'stopping\nfleetgc dead-letters redrive: stopped before everything was read, so nothing is said of it. Nothing was written.\n',
  });
  expect(await putBack(log, 1)).toEqual([]);
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
