import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ArchiveRun, followLog } from '../../../packages/archive/archive-log.ts';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { LogReader, LogRecord } from '../../../packages/log/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { recordOf } from '../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { archived, logOf, NOTED_MS, recordsOf } from '../audit/support/archives.ts';

const at = (offset: number): LogRecord =>
  recordOf(nodeOutput('inventory', inventory({ id: `i${offset}` })), {
    offset: BigInt(offset),
    partition: 3,
    timestampMs: 1_000 + offset,
  });

/** What happens while the archiver waits, in order; after the last it is told to stop. */
type Meanwhile = readonly (() => void)[];

interface Followed {
  readonly runs: readonly ArchiveRun[];
  readonly failures: readonly string[];
  readonly waits: readonly number[];
  /** `<partition>@<time>`, of inventories. */
  readonly reached: readonly string[];
}

async function followed(log: LogReader, directory: string, meanwhile: Meanwhile = []): Promise<Followed> {
  const stopping = new AbortController();
  const steps = [...meanwhile];
  const found = {
    runs: [] as ArchiveRun[],
    failures: [] as string[],
    waits: [] as number[],
    reached: [] as string[],
  };
  await followLog(
    {
      log,
      place: directory,
      everyMs: 900_000,
      now: () => NOTED_MS,
      newId: () => 'an-archive',
      signer: null,
      wait: async (ms) => {
        found.waits.push(ms);
        const step = steps.shift();
        if (step === undefined) stopping.abort();
        else step();
      },
      onProgress: () => undefined,
      onRun: (run) => void found.runs.push(run),
      onFailure: ({ code }) => void found.failures.push(code),
      onReached: ({ topic, partition }, sinceMs) => {
        if (topic === TOPICS.inventory.name && partition === 3) found.reached.push(`${sinceMs}`);
      },
    },
    stopping.signal,
  );
  return found;
}

async function offsetsIn(directory: string): Promise<number[]> {
  await using archive = await openArchiveLog(directory);
  return (await recordsOf(archive)).map(({ offset }) => Number(offset));
}

test('pass after pass takes what came since, until it is told to stop', async () => {
  const directory = temporaryDirectory();
  const records = [at(0), at(1)];
  const { runs, waits } = await followed(logOf(records), directory, [
    () => void records.push(at(2)),
    () => undefined,
  ]);

  expect(runs.map((run) => run.records)).toEqual([2, 1, 0]);
  expect(waits).toEqual([900_000, 900_000, 900_000]);
  expect(await offsetsIn(directory)).toEqual([0, 1, 2]);
});

test('what may pass is tried again, also after half a file was written', async () => {
  const directory = temporaryDirectory();
  let isAway = true;
  const log: LogReader = {
    read: (request) => {
      if (isAway) throw new FleetGcError('LOG_UNREACHABLE', 'away');
      return logOf([at(0)]).read(request);
    },
  };
  const { runs, failures, waits } = await followed(log, directory, [
    () => {
      isAway = false;
      writeFileSync(join(directory, '003-0.parquet.unfinished'), 'half');
    },
  ]);

  expect({ failures, waits }).toEqual({ failures: ['LOG_UNREACHABLE'], waits: [60_000, 900_000] });
  expect(runs.map((run) => run.records)).toEqual([1]);
});

test('a disk that cannot be written to is tried again, and loses nothing', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([]), directory);
  const inTheWay = join(directory, 'records');
  writeFileSync(inTheWay, '');

  expect(await followed(logOf([at(0)]), directory, [() => rmSync(inTheWay)])).toMatchObject({
    failures: ['STATE_UNWRITABLE'],
    runs: [{ records: 1 }],
  });
});

test('another log ends it', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([at(0), at(1)]), directory);

  await expect(followed(logOf([at(0)]), directory)).rejects.toMatchObject({ code: 'TOPICS_RECREATED' });
});

test('how old what waits is, is known before anything is archived, and after each file', async () => {
  const directory = temporaryDirectory();
  await archived(logOf([at(0)]), directory);

  expect(await followed(logOf([at(0), at(5), at(6)]), directory)).toMatchObject({
    reached: ['1005', '1006', `${NOTED_MS}`],
    runs: [{ records: 2, lost: [{ firstOffset: 1n, lastOffset: 4n }] }],
  });
});
