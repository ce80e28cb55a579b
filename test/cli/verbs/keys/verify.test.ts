import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import type { SigningKey } from '../../../../packages/records/trust/key-pair.ts';
import { trustRootsText } from '../../../../packages/records/trust/roots-file.ts';
import { signRecord } from '../../../../packages/records/trust/signature.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { certified, FLEET, newKey, rootsOf } from '../../../fixtures/trust.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, type OwnLog, ownLog } from '../../fleetgc.ts';

const DAY_MS = 86_400_000;
const [root, decider] = [newKey(), newKey()];
const command = (id: string): OutgoingRecord =>
  outgoing(nodeOutput('commands', { ...imageRemoval(['sha256:a']), id }));
const signed = (record: OutgoingRecord, key: SigningKey = decider): OutgoingRecord =>
  signRecord(record, { fleet: FLEET, key, generation: null });

interface Fleet {
  readonly own: OwnLog;
  readonly roots: string;
  readonly file: (lines: string) => string;
}

/** A log with a statement of the root, and a signed command. */
async function fleet({ validMs = 30 * DAY_MS } = {}): Promise<Fleet> {
  const own = await ownLog();
  const directory = temporaryDirectory();
  const roots = join(directory, 'roots.yaml');
  writeFileSync(roots, trustRootsText(rootsOf(root)));
  const nowMs = Date.now();
  await own.log.publish(
    [certified(root, decider, { issuedAtMs: nowMs - DAY_MS, notAfterMs: nowMs + validMs })].flatMap(
      ({ key, ...record }) => (key === null ? [] : [{ ...record, key }]),
    ),
  );
  await own.log.publish([signed(command('one'))]);
  const file = (lines: string): string => {
    const path = join(directory, 'events.ndjson');
    writeFileSync(path, lines);
    return path;
  };
  return { own, roots, file };
}

const printed = ({ own }: Fleet, ...args: readonly string[]) => own.run('audit', 'events', ...args);

const verify = ({ own, roots, file }: Fleet, lines: string, ...args: readonly string[]) =>
  own.run('keys', 'verify', file(lines), '--trust-roots', roots, ...args);

test('what audit events prints keys verify finds good', async () => {
  const given = await fleet();
  const { stdout: lines, exitCode } = await printed(given);
  expect(exitCode).toBe(0);
  expect(
    lines
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).fleetgctopic),
  ).toEqual(['gc.keys', 'gc.node.commands']);

  const { stdout, ...ended } = await verify(given, lines.trimEnd());
  expect(ended).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(
    new RegExp(
      `^good {12}gc\\.keys/0@0 \\(${decider.keyId}\\), by ${root.keyId} as root
good {12}gc\\.node\\.commands/\\d+@0 \\(prod/web-1\\), by ${decider.keyId} \\(a key\\) as decider\n$`,
    ),
  );
});

test('an archive has the same bytes, and its statements say whose they are', async () => {
  const given = await fleet();
  const directory = join(temporaryDirectory(), 'archive');
  await given.own.run('audit', 'archive', '--to', directory);
  const ofArchive = ['--log', 'archive', '--archive', directory];
  const { stdout: lines } = await inProcess(['audit', 'events', ...ofArchive]);
  expect(lines).toBe((await printed(given)).stdout);
  const verified = await inProcess([
    ...['keys', 'verify', given.file(lines), '--trust-roots', given.roots],
    ...ofArchive,
    ...['-o', 'ndjson'],
  ]);
  expect(verified).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(verified.stdout.trimEnd().split('\n')[1] ?? '')).toEqual({
    line: 2,
    verdict: 'good',
    place: { topic: 'gc.node.commands', partition: expect.any(Number), offset: '0' },
    key: 'prod/web-1',
    signedBy: { keyId: decider.keyId, role: 'decider', name: 'a key' },
    message: null,
  });
});

test('what somebody changed is told, and ends with 1', async () => {
  const given = await fleet();
  const { stdout } = await printed(given, '--topic', 'gc.node.commands');
  const { data_base64: data, ...event } = JSON.parse(stdout);
  const changed = Buffer.from(data, 'base64').toString('utf8').replace('sha256:a', 'sha256:b');
  const forged = JSON.stringify({ ...event, data_base64: Buffer.from(changed).toString('base64') });
  expect(await verify(given, `${stdout}${forged}\n\nno event\n`)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^good .*\nchanged .*\nunreadable {6}line 4: it is no object in JSON\n$/),
    stderr: expect.stringContaining('of 3 events 2 are not what a key of this fleet may have signed'),
  });
});

test('an event of a key that nobody knows, and one without a signature', async () => {
  const given = await fleet();
  await given.own.log.publish([signed(command('two'), newKey()), command('three')]);
  const { stdout } = await printed(given, '--topic', 'gc.node.commands');
  expect(await verify(given, stdout)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^good .*\nstranger .*\nunsigned .*\n$/),
  });
});

test('what only its own time proves ends with 3', async () => {
  const given = await fleet({ validMs: -1 });
  const { stdout } = await printed(given, '--topic', 'gc.node.commands');
  const { fleetgctimems, ...event } = JSON.parse(stdout);
  const before = JSON.stringify({ ...event, fleetgctimems: String(fleetgctimems - 60_000) });
  expect(await verify(given, before)).toMatchObject({
    exitCode: 3,
    stdout: expect.stringMatching(/^good-then .*has expired at/),
    stderr: expect.stringContaining('1 of 1 event is not proved by a key that is good now'),
  });
  expect(await verify(given, stdout)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^expired /),
  });
  expect(await verify(given, '\n')).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('there was no event'),
  });
});

test('events are those of a topic, a key and a time', async () => {
  const given = await fleet();
  await given.own.log.publish([outgoing(nodeOutput('inventory', inventory()))]);
  const topicsOf = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await printed(given, ...args);
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).fleetgctopic]));
  };
  expect(await topicsOf('--key', 'prod/web-1')).toEqual(['gc.node.inventory', 'gc.node.commands']);
  expect(await topicsOf('--topic', 'gc.keys,gc.node.inventory')).toEqual(['gc.keys', 'gc.node.inventory']);
  expect(await topicsOf('--from', '1h')).toHaveLength(3);
  expect(await topicsOf('--to', '1h')).toEqual([]);
  expect(await printed(given, '--topic', 'gc.other')).toMatchObject({ exitCode: 2 });
});

test('a file that is not there, and a line without an end', async () => {
  const given = await fleet();
  const { own, roots } = given;
  expect(await own.run('keys', 'verify', '/nowhere', '--trust-roots', roots)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('there is no such file'),
  });
  expect(await verify(given, 'x'.repeat(91_000_000))).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/line 1, has more than the \d+ bytes that are read/),
  });
});
