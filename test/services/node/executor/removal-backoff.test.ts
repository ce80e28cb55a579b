import { expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import {
  BACKOFF_BYTES,
  BackoffFile,
  MAX_BACKOFF_MS,
  MAX_BACKOFF_OBJECTS,
} from '../../../../schemas/state/removal-backoff.ts';
import {
  afterFailure,
  type BackoffEntry,
  backingOff,
  openBackoff,
} from '../../../../services/node/executor/backoff.ts';
import { MINUTE, NOW } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { diskFull, memoryState } from './support/memory-state.ts';

const IMAGE = { kind: 'image', id: 'sha256:a' } as const;
const logger = () => createLogger({ service: 'test', level: 'info' }, logLines());

test('[M17, M33] doubles from one minute to one hour', () => {
  let table: readonly BackoffEntry[] = [];
  const waits = Array.from({ length: 9 }, () => {
    table = afterFailure(table, IMAGE, NOW);
    return ((table[0]?.untilMs ?? 0) - NOW) / MINUTE;
  });
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  expect(table).toMatchObject([{ failures: 9 }]);
});

test('keeps an object until the very end, and not from beyond the longest wait', () => {
  const table = [{ ...IMAGE, failures: 1, untilMs: NOW }];
  expect(backingOff(table, IMAGE, NOW - 1)).toBeDefined();
  expect(backingOff(table, IMAGE, NOW)).toBeUndefined();
  expect(backingOff(table, IMAGE, NOW - MAX_BACKOFF_MS)).toBeDefined();
  expect(backingOff(table, IMAGE, NOW - MAX_BACKOFF_MS - 1)).toBeUndefined();
  expect(backingOff(table, { ...IMAGE, kind: 'container' }, NOW - 1)).toBeUndefined();
});

test('is kept over a restart, where the agent finds it, and forgets what went', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  openBackoff(state, logger()).failed(IMAGE, NOW);
  const restarted = openBackoff(state, logger());
  expect(restarted.failed(IMAGE, NOW)).toEqual({ ...IMAGE, failures: 2, untilMs: NOW + 2 * MINUTE });
  expect(state.openReadOnly('backoff', BackoffFile).read()?.objects).toEqual(restarted.entries());
  restarted.forget(IMAGE);
  expect(openBackoff(state, logger()).entries()).toEqual([]);
});

test('holds in memory when the disk is full', () => {
  const state = memoryState();
  state.beforeWrite = diskFull;
  const table = openBackoff(state, logger());
  table.failed(IMAGE, NOW);
  expect(backingOff(table.entries(), IMAGE, NOW)).toBeDefined();
});

test('has room for as many objects as it remembers, and forgets those that may be tried first', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const lines = logLines();
  const table = openBackoff(state, createLogger({ service: 'test', level: 'info' }, lines));
  const idOf = (n: number) => `${n}-`.padEnd(250, 'x');
  let entries: readonly BackoffEntry[] = [];
  for (let n = 0; n <= MAX_BACKOFF_OBJECTS; n++) {
    entries = afterFailure(entries, { kind: 'container', id: idOf(n) }, NOW + n);
  }
  expect(entries).toHaveLength(MAX_BACKOFF_OBJECTS);
  expect(entries.some(({ id }) => id === idOf(0))).toBe(false);
  expect(JSON.stringify({ version: 1, objects: entries }).length).toBeLessThan(BACKOFF_BYTES);
  table.failed(IMAGE, NOW);
  expect(lines.lines).toEqual([]);
});
