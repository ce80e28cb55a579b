import { expect, test } from 'vitest';
import { supervise } from '../../../packages/event-log/supervisor.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines } from '../../support/log-lines.ts';
import { silentContext } from './probe.ts';

/** An hour's tries. */
const TRIES = 720;
const RETRY_MS = 5_000;
/** What makes every back-off take no time. */
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
