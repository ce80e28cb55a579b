import { expect, test } from 'vitest';
import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import { openStateDirectory } from '../../../packages/machine/state-directory.ts';
import { pause } from '../../../packages/process/back-off.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { BACKOFF_BYTES, BACKOFF_FILE, BackoffFile } from '../../../schemas/state/backoff.ts';
import { watchDeaths } from '../../../services/node-agent/death-watch.ts';
import { backoffReader } from '../../../services/node-agent/inventory/inventory-objects.ts';
import { createBell, every, together } from '../../../services/node-agent/repeat.ts';
import { logLines } from '../../support/log-lines.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const never = new AbortController().signal;
const quiet = () => {
  const log = logLines();
  return { log, logger: createLogger({ service: 'node-agent', level: 'debug' }, log) };
};

test('the executor’s back-off table is read as it is, from a file that need not be there yet', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const read = backoffReader(state, quiet().logger);
  expect(read()).toEqual([]);
  const objects: BackoffFile['objects'] = [{ kind: 'image', id: 'a', failures: 1, untilMs: 5 }];
  state.open(BACKOFF_FILE, BACKOFF_BYTES, BackoffFile).write({ version: 1, objects });
  expect(read()).toEqual(objects);
});

test('a back-off table that cannot be read is no table, and is said once', () => {
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

test('deaths are told from the runtime’s events, over broken streams, until a runtime has none', async () => {
  const deaths: string[] = [];
  const streams: (RuntimeContainerEvent[] | FleetGcError)[] = [
    [
      { containerId: 'a', kind: 'started' },
      { containerId: 'a', kind: 'stopped' },
    ],
    new FleetGcError('RUNTIME_MISSING', 'gone'),
    [{ containerId: 'b', kind: 'stopped' }],
    new FleetGcError('RUNTIME_UNSUPPORTED', 'none'),
  ];
  const waits: number[] = [];
  await watchDeaths(
    {
      runtime: {
        containerEvents: async function* () {
          const next = streams.shift() ?? [];
          if (next instanceof FleetGcError) throw next;
          yield* next;
        },
      },
      onDeath: (id) => deaths.push(id),
      sleep: async (ms) => void waits.push(ms),
      logger: quiet().logger,
    },
    never,
  );
  expect(deaths).toEqual(['a', 'b']);
  expect(waits).toEqual([10_000, 10_000, 10_000]);
});

test('a runtime that ends each stream at once, as CRI-O does without pod events, is told once and asked ever less often', async () => {
  const ending = new AbortController();
  const waits: number[] = [];
  const { log, logger } = quiet();
  await watchDeaths(
    {
      runtime: {
        containerEvents: async function* () {
          if (waits.length === 9) yield { containerId: 'a', kind: 'started' };
        },
      },
      onDeath: () => undefined,
      sleep: async (ms) => {
        waits.push(ms);
        if (waits.length === 11) ending.abort();
      },
      logger,
    },
    ending.signal,
  );
  const seconds = waits.map((ms) => ms / 1000);
  expect(seconds).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600, 10, 10]);
  expect(log.lines.filter((line) => line.includes('deaths are seen by detection'))).toHaveLength(1);
});

test('a bell that rang before anybody waited ends the next wait, and only that', async () => {
  const bell = createBell(pause);
  bell.ring();
  bell.ring();
  await bell.wait(60_000, never);
  const second = bell.wait(60_000, never);
  bell.ring();
  await second;
});

test('loops end together: when told to, or all when one fails, with its error', async () => {
  const ended: string[] = [];
  const loop = (name: string) => async (signal: AbortSignal) => {
    await every(1, () => undefined, { sleep: pause, signal });
    ended.push(name);
  };
  const stop = new AbortController();
  const running = together([loop('a'), loop('b')], stop.signal);
  stop.abort();
  await running;
  await expect(together([loop('c'), () => Promise.reject(new TypeError('bug'))], never)).rejects.toThrow(
    'bug',
  );
  expect(ended.toSorted()).toEqual(['a', 'b', 'c']);
});
