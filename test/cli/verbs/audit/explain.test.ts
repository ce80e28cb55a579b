import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { EventLog } from '../../../../packages/log/port.ts';
import { generateJsonSchemas } from '../../../../schemas/generate.ts';
import { container, image } from '../../../fixtures/inventory.ts';
import { GIB, HOUR, MINUTE } from '../../../fixtures/time.ts';
import {
  answered,
  judged,
  look,
  ordered,
  removed,
} from '../../../packages/audit/explain/support/recorded-log.ts';
import { timedLog } from '../../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { inProcess, type OwnLog, ownLog } from '../../fleetgc.ts';

const ID = `sha256:${'ab'.repeat(32)}`;
const web = image(ID, { repoTags: ['registry.example/shop/web:1'], sizeBytes: GIB });
const policy = { name: 'nightly', version: 3, hash: 'a', setHash: 'b' };

/** The image is used, then removed; its container stays. */
const HISTORY = [
  look(0, { images: [{ ...web, usedBy: [{ kind: 'container', id: 'c1' }] }], containers: [container('c1')] }),
  judged(1, 0, { rule: 'C8', facts: { users: 1, user: 'container c1' } }),
  look(2, { images: [web], containers: [container('c1')] }),
  judged(
    3,
    2,
    { rule: 'D11', action: 'remove', facts: { place: 1, lastUsedMs: null } },
    { outcome: 'commanded', policy },
  ),
  ordered(4, ID),
  answered(5, ID, removed(8)),
  look(6, { containers: [container('c1')] }),
];

const publish = (log: EventLog) => log.publish(HISTORY.map(([, output]) => outgoing(output)));

async function recorded(): Promise<OwnLog> {
  const own = await ownLog();
  await publish(own.log);
  return own;
}

