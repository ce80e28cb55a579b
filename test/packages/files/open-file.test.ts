import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { lockFile } from '../../../packages/files/file-lock.ts';
import { openFixedFile } from '../../../packages/files/fixed-file.ts';
import { inFolder } from '../../../packages/files/folders.ts';
import {
  appendToFile,
  cutFile,
  openDatabaseFile,
  readItself,
  removeDatabaseFile,
  replaceFile,
  withOwnFile,
  withOwnOrNewFile,
  writeAll,
  writeNewFile,
} from '../../../packages/files/open-file.ts';
import { onWideFile } from '../../../packages/files/wide-files.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { openCrashMarks } from '../../../packages/records/dead-letters/crash-marks.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MAKE_EVERYTHING = join(import.meta.dirname, 'make-everything.ts');
const PRECIOUS = 'of somebody else';
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

/** A directory that another user could write to, and a file elsewhere. */
function withVictim() {
  const directory = temporaryDirectory();
  const victim = join(temporaryDirectory(), 'victim');
  writeFileSync(victim, PRECIOUS, { mode: 0o600 });
  return { directory, victim, path: join(directory, 'name') };
}

const inUse = (): FleetGcError => new FleetGcError('STATE_IN_USE', 'in use');

/** Everything that writes under a name. */
const WRITERS: readonly (readonly [string, (path: string) => unknown])[] = [
  ['a new file', (path) => writeNewFile(path, 'x')],
  ['adding to a file', (path) => appendToFile(path, 'x')],
  ['cutting a file', (path) => cutFile(path, 0)],
  [
    'a file that may be new',
    (path) => withOwnOrNewFile(path, 'read-write', (fd) => writeAll(fd, Buffer.from('x'))),
  ],
  ['a fixed file', (path) => openFixedFile(path, 1, z.string()).write('x')],
  ['a lock', (path) => lockFile(path, inUse)],
  ['a database', (path) => openDatabaseFile(path, 0).exec('CREATE TABLE x (y)')],
  ['replacing a file', (path) => replaceFile(path, 'x')],
  [
    'a mark of a message in hand',
    (path) =>
      openCrashMarks(join(path, '..'), 'name', pino({ level: 'silent' })).begin({
        topic: TOPICS.observe.name,
        partition: 0,
        offset: 0n,
        timestampMs: 0,
        key: 'k',
        headers: {},
        value: null,
      }),
  ],
];

const attempt = (write: (path: string) => unknown, path: string): void => {
  try {
    write(path);
  } catch {
    // Refused is well.
  }
};

