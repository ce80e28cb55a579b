import { expect, test } from 'vitest';
import { createLogger } from '../../../../packages/process/logger.ts';
import { watchPods } from '../../../../services/node/agent/pods.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';

const RUNTIME = { uids: new Set<string>(), active: new Set<string>() };

async function warningsOf(instances: readonly string[]): Promise<number> {
  const lines = logLines();
  const left = [...instances];
  const watch = watchPods({
    source: { list: async () => ({ kubeletInstance: left.shift() ?? '', pods: [] }) },
    sources: [],
    clock: manualClock(),
    logger: createLogger({ service: 'test', level: 'warn' }, lines),
  });
  for (const _ of instances) await watch.ask(RUNTIME);
  return lines.lines.join('').split('over a new connection').length - 1;
}

test('answers that each come over a new connection are told once, with the likely cause', async () => {
  expect(await warningsOf(['1', '2', '3', '4', '5', '6', '7', '8', '9'])).toBe(1);
});

test.each([
  ['a restart or two', ['1', '1', '2', '2', '3', '3', '3', '4']],
  ['one connection', ['1', '1', '1', '1', '1', '1', '1', '1']],
  ['few answers', ['1', '2', '3', '4', '5']],
])('%s is nothing to tell', async (_, instances) => {
  expect(await warningsOf(instances)).toBe(0);
});