test('for people: the answer first, then the whole story, a line an event', async () => {
  const { run } = await recorded();
  const { exitCode, stdout, stderr } = await run('audit', 'explain', 'registry.example/shop/web:1');
  const [head, stand, , , ...table] = stdout.trimEnd().split('\n');
  const line = (word: string) =>
    table.find((one) => one.includes(`Z   ${word} `))?.replace(/^\S+ +\S+( go)? +/, '');

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(head).toBe('image registry.example/shop/web:1 (abababababab) on prod/web-1');
  expect(stand).toMatch(
    /^Removed by FleetGC at \S+Z: unused, and least recently used \(D11\); 8 B freed on imagefs as measured, 10 B expected\.$/,
  );
  expect(line('seen')).toMatch(/^there at the first look; size 1\.0 GB, first detected 2025-/);
  expect(line('used')).toMatch(/^by container default\/web\/main#0 \[node: 2026-01-01T00:00:00Z\]$/);
  expect(line('kept')).toMatch(/^used by container default\/web\/main#0 \(C8: users 1\)/);
  expect(line('unused')).toMatch(
    /^not any more by container default\/web\/main#0; by nobody now; last used 2025-/,
  );
  expect(line('to go')).toMatch(
    /^unused, and least recently used \(D11: last used never, place 1\) under policy nightly, version 3/,
  );
  expect(line('command')).toMatch(/^remove it \(D11\) within 60 s, which is to free 10 B/);
  expect(line('removed')).toMatch(/^8 B freed on imagefs as measured, 10 B expected/);
});

test('several meanings are listed with what to ask for instead, and the exit code is 2', async () => {
  const { log, run } = await recorded();
  await log.publish([outgoing(look(7, { node: 'web-2', images: [web] })[1])]);
  const { exitCode, stdout, stderr } = await run('audit', 'explain', 'shop/web');

  expect(exitCode).toBe(2);
  expect(stdout).toMatch(/^image\/abababababab +registry\.example\/shop\/web:1 +prod\/web-1 .* removed$/m);
  expect(stdout).toMatch(/^image\/abababababab +registry\.example\/shop\/web:1 +prod\/web-2 .* there$/m);
  expect(stderr).toContain('shop/web means 2 things: to choose one, name its node with --node CLUSTER/NODE');
});

test('what never was: nothing on stdout, a sentence with near names, exit code 1', async () => {
  const { run } = await recorded();
  const { exitCode, stdout, stderr } = await run('audit', 'explain', 'registry.example/shop/wep:1');

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain('there is registry.example/shop/web:1');
});

test.each([
  { args: [], where: 'on the event log' },
  { args: ['--node', 'web-1'], where: 'on web-1' },
  { args: ['--node', 'prod/web-1', '--from', '2000-01-01'], where: 'on prod/web-1 in that time' },
])('what is not there is told of where it was looked for: $where', async ({ args, where }) => {
  const { run } = await recorded();
  const { stderr } = await run('audit', 'explain', 'registry.example/shop/wep:1', ...args);

  expect(stderr).toContain(`nothing is called registry.example/shop/wep:1 ${where}, in `);
});

test('a kind of a cluster in lower case is answered with how kinds are written', async () => {
  const { run } = await recorded();
  const { stderr } = await run('audit', 'explain', 'secret/shop/web-tls');
  expect(stderr).toContain('the kind of an object of a cluster begins with a capital letter, as in Pod/shop');
});

test('an empty range says that there is nothing to say', async () => {
  const { run } = await recorded();
  const { exitCode, stderr } = await run('audit', 'explain', 'shop/web', '--to', '2020-01-01');

  expect(exitCode).toBe(1);
  expect(stderr).toContain('there is no record of any such node on the event log in that time');
});

test.each(['json', 'ndjson'])('%s is as its schema says', async (output) => {
  const { run } = await recorded();
  const { stdout } = await run('audit', 'explain', 'shop/web', '-o', output);
  const schema = output === 'json' ? 'explanation.schema.json' : 'explanation-line.schema.json';
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
    JSON.parse(generateJsonSchemas().get(schema) ?? ''),
  );
  const documents = output === 'json' ? [stdout] : stdout.trimEnd().split('\n');

  expect(documents).toHaveLength(output === 'json' ? 1 : 7);
  for (const document of documents) expect(validate(JSON.parse(document)), document).toBe(true);
});

test.each([
  { args: ['--at', '1h', '--to', '2h'], says: 'give either --at or --to' },
  { args: ['--from', '1h', '--to', '2h'], says: 'nothing lies between' },
  { args: ['--from', 'yesterday'], says: '--from must be a time such as' },
  { args: ['--at', '2026-01-31T14:02:00'], says: '--at must be a time such as' },
])('$args is an error of usage', async ({ args, says }) => {
  const { run } = await recorded();
  const { exitCode, stderr } = await run('audit', 'explain', 'shop/web', ...args);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(says);
});

test('--at tells what was known then', async () => {
  const { path, publishAt } = await timedLog();
  const [first = [], ...later] = HISTORY.map(([, output]) => [outgoing(output)]);
  const startMs = Date.now() - HOUR;
  await publishAt(startMs, ...first);
  await publishAt(startMs + MINUTE, ...later.flat());
  const logOptions = ['--log', 'embedded', '--log-path', path];
  const asked = (time: string, ...options: readonly string[]) =>
    inProcess(['audit', 'explain', 'shop/web', '--at', time, ...logOptions, ...options]);

  expect((await asked(new Date(startMs).toISOString())).stdout).toMatch(
    /^There at the last look \(\S+\); nothing was decided about it\.$/m,
  );
  expect((await asked('30m')).stdout).toMatch(/^Removed by FleetGC/m);
  const { partition, offset } = JSON.parse((await asked('30m', '-o', 'json')).stdout).timeline[0].record;
  expect((await asked(`gc.node.inventory/${partition}@${offset}`)).stdout).toMatch(
    /^There at the last look/m,
  );
});

test('names that would rewrite the terminal are made harmless', async () => {
  const own = await ownLog();
  const name = 'a\u001b[2Jb';
  const evil = { logSymlinks: [{ name, container: 'no-answer' as const, backoff: null }] };
  await own.log.publish([
    outgoing(nodeOutput('inventory', JSON.parse(JSON.stringify({ ...look(0, evil)[1].event })))),
  ]);
  const { stdout } = await own.run('audit', 'explain', name);

  expect(stdout).toContain('log-symlink a\\u{1b}[2Jb on prod/web-1');
  expect(stdout).not.toContain('\u001b');
});
