import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStateDirectory, type StateDirectory } from '../../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import {
  type History,
  openHistory,
  type RemovedImage,
  readHistory,
} from '../../../../services/node/agent/history.ts';
import { HOUR, MINUTE, SECOND } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { BOOT_A, BOOT_B, type ManualClock, manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MACHINE = '3d1219c7c4c5404aaa1f6d2a48adfda4';

function setUp(path = temporaryDirectory()) {
  const clock = manualClock();
  const log = logLines();
  const removed: RemovedImage[] = [];
  const logger = createLogger({ service: 'node-agent', level: 'info' }, log);
  const open = (state: Pick<StateDirectory, 'open'> = openStateDirectory(path, MACHINE)): History =>
    openHistory({ state, now: clock.now(), removed: () => removed, logger });
  return { path, clock, log, open, removed };
}

const image = (id: string) => ({ id, runtimeHandler: '' });
const look = (history: History, clock: ManualClock, ids: string[], inUse: string[] = []) =>
  history.detect(ids.map(image), new Set(inUse), clock.now()).records;
const ageMs = (clock: ManualClock, record: { readonly firstDetectedMs: number } | undefined) =>
  record && clock.now().sinceBootMs - record.firstDetectedMs;

test('[M1, C14] without a record every image at start is just detected', () => {
  const { clock, open } = setUp();
  const history = open();
  expect(history.unreadable).toBeNull();
  expect(look(history, clock, ['a']).get('a')).toEqual({
    firstDetectedMs: clock.now().sinceBootMs,
    lastUsedMs: null,
  });
});

test('[M1, M2] a restarted agent knows when it first detected and last saw used, and drops what vanished', () => {
  const { clock, open } = setUp();
  const first = open();
  look(first, clock, ['a', 'vanishes'], ['a']);
  clock.advance(HOUR);
  look(first, clock, ['a', 'vanishes']);
  first.save('due');

  clock.advance(MINUTE);
  const records = look(open(), clock, ['a', 'new']);
  expect(ageMs(clock, records.get('a'))).toBe(HOUR + MINUTE);
  expect(records.get('a')?.lastUsedMs).toBe(clock.now().sinceBootMs - HOUR - MINUTE);
  expect(ageMs(clock, records.get('new'))).toBe(0);
  expect(records.has('vanishes')).toBe(false);
});

test('[M2] over a reboot ages go on', () => {
  const { clock, open } = setUp();
  const first = open();
  look(first, clock, ['a']);
  clock.advance(HOUR);
  look(first, clock, ['a']);
  first.save('end');

  clock.reboot(BOOT_B, 5 * MINUTE);
  clock.advance(MINUTE);
  expect(ageMs(clock, look(open(), clock, ['a']).get('a'))).toBe(HOUR + MINUTE);
});

test('[C6] without a detection no record changes', () => {
  const { clock, open } = setUp();
  const history = open();
  look(history, clock, ['a', 'b'], ['b']);
  clock.advance(HOUR);
  history.save('due');
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(HOUR);
});

test('after a jump of the wall clock of more than a day every image is just detected', () => {
  const { clock, open } = setUp();
  const history = open();
  look(history, clock, ['a']);
  clock.advance(HOUR);
  clock.stepWall(25 * 365 * 24 * HOUR);
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(0);
  clock.advance(HOUR);
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(HOUR);
});

test('after such a jump the next save is due: an executor in a process of its own reads the file, and would count every image as just detected until it is written', () => {
  const { path, clock, open } = setUp();
  const history = open();
  look(history, clock, ['a']);
  history.save('due');
  clock.stepWall(25 * HOUR);
  look(history, clock, ['a']);
  history.save('due');

  clock.advance(10 * SECOND);
  const state = openStateDirectory(path, MACHINE);
  const executor = readHistory({ state, now: clock.now(), removed: () => [] });
  const { records } = executor.detect([image('a')], new Set(), clock.now());
  expect(ageMs(clock, records.get('a'))).toBe(10 * SECOND);
});

test('[M1] a damaged file means just detected, never older, and says so', () => {
  const { path, clock, log, open } = setUp();
  const first = open();
  look(first, clock, ['a']);
  first.save('end');
  clock.advance(HOUR);
  const file = join(path, IMAGE_HISTORY_FILE);
  writeFileSync(file, Buffer.alloc(readFileSync(file).length, 0xff));

  const history = open();
  expect(history.unreadable).toContain(IMAGE_HISTORY_FILE);
  expect(log.lines.join()).toContain('image history: starting afresh');
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(0);

  clock.advance(SECOND);
  history.save('end');
  expect(ageMs(clock, look(open(), clock, ['a']).get('a'))).toBe(SECOND);
});

test('a full disk costs the memory over a restart, is said once, and once more when it is over', () => {
  const { clock, log, open } = setUp();
  const [written, tried]: [unknown[], boolean[]] = [[], []];
  let full = true;
  const history = open({
    open: () => ({
      read: () => null,
      write: (value) => {
        tried.push(full);
        if (full) throw new FleetGcError('STATE_UNWRITABLE', 'no space left');
        written.push(value);
      },
    }),
  });
  for (const _ of [1, 2, 3]) {
    look(history, clock, ['a']);
    history.save('due');
    clock.advance(MINUTE);
  }
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(3 * MINUTE);
  expect(log.lines.filter((line) => line.includes('cannot be written'))).toHaveLength(1);

  full = false;
  history.save('due');
  expect(tried).toEqual([true, true, true, false]);
  expect(written).toHaveLength(1);
  expect(log.lines.filter((line) => line.includes('written again'))).toHaveLength(1);
});

test('a state directory that takes no new file costs the same', () => {
  const { clock, open } = setUp();
  const history = open({
    open: () => {
      throw new FleetGcError('STATE_UNWRITABLE', 'no space left');
    },
  });
  look(history, clock, ['a']);
  history.save('due');
  expect(history.unreadable).toContain('no space left');
});

test('the first detection is written in any case, and nothing before it', () => {
  const { path, clock, open } = setUp();
  const first = open();
  look(first, clock, ['a']);
  first.save('end');
  clock.reboot(BOOT_B, MINUTE);

  const file = openStateDirectory(path, MACHINE).openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile);
  const second = open();
  second.save('due');
  second.save('end');
  expect(file.read()?.at.bootId).toBe(BOOT_A);
  look(second, clock, ['a']);
  second.save('due');
  expect(file.read()?.at.bootId).toBe(BOOT_B);
});

