import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPOSITORY, textOf } from '../deploy/files.ts';

const page = textOf('docs/how-it-works/limits-and-times.md');

interface Row {
  readonly what: string;
  readonly constants: readonly string[];
  readonly file: string;
  readonly trap: string;
}

const rows = page
  .split('\n')
  .filter((line) => /^\| (?!what \||--- )/.test(line))
  .map(rowOf);

function rowOf(line: string): Row {
  const [what = '', constants = '', file = '', trap = ''] = line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
  return { what, constants: codeIn(constants), file: codeIn(file)[0] ?? '', trap };
}

function codeIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

const sources = globSync('{cli,packages,schemas,services,lab}/**/*.ts', { cwd: REPOSITORY }).map((path) => ({
  path,
  text: textOf(path),
}));

const KIND =
  /^(?:export )?const ((?:MAX|MOST|MIN|LONGEST|LARGEST)_\w+|[A-Z]\w*_(?:MS|BYTES|SECONDS|PERCENT|LINES|ROWS|COUNT|TRIES))\b/gm;

const limits = sources.flatMap(({ path, text }) =>
  [...text.matchAll(KIND)].map(([, name]) => `${path} ${name}`),
);

/** Limits that nobody wants to change: they follow from something else, or only spare work. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  'factors between units': [
    'packages/process/durations.ts SECOND_MS',
    'packages/process/durations.ts MINUTE_MS',
    'packages/process/durations.ts HOUR_MS',
    'packages/process/durations.ts DAY_MS',
    'schemas/events/topics.ts DAY_MS',
    'packages/deciders/expiry-gc/rules/due.ts MINUTE_MS',
    'packages/deciders/expiry-gc/rules/due.ts HOUR_MS',
    'packages/deciders/expiry-gc/rules/due.ts GREATER_MS',
    'packages/deciders/expiry-gc/rules/own-rules.ts UNITS_MS',
    'schemas/policy/quantity.ts NS_PER_MS',
    'packages/deciders/container-gc/rules/age.ts NS_PER_MS',
    'services/node/executor/checks.ts NS_PER_MS',
    'lab/sim/fleet/node.ts NS_PER_MS',
  ],
  'what numbers and dates of a language or a protocol hold': [
    'schemas/events/filesystem.ts LARGEST_UINT64',
    'schemas/keys/key-statement.ts LAST_TIME_MS',
    'schemas/policy/eviction.ts LARGEST_PERCENT',
    'schemas/policy/quantity.ts MAX_INT64',
    'schemas/policy/quantity.ts MAX_EXPONENT',
    'schemas/policy/written-values.ts MAX_INT32',
    'packages/decision/conclusion.ts MOST_BYTES',
    'packages/log/kafka/protocol/record-batches.ts MOST_VARINT_BYTES',
    'packages/process/trace.ts MAX_TRACESTATE_LENGTH',
    'packages/process/trace.ts MAX_TRACEPARENT_LENGTH',
    'packages/kube-api/server-clock.ts DATE_RESOLUTION_MS',
  ],
  'a pattern, not a limit': ['schemas/policy/quantity.ts NUMBER_OF_PERCENT'],
  'forms on a disk': [
    'packages/log/embedded/file.ts PAGE_BYTES',
    'packages/files/fixed-file.ts CHECKED_HEADER_BYTES',
    'packages/files/fixed-file.ts HEADER_BYTES',
    'packages/files/fixed-file.ts BLOCK_BYTES',
    'packages/machine/state-directory.ts IDENTITY_BYTES',
  ],
  'sizes of buffers, and what things take in memory': [
    'packages/log/kafka/protocol/compression.ts LEAST_CHUNK_BYTES',
    'packages/log/kafka/protocol/record-batches.ts RECORD_BYTES',
    'packages/log/kafka/protocol/record-batches.ts HEADER_BYTES',
    'packages/process/options/named-file.ts PIPE_CHUNK_BYTES',
    'packages/process/options/named-file.ts WAIT_MS',
    'packages/process/options/named-file.ts FILE_CHUNK_BYTES',
    'packages/records/decide.ts NO_BYTES',
    'packages/process/system-sources.ts POOL_BYTES',
    'packages/archive/directory-store.ts SMALL_BYTES',
    'packages/archive/read-archive.ts MOST_INLINE_BYTES',
    'packages/archive/names.ts LEAST_ROOM_BYTES',
    'packages/audit/verify/decisions.ts LOOKED_AT_BYTES',
  ],
  'stand for "one batch" and "for ever"': [
    'packages/log/kafka/fetcher.ts ONE_BATCH_BYTES',
    'services/node/plan/live-inventory.ts LONG_MS',
  ],
};

const leftOut = Object.values(LEFT_OUT).flat();
const told = rows.flatMap(({ constants, file }) => constants.map((name) => `${file} ${name}`));

test('every row has words, a constant and a file that has it', () => {
  expect(rows.length).toBeGreaterThan(150);
  expect(rows.filter(({ what, constants }) => what === '' || constants.length === 0)).toEqual([]);
  const missing = rows.flatMap(({ constants, file }) =>
    constants.filter((name) => !new RegExp(`\\b${name}\\b`).test(textOf(file))),
  );
  expect(missing).toEqual([]);
});

test('no constant has two rows', () => {
  expect(told.filter((constant, index) => told.indexOf(constant) !== index)).toEqual([]);
});

test('every limit has a row, or a reason to have none', () => {
  const known = new Set([...told, ...leftOut]);
  expect(limits.filter((limit) => !known.has(limit))).toEqual([]);
});

test('what is left out exists and has no row', () => {
  expect(leftOut.filter((limit) => !limits.includes(limit) || told.includes(limit))).toEqual([]);
});

test('the constants that a trap names exist', () => {
  const named = rows.flatMap(({ trap }) => codeIn(trap).filter((code) => /^[A-Z][A-Z0-9_]+$/.test(code)));
  const words = new Set(sources.flatMap(({ text }) => text.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []));
  expect(named.filter((name) => !words.has(name))).toEqual([]);
});
