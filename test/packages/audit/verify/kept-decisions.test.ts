import { expect, test } from 'vitest';
import { chained, type ManifestContent } from '../../../../packages/archive/manifest.ts';
import { AROUND_MS } from '../../../../packages/audit/verify/coverage.ts';
import {
  headedBeforeMs,
  keepsAsDeclared,
  keptInArchive,
  keptOnLog,
  lostFrom,
} from '../../../../packages/audit/verify/decision-heads.ts';
import type { TopicDifference } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { HOUR, NOW } from '../../../fixtures/time.ts';

const { name, retentionMs } = TOPICS.decisions;
const WHOLE = { fromMs: null, toMs: null };
const OLDEST = NOW - retentionMs + HOUR;

test('on the log decisions are kept as long as is declared, or from when they are asked for', () => {
  const sure = { nowMs: NOW, keepsAsDeclared: true };
  expect(keptOnLog(WHOLE, sure)).toEqual({
    expectedFromMs: OLDEST,
    certainFromMs: OLDEST,
    readToMs: Number.POSITIVE_INFINITY,
  });
  const late = { fromMs: NOW - HOUR, toMs: null };
  expect(keptOnLog(late, sure)).toMatchObject({ expectedFromMs: NOW - HOUR, certainFromMs: NOW - HOUR });
  const unsure = { nowMs: NOW, keepsAsDeclared: false };
  expect(keptOnLog(WHOLE, unsure)).toMatchObject({
    expectedFromMs: OLDEST,
    certainFromMs: Number.POSITIVE_INFINITY,
  });
});

const linesOf = (...contents: readonly ManifestContent[]) =>
  contents.map((content) => chained(content, null));
const BEGUN = { kind: 'archive', version: 2, begunAtMs: NOW } as const;

test('an archive has all since it was begun, and of what was before as much as the log had', () => {
  expect(keptInArchive(WHOLE, linesOf(BEGUN))).toMatchObject({ expectedFromMs: OLDEST, certainFromMs: NOW });
  const late = { fromMs: NOW + HOUR, toMs: NOW + 2 * HOUR };
  expect(keptInArchive(late, linesOf(BEGUN))).toEqual({
    expectedFromMs: NOW + HOUR,
    certainFromMs: NOW + HOUR,
    readToMs: NOW + 2 * HOUR + AROUND_MS,
  });
});

test('heads are to name what is twenty minutes older than the end, and in an archive than its newest head', () => {
  expect(headedBeforeMs(WHOLE, NOW, null)).toBe(NOW - AROUND_MS);
  expect(headedBeforeMs({ fromMs: null, toMs: NOW - HOUR }, NOW, null)).toBe(NOW - HOUR - AROUND_MS);
  const file = { kind: 'file', partition: 0, firstOffset: '0', lastOffset: '0', file: 'a' } as const;
  const times = { oldestMs: 0, lastMs: 0, sha256: 'a'.repeat(64), sizeBytes: 1, rows: 1 };
  const lines = linesOf(
    BEGUN,
    { ...file, ...times, topic: TOPICS.heads.name, newestMs: NOW - HOUR },
    { ...file, ...times, topic: name, newestMs: NOW },
  );
  expect(headedBeforeMs(WHOLE, NOW + HOUR, lines)).toBe(NOW - HOUR - AROUND_MS);
});

test('what was lost before it was archived is known from the manifest', () => {
  const gap = { kind: 'gap', partition: 7, firstOffset: '3', lastOffset: '5', notedAtMs: NOW } as const;
  const lines = linesOf(BEGUN, { ...gap, topic: name }, { ...gap, topic: TOPICS.commands.name });
  expect(lostFrom('decisions', lines)).toEqual([{ partition: 7, first: 3n, last: 5n }]);
});

const differing = (found: string, over: Partial<TopicDifference> = {}): TopicDifference => ({
  topic: name,
  name,
  kind: 'config',
  expected: '',
  found,
  message: '',
  ...over,
});

test.each([
  { name: 'no difference', differences: [], keeps: true },
  { name: 'another number of copies', differences: [differing('1 copy')], keeps: true },
  {
    name: 'another topic that keeps less',
    differences: [differing('retention.ms=1', { topic: TOPICS.results.name })],
    keeps: true,
  },
  { name: 'a longer time', differences: [differing(`retention.ms=${2 * retentionMs}`)], keeps: true },
  { name: 'for ever', differences: [differing('retention.ms=-1')], keeps: true },
  { name: 'a shorter time', differences: [differing(`retention.ms=${retentionMs - 1}`)], keeps: false },
  {
    name: 'a setting that the broker does not tell',
    differences: [differing('retention.ms=')],
    keeps: false,
  },
  { name: 'a limit of size', differences: [differing('retention.bytes=1000000000')], keeps: false },
  { name: 'a compacted topic', differences: [differing('cleanup.policy=compact')], keeps: false },
  { name: 'no topic', differences: [differing('no such topic', { kind: 'missing' })], keeps: false },
])('whether decisions are kept as declared, of a log with $name', async ({ differences, keeps }) => {
  expect(await keepsAsDeclared({ checkTopics: async () => differences })).toBe(keeps);
});

test('of a log that does not say how it is set up nobody knows', async () => {
  const refusing = (code: 'LOG_UNAUTHORIZED' | 'INTERRUPTED') => ({
    checkTopics: () => Promise.reject(new FleetGcError(code, 'no')),
  });
  expect(await keepsAsDeclared(refusing('LOG_UNAUTHORIZED'))).toBe(false);
  await expect(keepsAsDeclared(refusing('INTERRUPTED'))).rejects.toThrow('no');
});
