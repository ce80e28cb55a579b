import { expect, test } from 'vitest';
import { stoppedInProcess, withoutProgress } from '../../fleetgc.ts';
import { NO_BROKER } from '../../service-options.ts';

test('stopped while it waits for brokers, topics create says that some topics may be there', async () => {
  const { stderr, ...ended } = await stoppedInProcess(['topics', 'create', '--wait', '1h', ...NO_BROKER], {
    signal: 'SIGINT',
    once: (text) => text.includes(' Waiting for it'),
  });

  expect({ ...ended, stderr: withoutProgress(stderr) }).toEqual({
    exitCode: 130,
    stdout: '',
    stderr:
      'stopping\nfleetgc topics create: stopped before the event log had acknowledged the topics: some may be there. Run the same command again: it creates those that are missing\n',
  });
});
