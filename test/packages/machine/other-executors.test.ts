import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { otherExecutors } from '../../../packages/machine/lock-holders.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const EXECUTOR = ['node', '/usr/lib/fleetgc/cli.mjs', 'node'];

interface Made {
  readonly pid: number;
  /** `undefined`: it has ended since the kernel told of its lock. */
  readonly uid: number | undefined;
  readonly words?: readonly string[];
  readonly environment?: readonly string[];
  readonly stateDirectory?: string;
}

/** A kernel with these processes, of which each holds a lock. */
function kernel(processes: readonly Made[], ownUid: number) {
  const directory = temporaryDirectory();
  const locks = processes.map(({ pid }, n) => `${n}: POSIX  ADVISORY  WRITE ${pid} 08:01:${n} 0 EOF\n`);
  writeFileSync(join(directory, 'locks'), locks.join(''));
  for (const { pid, words = EXECUTOR, environment = [], stateDirectory = '/state' } of processes) {
    const folder = join(directory, String(pid));
    mkdirSync(join(folder, 'fd'), { recursive: true });
    writeFileSync(join(folder, 'cmdline'), `${words.join('\0')}\0`);
    writeFileSync(join(folder, 'environ'), environment.join('\0'));
    symlinkSync(join(stateDirectory, 'executor.lock'), join(folder, 'fd', '17'));
  }
  const uidOf = (pid: number): number | undefined => processes.find((each) => each.pid === pid)?.uid;
  return { directory, uidOf, ownUid };
}

const pidsFound = (processes: readonly Made[], ownUid: number): readonly number[] =>
  otherExecutors(temporaryDirectory(), kernel(processes, ownUid)).map(({ pid }) => pid);

test.each([
  { ownUid: 0, found: [10] },
  { ownUid: 1000, found: [10, 11] },
  { ownUid: 65534, found: [10, 13] },
])('executors of root and of the own user count, and of nobody else: uid $ownUid', ({ ownUid, found }) => {
  const processes = [
    { pid: 10, uid: 0 },
    { pid: 11, uid: 1000 },
    { pid: 12, uid: 1001 },
    { pid: 13, uid: 65534 },
    { pid: 14, uid: undefined },
  ];
  expect(pidsFound(processes, ownUid)).toEqual(found);
});

test('a process that holds another lock, or does something else, is none', () => {
  const others = [
    { pid: 20, uid: 0, words: ['node', '/usr/lib/fleetgc/cli.mjs', 'cluster', 'executor'] },
    { pid: 21, uid: 0, words: ['fleetgc-node'] },
    { pid: 22, uid: 0 },
  ];
  expect(pidsFound(others, 0)).toEqual([22]);
});

test('what it says of its runtime and its state directory is told; an option counts before a variable', () => {
  const variable = ['A=1', 'FLEETGC_RUNTIME_ENDPOINT=/run/a.sock'];
  const found = otherExecutors(
    temporaryDirectory(),
    kernel(
      [
        { pid: 30, uid: 0, environment: variable, stateDirectory: '/one' },
        {
          pid: 31,
          uid: 0,
          environment: variable,
          words: [...EXECUTOR, '--runtime-endpoint=/run/b.sock'],
          stateDirectory: '/two',
        },
      ],
      0,
    ),
  );
  expect(found).toEqual([
    { pid: 30, command: 'fleetgc node', stateDirectory: '/one', runtimeEndpoint: '/run/a.sock' },
    {
      pid: 31,
      command: 'fleetgc node --runtime-endpoint=/run/b.sock',
      stateDirectory: '/two',
      runtimeEndpoint: '/run/b.sock',
    },
  ]);
});

test('the executor of the own state directory is no other one', () => {
  const own = temporaryDirectory();
  writeFileSync(join(own, 'executor.lock'), '');
  expect(otherExecutors(own, kernel([{ pid: 40, uid: 0, stateDirectory: own }], 0))).toEqual([]);
});
