import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { lockState, type StateRole } from '../../../packages/machine/state-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});

const lock = (...roles: readonly StateRole[]): Disposable => {
  const held = lockState(directory, roles);
  onTestFinished(() => held[Symbol.dispose]());
  return held;
};

const inUse = (role: StateRole) =>
  expect.objectContaining({
    code: 'STATE_IN_USE',
    exitCode: 1,
    message: expect.stringContaining(
      `another process is the ${role} of the state directory ${directory} already`,
    ),
  });

test('agent and executor share a state directory', () => {
  lock('agent');
  lock('executor');
});

test.each<{ first: StateRole[]; second: StateRole[]; refused: StateRole }>([
  { first: ['agent'], second: ['agent'], refused: 'agent' },
  { first: ['executor'], second: ['executor'], refused: 'executor' },
  { first: ['agent', 'executor'], second: ['agent', 'executor'], refused: 'agent' },
  { first: ['agent', 'executor'], second: ['executor'], refused: 'executor' },
  { first: ['executor'], second: ['agent', 'executor'], refused: 'executor' },
])('$first keeps $second away', ({ first, second, refused }) => {
  lock(...first);
  expect(() => lock(...second)).toThrow(inUse(refused));
});

test('who is refused keeps nothing of what it could have had', () => {
  lock('executor');
  expect(() => lock('agent', 'executor')).toThrow(inUse('executor'));
  lock('agent');
});

test('it ends when it is given back', () => {
  lock('agent', 'executor')[Symbol.dispose]();
  lock('agent', 'executor');
});

test('it holds against another process, and ends with that process, even a killed one', async () => {
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', HOLDER], {
    env: { ...process.env, DIRECTORY: directory },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  expect(() => lock('executor')).toThrow(inUse('executor'));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  lock('executor');
});

test('it takes no room on the disk', () => {
  lock('executor');
  expect(statSync(join(directory, 'executor.lock')).size).toBe(0);
});

test('a directory in which nothing can be locked says so', () => {
  expect(() => lockState(join(directory, 'missing'), ['agent'])).toThrow(
    expect.objectContaining({ code: 'STATE_UNWRITABLE', message: expect.stringContaining('agent.lock') }),
  );
});

const MODULE = JSON.stringify(new URL('../../../packages/machine/state-directory.ts', import.meta.url).href);
const HOLDER = `
  const { lockState } = await import(${MODULE});
  globalThis.held = lockState(process.env.DIRECTORY, ['executor']);
  process.stdout.write('locked');
  process.stdin.resume();
`;
