import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parsedLines } from '../../support/log-lines.ts';

const SCRIPT = fileURLToPath(new URL('../../support/stoppable-process.ts', import.meta.url));

function startProcess(behaviour: string) {
  const child = spawn(process.execPath, [SCRIPT, behaviour], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const stderr: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
  const log = () => parsedLines(stderr.join('').trimEnd().split('\n'));
  return { child, ready: once(child.stdout, 'data'), ended: endOf(child), log };
}

async function endOf(child: ChildProcess): Promise<unknown> {
  const [code] = await once(child, 'close');
  return code;
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops a real process in order', async (signal) => {
  const { child, ready, ended, log } = startProcess('waits');
  await ready;
  child.kill(signal);
  expect(await ended).toBe(0);
  expect(log()).toEqual([expect.objectContaining({ msg: 'stopping', signal })]);
});

test('an error outside of every await ends a real process with one line', async () => {
  const { ended, log } = startProcess('throws');
  expect(await ended).toBe(1);
  expect(log()).toEqual([expect.objectContaining({ level: 'fatal', msg: 'nobody waits for this' })]);
});

test('what was left open does not hold up the end', async () => {
  const { ended } = startProcess('forgets');
  expect(await ended).toBe(0);
});
