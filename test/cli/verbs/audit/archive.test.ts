import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { archived, logOf, recordsFile } from '../../../packages/audit/support/archives.ts';
import { outgoing, recordOf } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';

const listed = nodeOutput('inventory', inventory());
const recordsIn = (directory: string): string => recordsFile(directory, 'gc.node.inventory');

test('archived, checked, and checked against the head that was told', async () => {
  const { log, run } = await ownLog();
  const directory = join(temporaryDirectory(), 'archive');
  await log.publish([outgoing(listed)]);
  const first = await run('audit', 'archive', '--to', directory);
  const head = /^head of the archive: ([0-9a-f]{64})$/m.exec(first.stdout)?.[1] ?? '';

  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(first.stdout).toMatch(/^1 record archived in 1 file$/m);
  expect(await run('audit', 'archive', '--to', directory)).toMatchObject({
    exitCode: 0,
    stdout: `nothing new to archive\nhead of the archive: ${head}\n`,
  });
  expect(
    await inProcess(['audit', 'archive', 'check', '--archive', directory, '--head', head]),
  ).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^As it was written\.\n1 record in 1 file, /),
  });
});

test('a changed archive ends the check with 1, and each deviation is named', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([recordOf(listed)]), directory);
  const file = recordsIn(directory);
  appendFileSync(join(directory, file), 'x');
  const { exitCode, stdout, stderr } = await inProcess(['audit', 'archive', 'check', '--archive', directory]);
  expect(stdout).not.toContain('As it was written');

  const lines = await inProcess(['audit', 'archive', 'check', '--archive', directory, '-o', 'ndjson']);

  expect(
    lines.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { finding: 'deviation', message: expect.stringContaining('was changed') },
    expect.objectContaining({ finding: 'summary', deviations: 1, gaps: 0 }),
  ]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain(`DEVIATION: ${file} was changed`);
  expect(stderr).toContain('1 deviation: the archive is not as it was written');
});

test('records that retention deleted first end the run with 1, after what is there was archived', async () => {
  const { log, path, run } = await ownLog();
  const directory = temporaryDirectory();
  await log.publish([outgoing(listed)]);
  await run('audit', 'archive', '--to', directory);
  await log.publish([outgoing(listed), outgoing(listed), outgoing(listed)]);
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('DELETE FROM records WHERE offset IN (1, 2)');
  db.close();
  const { exitCode, stdout, stderr } = await run('audit', 'archive', '--to', directory);

  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining('2 records were deleted from the event log before being archived'),
  });
  expect(stdout).toMatch(/^LOST: 2 records of gc\.node\.inventory\/\d+, offsets 1 to 2$/m);
  expect(stdout).toMatch(/^1 record archived in 1 file$/m);
  expect((await inProcess(['audit', 'archive', 'check', '--archive', directory])).stdout).toMatch(/^gap: /m);
});

test.each(['verify', 'explain'])('audit %s on an archive needs the directory of it', async (verb) => {
  const asked = verb === 'explain' ? ['web-1'] : [];
  const without = await inProcess(['audit', verb, ...asked, '--log', 'archive']);
  const missing = await inProcess([
    'audit',
    verb,
    ...asked,
    '--log',
    'archive',
    '--archive',
    temporaryDirectory(),
  ]);

  expect(without).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--log archive needs --archive'),
  });
  expect(missing).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /there is no archive in \S+: \S+manifest\.jsonl cannot be read: there is no such file/,
    ),
  });
});

test('audit explain reads an archive of a log that is gone', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([recordOf(listed)]), directory);
  const asked = ['audit', 'explain', 'node/web-1', '--log', 'archive', '--archive', directory];

  expect(await inProcess(asked)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('node prod/web-1'),
    stderr: '',
  });
  expect(await inProcess([...asked, '--from', 'gc.node.inventory/5@0'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      'there is no record gc.node.inventory/5@0: nothing lies in that partition',
    ),
  });
});

test('a node that nobody knows is told as it is on the log itself', async () => {
  const { log, run } = await ownLog();
  const directory = temporaryDirectory();
  await log.publish([outgoing(listed)]);
  await run('audit', 'archive', '--to', directory);
  const asked = ['audit', 'explain', 'a', '--node', 'nobody'] as const;
  const live = await run(...asked);

  expect(live).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no record of any such node'),
  });
  expect(await inProcess([...asked, '--log', 'archive', '--archive', directory])).toEqual(live);
});

test('audit verify reads it too, and names the file that is not as it was written', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([recordOf(listed)]), directory);
  const asked = ['audit', 'verify', '--log', 'archive', '--archive', directory];
  const nothingDecided = await inProcess([...asked, '--threads', '1']);
  const file = recordsIn(directory);
  appendFileSync(join(directory, file), 'x');

  expect(nothingDecided).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining(
      'there is nothing to verify: of 1 record on the event log none is a decision',
    ),
  });
  expect(await inProcess([...asked, '--threads', '2'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`${file} was changed`),
  });
});

test('an archive in the middle of a pass is not verified: exit code 3, and 1 where something deviates', async () => {
  const verified = async (outputs: readonly Output[]) => {
    const directory = temporaryDirectory();
    await archived(logOf(outputs.map((output) => recordOf(output))), directory);
    writeFileSync(join(directory, 'pass.unfinished'), String(Date.UTC(2026, 0, 1)));
    return await inProcess([
      ...['audit', 'verify', '--threads', '1', '--log', 'archive', '--archive', directory],
    ]);
  };
  const begun =
    'an archiver is at work, or was stopped in the middle of a pass that began 2026-01-01T00:00:00Z';

  expect(await verified([listed])).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining(`nothing is wrong in what is there, but ${begun}`),
  });
  expect(await verified([listed, nodeOutput('commands', imageRemoval(['sha256:a']))])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /1 deviation: .* But an archiver is at work.* if they are still there then/,
    ),
  });
});

test('audit query answers in a table, or a row a line, and refuses what is no SELECT', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([recordOf(listed)]), directory);
  const asked = (sql: string, ...options: string[]) =>
    inProcess(['audit', 'query', sql, '--archive', directory, ...options]);

  expect(await asked('SELECT key, "offset" FROM records')).toEqual({
    exitCode: 0,
    stdout: 'key          offset\nprod/web-1   0\n',
    stderr: '',
  });
  expect((await asked('SELECT key, 1 AS one FROM records', '-o', 'ndjson')).stdout).toBe(
    '{"key":"prod/web-1","one":1}\n',
  );
  expect((await asked('SELECT 1 FROM results')).stderr).toBe('There are no such rows.\n');
  expect(await asked('DROP VIEW records')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('one SELECT at a time'),
  });
  const many = await asked('SELECT * FROM range(1001)');
  expect(many.stdout.trimEnd().split('\n')).toHaveLength(1_001);
  expect(many.stderr).toContain('-o ndjson gives them all');
});
