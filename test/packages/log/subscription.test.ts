import { expect, test } from 'vitest';
import { UNCOUNTED } from '../../../packages/log/port.ts';
import { trackProblems } from '../../../packages/log/problems.ts';
import { serveSlices, supervise } from '../../../packages/log/subscription.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines } from '../../support/log-lines.ts';
import { at } from '../audit/verify/support.ts';
import { silentContext } from './probe.ts';

/** Serves one record; says for how many slices the offsets were committed. */
async function committedWhen(handle: (lose: () => void) => void): Promise<number> {
  const [over, ending] = [new AbortController(), new AbortController()];
  let committed = 0;
  const left = [at('commands', 0)];
  const source = {
    name: 'gc.node.commands/0',
    peek: async () => left,
    deathCount: () => UNCOUNTED,
    done: async () => {
      left.length = 0;
      committed += 1;
    },
  };
  await serveSlices(source, {
    handle: async () => handle(() => over.abort()),
    over: over.signal,
    ending: AbortSignal.any([over.signal, ending.signal]),
    problems: trackProblems(),
    context: silentContext(),
    isFinal: () => false,
  });
  return committed;
}

test('what a handler is done with is committed', async () => {
  expect(await committedWhen(() => undefined)).toBe(1);
});

test('a handler that returns after its partition was lost commits nothing: the record is the next owner’s', async () => {
  expect(await committedWhen((lose) => lose())).toBe(0);
});

/** An hour's tries. */
const TRIES = 720;
const RETRY_MS = 5_000;
/** What makes every backoff take no time. */
const NO_WAIT = () => -1;

test('an outage in ever other words is told once for each cause, then at growing intervals', async () => {
  const log = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, log);
  let tries = 0;
  const enough = Promise.withResolvers<void>();
  const outside = { logger, now: () => tries * RETRY_MS, random: NO_WAIT };
  const member = supervise(silentContext(outside), {
    group: 'image-gc',
    serve: () => {
      tries += 1;
      if (tries === TRIES) enough.resolve();
      const code = tries % 3 === 0 ? 'GROUP_LOST' : 'LOG_UNREACHABLE';
      return Promise.reject(new FleetGcError(code, `failed in the way of try ${tries}`));
    },
    leave: async () => undefined,
  });

  await enough.promise;
  await member.stop();

  // After 0, 10, 30, 70, 150 s and so on.
  const told = 10;
  expect(log.lines.length).toBeLessThanOrEqual(2 * told);
  expect(log.lines.filter((line) => !line.includes('still, '))).toHaveLength(2);
});
