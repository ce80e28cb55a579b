import { expect, test } from 'vitest';
import type { RuntimeContainerEvent } from '../../../../packages/cri/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { watchDeaths } from '../../../../services/node/agent/agent.ts';
import { logLines } from '../../../support/log-lines.ts';

const never = new AbortController().signal;
const quiet = () => {
  const log = logLines();
  return { log, logger: createLogger({ service: 'node-agent', level: 'debug' }, log) };
};

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