describe.each(WRITERS)('%s', (_, write) => {
  test('does not follow a link to a file', () => {
    const { victim, path } = withVictim();
    symlinkSync(victim, path);
    attempt(write, path);
    expect(readFileSync(victim, 'utf8')).toBe(PRECIOUS);
  });

  test('makes nothing where a link leads to nothing', () => {
    const { directory, path } = withVictim();
    const elsewhere = join(temporaryDirectory(), 'made');
    symlinkSync(elsewhere, path);
    attempt(write, path);
    expect(existsSync(elsewhere)).toBe(false);
    expect(existsSync(`${elsewhere}-journal`)).toBe(false);
    expect(readdirSync(directory).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('does not write through a second name of a file', () => {
    const { victim, path } = withVictim();
    linkSync(victim, path);
    attempt(write, path);
    expect(readFileSync(victim, 'utf8')).toBe(PRECIOUS);
  });

  test('waits for nobody at a pipe', () => {
    const { path } = withVictim();
    execFileSync('mkfifo', [path]);
    attempt(write, path);
  });
});

test.runIf(isRoot)('a file of a third user, where others may write, is not used', () => {
  const { directory, path } = withVictim();
  writeFileSync(path, 'x');
  chownSync(path, NOBODY, NOBODY);
  chmodSync(directory, 0o777);
  expect(() => withOwnFile(path, 'read', () => 0)).toThrow(/belongs to uid 65534/);
  expect(() => lockFile(path, inUse)).toThrow(/belongs to uid 65534/);
  // Its own directory: whoever has it may put there what they like, and the node shares it with them.
  chmodSync(directory, 0o700);
  chownSync(directory, NOBODY, NOBODY);
  expect(withOwnFile(path, 'read', () => 1)).toBe(1);
});

test('a database is opened once more without losing the lock of the first', () => {
  const { path } = withVictim();
  using _first = lockFile(path, inUse);
  expect(() => lockFile(path, inUse)).toThrow('in use');
  const other = `const { DatabaseSync } = require('node:sqlite');
    try { new DatabaseSync(${JSON.stringify(path)}, { timeout: 0 }).exec('BEGIN EXCLUSIVE'); console.log('free'); } catch { console.log('held'); }`;
  expect(execFileSync(process.execPath, ['--no-warnings', '-e', other], { encoding: 'utf8' })).toBe('held\n');
});

test.each(['-wal', '-shm', '-journal'])('what lies beside a database is no link either: %s', (suffix) => {
  const { victim, path } = withVictim();
  openDatabaseFile(path, 0).close();
  symlinkSync(victim, `${path}${suffix}`);
  expect(() => openDatabaseFile(path, 0)).toThrow(FleetGcError);
  removeDatabaseFile(path);
  expect(readFileSync(victim, 'utf8')).toBe(PRECIOUS);
});

test('a database is opened while another process makes and removes what lies beside it', async () => {
  const { path } = withVictim();
  openDatabaseFile(path, 0).close();
  const other = new Worker(
    `const { closeSync, openSync, rmSync } = require('node:fs');
    const { parentPort, workerData } = require('node:worker_threads');
    parentPort.postMessage('begun');
    for (;;) { closeSync(openSync(workerData, 'a', 0o600)); rmSync(workerData, { force: true }); }`,
    { eval: true, workerData: `${path}-journal` },
  );
  try {
    await once(other, 'message');
    for (let opened = 0; opened < 5_000; opened += 1) openDatabaseFile(path, 0).close();
  } finally {
    await other.terminate();
  }
});

test('a name with characters of an address is the name of that file', () => {
  const path = join(temporaryDirectory(), 'a?mode=memory#b%20c.db');
  const db = openDatabaseFile(path, 0);
  db.exec('CREATE TABLE x (y)');
  db.close();
  expect(statSync(path).size).toBeGreaterThan(0);
});

test.each(['a pipe', 'a link to a pipe'])(
  '%s is not replaced: root would take it from the whole machine',
  (what) => {
    const directory = temporaryDirectory();
    const pipe = join(directory, 'pipe');
    const link = join(directory, 'link');
    execFileSync('mkfifo', [pipe]);
    symlinkSync(pipe, link);
    expect(() => replaceFile(what === 'a pipe' ? pipe : link, 'x')).toThrow(
      /it is a device, a pipe or a socket/,
    );
    expect(readdirSync(directory).toSorted()).toEqual(['link', 'pipe']);
    expect(statSync(link).isFIFO()).toBe(true);
  },
);

test('a folder below is entered itself: a link to another directory is none', () => {
  const root = temporaryDirectory();
  const elsewhere = temporaryDirectory();
  symlinkSync(elsewhere, join(root, 'records'));
  const place = () => inFolder(root, 'records/2026', (folder) => writeNewFile(`${folder}/file`, 'x'));
  expect(place).toThrow(/is a link or a file/);
  expect(readdirSync(elsewhere)).toEqual([]);

  inFolder(root, 'deep/below', (folder) => writeNewFile(`${folder}/file`, 'x'));
  expect(readItself(join(root, 'deep/below/file')).toString()).toBe('x');
});

test('what a cut-off start leaves of a second name goes', () => {
  const { directory, path } = withVictim();
  openFixedFile(path, 1, z.string()).write('x');
  linkSync(path, join(directory, '.name.left.new'));
  expect(openFixedFile(path, 1, z.string()).read()).toBe('x');
  expect(readdirSync(directory)).toEqual(['name']);
});

/** What is made of everything that this process can make, with the modes, in a process of its own. */
const madeBy = (umask: string, ...options: readonly string[]): readonly string[] =>
  execFileSync(
    'sh',
    [
      '-c',
      `umask ${umask}; exec "$@"`,
      'sh',
      process.execPath,
      '--no-warnings',
      ...options,
      MAKE_EVERYTHING,
      temporaryDirectory(),
    ],
    { encoding: 'utf8' },
  )
    .trimEnd()
    .split('\n')
    .toSorted();
const EVERYTHING = [
  'a 700',
  'b 700',
  'deep 700',
  'fixed 600',
  'instance 600',
  'log 700',
  'log.db 600',
  'log.db-reserve 600',
  'log.db-shm 600',
  'log.db-wal 600',
  'new 600',
  'replaced 600',
  'state 700',
];

test.each(['000', '022', '777'])('with the umask %s all that is made is for its user alone', (mask) => {
  expect(madeBy(mask)).toEqual(EVERYTHING);
});

test('all can be made where a filesystem refuses to change modes, as a share of SMB does', () => {
  const refusing = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const refuse = () => { throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' }); };
    Object.assign(fs, { chmodSync: refuse, fchmodSync: refuse });
    syncBuiltinESMExports();`;
  expect(madeBy('022', '--import', `data:text/javascript,${encodeURIComponent(refusing)}`)).toEqual(
    EVERYTHING,
  );
});

test('what others may open is told once, with what closes it', () => {
  const { path } = withVictim();
  writeFileSync(path, 'x');
  chmodSync(path, 0o644);
  const told: string[] = [];
  {
    using _ = onWideFile((message) => told.push(message));
    withOwnFile(path, 'read', () => 0);
    withOwnFile(path, 'read', () => 0);
  }
  expect(told).toEqual([
    `Other users of this machine may open the file ${path} (mode 0644). To close it: chmod go= ${path}`,
  ]);
});
