import { expect, test } from 'vitest';
import type { FilesystemReading, FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import { isWorthPublishing } from '../../../../services/node/agent/disks.ts';
import { filesystem, filesystems } from '../../../fixtures/filesystems.ts';

const last = (over: Partial<FilesystemReading> = {}) => ({ readings: filesystems(over), atMs: 1_000 });

test.each<{
  name: string;
  before?: Partial<FilesystemReading>;
  after: Partial<FilesystemReading>;
  expected: boolean;
}>([
  { name: 'nothing changed', after: {}, expected: false },
  {
    name: '[D6] usage within one whole percent',
    before: { availableBytes: '109' },
    after: { availableBytes: '100' },
    expected: false,
  },
  {
    name: '[D6] usage across a whole percent, by one byte',
    before: { availableBytes: '100' },
    after: { availableBytes: '99' },
    expected: true,
  },
  {
    name: 'a disk that grew and is as full as before',
    before: { capacityBytes: '1000', availableBytes: '500' },
    after: { capacityBytes: '2000', availableBytes: '1000' },
    expected: true,
  },
  {
    name: 'inodes across a whole percent',
    before: { inodesFree: '500' },
    after: { inodesFree: '499' },
    expected: true,
  },
  {
    name: 'a number of inodes that goes up and down, as on XFS',
    before: { inodes: '1000000', inodesFree: '505000' },
    after: { inodes: '1000100', inodesFree: '505100' },
    expected: false,
  },
  { name: 'a value that can no longer be had', after: { availableBytes: null }, expected: true },
  {
    name: 'a value that never could be had',
    before: { inodes: null },
    after: { inodes: null },
    expected: false,
  },
  { name: 'another device in its place', after: { device: '9:9' }, expected: true },
  {
    name: '[D5] capacity zero, unchanged',
    before: { capacityBytes: '0', availableBytes: '0' },
    after: { capacityBytes: '0', availableBytes: '0' },
    expected: false,
  },
  {
    name: '[D6] a change of one percent beyond 2^53',
    before: { capacityBytes: '18446744073709551615', availableBytes: '9223372036854775808' },
    after: { capacityBytes: '18446744073709551615', availableBytes: '9038904596117680292' },
    expected: true,
  },
])('published: $expected ($name)', ({ before = {}, after, expected }) => {
  expect(isWorthPublishing(last(before), filesystems(after), 2_000)).toBe(expected);
});

test.each<[string, FilesystemReadings, FilesystemReadings]>([
  ['goes', filesystems(), { ...filesystems(), imagefs: null }],
  ['comes', { ...filesystems(), nodefs: null }, filesystems()],
  [
    'of the containers alone changes',
    filesystems(),
    { ...filesystems(), containerfs: filesystem({ availableBytes: '10' }) },
  ],
])('published: a filesystem %s', (_name, before, after) => {
  expect(isWorthPublishing({ readings: before, atMs: 1_000 }, after, 1_001)).toBe(true);
});

test.each([
  ['the first reading', null, 0, true],
  ['59.999 s after the last', last(), 60_999, false],
  ['a minute after the last', last(), 61_000, true],
])('%s', (_name, published, nowMs, expected) => {
  expect(isWorthPublishing(published, filesystems(), nowMs)).toBe(expected);
});
