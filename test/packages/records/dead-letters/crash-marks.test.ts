import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../../packages/process/logger.ts';
import { openCrashMarks } from '../../../../packages/records/dead-letters/crash-marks.ts';
import { logLines } from '../../../support/log-lines.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { consumer, message } from '../consumer-under-test.ts';

const KEY = 'prod/web-1';
const at = (offset: bigint, over = {}) => message(`disks-${offset}`, {}, { key: KEY, offset, ...over });
const record = at(7n);

const quiet = createLogger({ service: 'test', level: 'silent' }, logLines());
const open = (directory: string) => openCrashMarks(directory, 'in-hand', quiet);

/** Each process begins with the record and ends there. */
function died(directory: string, times: number): void {
  for (let time = 0; time < times; time += 1) open(directory).begin(record);
}

test('a process that ends with a message in hand is counted, one that lived through it is not', () => {
  const directory = temporaryDirectory();
  expect(open(directory).deathsOf(record)).toBe(0);
  died(directory, 1);
  expect(open(directory).deathsOf(record)).toBe(1);
  died(directory, 1);
  expect(open(directory).deathsOf(record)).toBe(2);
  const alive = open(directory);
  alive.begin(record);
  alive.end();
  expect(open(directory).deathsOf(record)).toBe(0);
});

test.each([
  { name: 'at another offset', other: at(8n) },
  { name: 'at another time, of a topic that was made anew', other: at(7n, { timestampMs: 1 }) },
  { name: 'of another partition', other: at(7n, { partition: 1 }) },
  { name: 'of another topic', other: at(7n, { topic: 'gc.node.commands' }) },
])('no other message is blamed: $name', ({ other }) => {
  const directory = temporaryDirectory();
  died(directory, 2);
  const marks = open(directory);
  expect(marks.deathsOf(other)).toBe(0);
  marks.begin(other);
  expect(open(directory).deathsOf(other)).toBe(1);
});

test('what is damaged blames no message', () => {
  const directory = temporaryDirectory();
  for (const content of ['', '{"topic":', '[]', 'null', '\0\0\0']) {
    writeFileSync(join(directory, 'in-hand'), content);
    expect(open(directory).deathsOf(record)).toBe(0);
  }
});

test('where it cannot be written messages are processed all the same, and that is said once', () => {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'in-hand'));
  const out = logLines();
  const marks = openCrashMarks(directory, 'in-hand', createLogger({ service: 'test', level: 'warn' }, out));
  marks.begin(record);
  marks.end();
  expect(out.lines).toHaveLength(1);
  rmSync(join(directory, 'in-hand'), { recursive: true });
  marks.begin(record);
  expect(readdirSync(directory)).toEqual(['in-hand']);
  chmodSync(directory, 0o700);
});

test('a message over which two processes ended is passed over with a dead letter, and the next is processed', async () => {
  const directory = temporaryDirectory();
  const assignment = { kind: 'key', key: KEY, lookBackMs: 60_000 } as const;
  const handled: string[] = [];
  const run = async () => {
    const { log, deadCauses } = await consumer({ assignment, marks: open(directory) }, ({ event }) => {
      handled.push(event.id);
      return [];
    });
    await log.deliver([record, at(8n)]);
    return deadCauses();
  };
  died(directory, 1);
  expect(await run()).toEqual([]);
  expect(handled.splice(0)).toEqual(['disks-7', 'disks-8']);
  died(directory, 2);
  expect(await run()).toEqual(['process-died']);
  expect(handled).toEqual(['disks-8']);
});
