import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, stoppedInProcess } from '../../fleetgc.ts';

const MAY_BE_THERE =
  'stopping\nfleetgc topics create: stopped before the event log had acknowledged the topics: some may be there. Run the same command again: it creates those that are missing\n';

test('stopped while it creates topics, it says that some may be there, and a second one creates the rest', async () => {
  const args = ['topics', 'create', '--log', 'embedded', '--log-path', join(temporaryDirectory(), 'log.db')];

  expect(await stoppedInProcess(args, { signal: 'SIGINT', once: () => true })).toEqual({
    exitCode: 130,
    stdout: '',
    stderr: MAY_BE_THERE,
  });
  expect(await inProcess(args)).toMatchObject({ exitCode: 0, stderr: '' });
});
