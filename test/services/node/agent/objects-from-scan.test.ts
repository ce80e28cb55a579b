import { expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { BACKOFF_BYTES, BACKOFF_FILE, BackoffFile } from '../../../../schemas/state/removal-backoff.ts';
import { backoffReader } from '../../../../services/node/agent/executor-files.ts';
import { logLines } from '../../../support/log-lines.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const quiet = () => {
  const log = logLines();
  return { log, logger: createLogger({ service: 'node-agent', level: 'debug' }, log) };
};

test('the executor’s backoff table is read as it is, from a file that need not be there yet', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const read = backoffReader(state, quiet().logger);
  expect(read()).toEqual([]);
  const objects: BackoffFile['objects'] = [{ kind: 'image', id: 'a', failures: 1, untilMs: 5 }];
  state.open(BACKOFF_FILE, BACKOFF_BYTES, BackoffFile).write({ version: 1, objects });
  expect(read()).toEqual(objects);
});

test('a backoff table that cannot be read is no table, and is said once', () => {
  const { log, logger } = quiet();
  const read = backoffReader(
    {
      openReadOnly: () => ({
        read: () => {
          throw new FleetGcError('STATE_UNREADABLE', 'damaged');
        },
      }),
    },
    logger,
  );
  expect([read(), read()]).toEqual([[], []]);
  expect(log.lines.filter((line) => line.includes('damaged'))).toHaveLength(1);
});
