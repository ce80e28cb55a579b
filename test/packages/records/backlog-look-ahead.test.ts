import { describe, expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogReader, LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createBacklogLookAhead } from '../../../packages/records/look-ahead.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { observe } from '../../fixtures/observe.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { logLines } from '../../support/log-lines.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { readableLog } from '../../support/logs/readable-log.ts';

const TOPIC = 'gc.node.disk-stats';
const reading = (number: number): LogRecord =>
  recordOf(
    nodeOutput('diskStats', {
      ...diskStats(),
      id: `m${number}`,
      takenAt: instant({ sinceBootMs: 24 * HOUR + number * MINUTE }),
    }),
    { offset: BigInt(number) },
  );
const BACKLOG = Array.from({ length: 400 }, (_, number) => reading(number));
const KEY = BACKLOG[0]?.key ?? null;
const still = new AbortController().signal;

/** A far look at a partition with so many records from `offset` of the slice on. */
function looking({ lag, log }: { readonly lag: () => number; readonly log?: LogReader }) {
  const readable = readableLog(BACKLOG);
  const out = logLines();
  const look = createBacklogLookAhead({
    parse: parseRecord,
    log: log ?? readable.log,
    state: async () => ({ lag: new Map([[`${TOPIC}/0`, lag()]]), assigned: [`${TOPIC}/0`] }),
    logger: createLogger({ service: 'test', level: 'info' }, out),
    yieldToEventLoop: async () => undefined,
  });
  /** The offset that is known to lie behind the slice `from` to `to`, both included. */
  const ahead = async (from: number, to: number, signal = still) =>
    (await look(BACKLOG.slice(from, to + 1), signal))(KEY)?.reference.offset ?? null;
  return { look, ahead, readings: readable.readings, out };
}

describe('the end of a backlog is read ahead', () => {
  test('of more than 128 records behind the slice', async () => {
    const { ahead, readings } = looking({ lag: () => 10 + 129 });
    expect(await ahead(0, 9)).toBe('138');
    expect(readings).toEqual(['135-139']);
  });

  test('of no fewer', async () => {
    const { ahead, readings } = looking({ lag: () => 10 + 128 });
    expect(await ahead(0, 9)).toBeNull();
    expect(readings).toEqual([]);
  });

  test('once for all slices before it, also for one that comes again', async () => {
    const { ahead, readings } = looking({ lag: () => 400 });
    for (const [from, to] of [
      [0, 9],
      [0, 9],
      [10, 99],
      [100, 390],
    ] as const)
      expect(await ahead(from, to)).toBe('399');
    expect(readings).toHaveLength(1);
  });

  test('once more when its end was reached, and much has come since', async () => {
    let lag = 200;
    const { ahead, readings } = looking({ lag: () => lag });
    expect(await ahead(0, 9)).toBe('199');
    lag = 210;
    expect(await ahead(190, 200)).toBe('399');
    expect(readings).toHaveLength(2);
  });

  test('anew where the partition goes back: it was created anew', async () => {
    const { ahead, readings } = looking({ lag: () => 300 });
    expect(await ahead(20, 29)).toBe('319');
    expect(await ahead(0, 9)).toBe('299');
    expect(readings).toHaveLength(2);
  });
});

describe('nothing is known', () => {
  test('of topics whose messages are never overtaken', async () => {
    const { look, readings } = looking({ lag: () => 400 });
    const order = recordOf(nodeOutput('observe', observe()));
    expect((await look([order], still))(order.key)).toBeNull();
    expect(readings).toEqual([]);
  });

  test('where the log cannot be read: it is said once, and all is decided on', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it gives anything.
    const read = async function* () {
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker answers');
    };
    const { ahead, out } = looking({ lag: () => 400, log: { read } });
    expect(await ahead(0, 9)).toBeNull();
    expect(await ahead(10, 19)).toBeNull();
    expect(out.lines.join('').match(/nothing is passed over/g)).toHaveLength(1);
  });

  test('after a stop, and the next owner looks for itself', async () => {
    const { ahead, readings } = looking({ lag: () => 400 });
    expect(await ahead(0, 9, AbortSignal.abort())).toBeNull();
    expect(readings).toEqual([]);
    expect(await ahead(0, 9)).toBe('399');
  });
});

test('partitions are read ahead one after another', async () => {
  let running = 0;
  let most = 0;
  const { log } = readableLog(BACKLOG);
  const counted: LogReader = {
    read: async function* (request, signal) {
      running += 1;
      most = Math.max(most, running);
      yield* log.read(request, signal);
      running -= 1;
    },
  };
  const look = createBacklogLookAhead({
    parse: parseRecord,
    log: counted,
    state: async () => ({ lag: new Map([0, 1, 2].map((n) => [`${TOPIC}/${n}`, 400])), assigned: [] }),
    logger: createLogger({ service: 'test', level: 'info' }, logLines()),
    yieldToEventLoop: async () => undefined,
  });
  await Promise.all([0, 1, 2].map((partition) => look([{ ...reading(0), partition }], still)));
  expect(most).toBe(1);
});
