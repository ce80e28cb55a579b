import { ftruncateSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { withOwnFile, withOwnOrNewFile, writeAll } from '../../files/open-file.ts';
import type { LogRecord } from '../../log/port.ts';
import { systemProblem } from '../../process/system-problem.ts';
import type { Handled } from '../decide.ts';

/** Which message a process had in hand when it ended, and how many processes ended so. */
const Mark = z.object({
  topic: z.string(),
  partition: z.int(),
  offset: z.string(),
  timestampMs: z.number(),
  deaths: z.int().positive(),
});
type Mark = z.infer<typeof Mark>;

/** Remembers beside a node's other state which message is in hand, since whoever reads for one key commits nothing. */
export interface CrashMarks {
  /** Processes that ended while they had it in hand. */
  deathsOf(record: LogRecord): number;
  /** What may end the process comes after it. */
  begin(record: LogRecord): void;
  /** The process has lived through it. */
  end(): void;
}

/** Where nobody counts. */
export const NO_MARKS: CrashMarks = { deathsOf: () => 0, begin: () => undefined, end: () => undefined };

/**
 * One file of a state directory. What is written outlives the process, and is not synced: a power cut is no death. A disk
 * that is full or broken costs the count and nothing else.
 */
export function openCrashMarks(directory: string, name: string, logger: Logger): CrashMarks {
  const path = join(directory, name);
  const found = readMark(path);
  let isWorking = true;
  const write = (mark: Mark | null): void => {
    try {
      replace(path, mark === null ? '' : JSON.stringify(mark));
      isWorking = true;
    } catch (error) {
      if (isWorking)
        logger.warn(
          { problem: systemProblem(error) ?? String(error) },
          `${path} cannot be written: should a message end this process, nobody counts it`,
        );
      isWorking = false;
    }
  };
  const deathsOf = (record: LogRecord): number => (found !== null && isOf(found, record) ? found.deaths : 0);
  return {
    deathsOf,
    begin: (record) => write({ ...placeOf(record), deaths: deathsOf(record) + 1 }),
    end: () => write(null),
  };
}

/** What is there and cannot be read counts for nothing: it says of no message that it is to blame. */
function readMark(path: string): Mark | null {
  try {
    return Mark.parse(JSON.parse(withOwnFile(path, 'read', (file) => readFileSync(file, 'utf8'))));
  } catch {
    return null;
  }
}

const replace = (path: string, text: string): void =>
  withOwnOrNewFile(path, 'read-write', (file) => {
    ftruncateSync(file, 0);
    writeAll(file, Buffer.from(text));
  });

const placeOf = ({ topic, partition, offset, timestampMs }: LogRecord): Omit<Mark, 'deaths'> => ({
  topic,
  partition,
  offset: String(offset),
  timestampMs,
});

const isOf = (mark: Mark, record: LogRecord): boolean => {
  const { topic, partition, offset, timestampMs } = placeOf(record);
  return (
    mark.topic === topic &&
    mark.partition === partition &&
    mark.offset === offset &&
    mark.timestampMs === timestampMs
  );
};

/**
 * A process may end for many reasons while it has a message in hand; hardly twice over the same.
 * @limit Process crashes on one message before it is skipped.
 */
const MOST_DEATHS = 2;

export const isDeadly = (deaths: number): boolean => deaths >= MOST_DEATHS;

/** It is given up, and not even parsed. */
export const giveUp = (record: LogRecord, deaths: number): Handled => ({
  record,
  stages: [],
  failure: {
    record,
    cause: 'process-died',
    message: `${deaths} processes ended, or lost their place in the group, while they processed it, so it is skipped`,
  },
  isOvertaken: false,
});

/** Handles a record with its mark set, or gives it up where it has ended too many processes. */
export async function whileMarked(
  marks: CrashMarks,
  record: LogRecord,
  handle: () => Promise<Handled>,
): Promise<Handled> {
  const deaths = marks.deathsOf(record);
  if (isDeadly(deaths)) return giveUp(record, deaths);
  marks.begin(record);
  try {
    return await handle();
  } finally {
    marks.end();
  }
}