test('what is new or gone is written with the next save, a later use at most once a minute, nothing twice', () => {
  const { clock, open } = setUp();
  let writes = 0;
  const history = open({ open: () => ({ read: () => null, write: () => void writes++ }) });
  const seen = (ids: string[], inUse: string[] = []): number => {
    clock.advance(10 * SECOND);
    look(history, clock, ids, inUse);
    history.save('due');
    return writes;
  };
  expect(seen(['a'])).toBe(1);
  expect(seen(['a'], ['a'])).toBe(1);
  expect(seen(['a', 'b'])).toBe(2);
  expect(seen(['b'])).toBe(3);
  for (const expected of [3, 3, 3, 3, 3, 4]) expect(seen(['b'], ['b'])).toBe(expected);
  history.save('end');
  expect(writes).toBe(4);
});

test.each<{ name: string; removedMs: number | null; bootId?: string; isNew: boolean }>([
  { name: 'never', removedMs: null, isNew: false },
  { name: 'before it was first detected', removedMs: -1, isNew: false },
  { name: 'when it was first detected', removedMs: 0, isNew: true },
  { name: 'after it was first detected', removedMs: SECOND, isNew: true },
  { name: 'in an earlier boot', removedMs: MINUTE, bootId: BOOT_B, isNew: false },
])('[C4] an image that was removed $name and is listed begins anew: $isNew', (given) => {
  const { clock, open, removed } = setUp();
  const history = open();
  const detectedMs = clock.now().sinceBootMs;
  look(history, clock, ['a', 'b'], ['a']);
  clock.advance(5 * SECOND);
  const { removedMs, bootId = BOOT_A, isNew } = given;
  if (removedMs !== null) removed.push({ id: 'a', bootId, sinceBootMs: detectedMs + removedMs });
  const records = look(history, clock, ['a', 'b']);
  expect(records.get('a')).toEqual(
    isNew
      ? { firstDetectedMs: clock.now().sinceBootMs, lastUsedMs: null }
      : { firstDetectedMs: detectedMs, lastUsedMs: detectedMs },
  );
  expect(records.get('b')?.firstDetectedMs).toBe(detectedMs);

  clock.advance(HOUR);
  expect(ageMs(clock, look(history, clock, ['a']).get('a'))).toBe(isNew ? HOUR : HOUR + 5 * SECOND);
});

test('[C4] over a reboot an image that was removed before it begins anew, once', () => {
  const { clock, open, removed } = setUp();
  const first = open();
  look(first, clock, ['a']);
  first.save('end');
  removed.push({ id: 'a', bootId: BOOT_A, sinceBootMs: clock.now().sinceBootMs + SECOND });
  clock.reboot(BOOT_B, MINUTE);
  clock.advance(MINUTE);
  const second = open();
  expect(ageMs(clock, look(second, clock, ['a']).get('a'))).toBe(0);
  clock.advance(HOUR);
  expect(ageMs(clock, look(second, clock, ['a']).get('a'))).toBe(HOUR);
});
