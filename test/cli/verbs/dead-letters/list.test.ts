import { expect, test } from 'vitest';
import type { DeadLetter } from '../../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { ownLog } from '../../fleetgc.ts';
import { base64, bury, deadLetter } from './letters.ts';

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
