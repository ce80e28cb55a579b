import { expect, test } from 'vitest';
import type { EvictionThreshold } from '../../schemas/policy/eviction.ts';
import { Policy } from '../../schemas/policy/policy.ts';
import { PolicyFile } from '../../schemas/policy/policy-file.ts';

const given = (settings: object) => PolicyFile.safeParse({ name: 'web', mode: 'enforce', ...settings });
const problems = (settings: object) =>
  (given(settings).error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);

/** As in `hard nodefs.available 10%, more 1024 after 60000`. */
function thresholdsOf(settings: object): readonly string[] {
  const policy = Policy.parse(given(settings).data);
  return policy.evictionThresholds.map(textOf);
}

function textOf({ kind, signal, value, minimumReclaim, gracePeriodMs }: EvictionThreshold): string {
  const amount = (given: EvictionThreshold['minimumReclaim']) =>
    given === null ? '' : 'percent' in given ? `${given.percent}%` : given.quantity;
  const reclaim = minimumReclaim === null ? '' : `, more ${amount(minimumReclaim)}`;
  return `${kind} ${signal} ${amount(value)}${reclaim}${gracePeriodMs === 0 ? '' : ` after ${gracePeriodMs}`}`;
}

const hard = (value: unknown) => ({ evictionHard: { 'nodefs.available': value } });
const DEFAULTS = [
  'hard nodefs.available 10%',
  'hard nodefs.inodesFree 5%',
  'hard imagefs.available 15%',
  'hard imagefs.inodesFree 5%',
];

test.each<{ name: string; settings: object; thresholds: string[] }>([
  { name: '[B14] nothing written: the defaults', settings: {}, thresholds: DEFAULTS },
  { name: '[B14] the defaults in profile kubelet', settings: { profile: 'kubelet' }, thresholds: DEFAULTS },
  { name: '[B14] an empty map: none at all', settings: { evictionHard: {} }, thresholds: [] },
  {
    name: '[B14] one written by hand drops the others',
    settings: { evictionHard: { 'imagefs.available': '20%' } },
    thresholds: ['hard imagefs.available 20%'],
  },
  {
    name: '[B14] one of memory drops them too',
    settings: { evictionHard: { 'memory.available': '1Gi' } },
    thresholds: [],
  },
  {
    name: '[B14] merged, the others stay',
    settings: { evictionHard: { 'imagefs.available': '20%' }, mergeDefaultEvictionSettings: true },
    thresholds: DEFAULTS.with(2, 'hard imagefs.available 20%'),
  },
  {
    name: '[B14, B15] merged, one can be dropped all the same',
    settings: { evictionHard: { 'nodefs.available': '0%' }, mergeDefaultEvictionSettings: true },
    thresholds: DEFAULTS.slice(1),
  },
  {
    name: '[B14] soft thresholds leave the defaults of hard ones alone',
    settings: {
      evictionSoft: { 'nodefs.available': '15%' },
      evictionSoftGracePeriod: { 'nodefs.available': '1m30s' },
    },
    thresholds: [...DEFAULTS, 'soft nodefs.available 15% after 90000'],
  },
  {
    name: '[B15] a minimum reclaim belongs to every threshold of its signal',
    settings: {
      evictionHard: { 'imagefs.available': '1Gi' },
      evictionSoft: { 'imagefs.available': '2Gi' },
      evictionSoftGracePeriod: { 'imagefs.available': '1h58m' },
      evictionMinimumReclaim: { 'imagefs.available': '500Mi', 'nodefs.available': '1%' },
    },
    thresholds: [
      'hard imagefs.available 1073741824, more 524288000',
      'soft imagefs.available 2147483648, more 524288000 after 7080000',
    ],
  },
])('$name', ({ settings, thresholds }) => {
  expect(thresholdsOf(settings)).toEqual(thresholds);
});

test.each<{ value: string; threshold: string | undefined }>([
  { value: '0%', threshold: undefined },
  { value: '100%', threshold: undefined },
  { value: '0.0%', threshold: '0%' },
  { value: '100.0%', threshold: '100%' },
  { value: '12.5%', threshold: '12.5%' },
  { value: '+1e1%', threshold: '10%' },
  { value: '.5%', threshold: '0.5%' },
  { value: '1', threshold: '1' },
  { value: '1.5', threshold: '2' },
  { value: '1500m', threshold: '2' },
  { value: '10Gi', threshold: '10737418240' },
])('[B15] a threshold of $value is kept as $threshold', ({ value, threshold }) => {
  expect(thresholdsOf(hard(value))).toEqual(
    threshold === undefined ? [] : [`hard nodefs.available ${threshold}`],
  );
});

const NO_AMOUNT = 'must be a percentage or a quantity above 0 as text, such as 10% or "1Gi"';
test.each<{ value: unknown; says: string }>([
  { value: '-1%', says: 'must be at least 0%' },
  { value: '100.1%', says: 'must be at most 100%' },
  { value: '1e38%', says: 'must be at most 100%' },
  { value: '1e300%', says: NO_AMOUNT },
  { value: '0', says: 'must be above 0' },
  { value: '-1Gi', says: NO_AMOUNT },
  { value: 'NaN%', says: NO_AMOUNT },
  { value: '%', says: NO_AMOUNT },
  { value: '10 %', says: NO_AMOUNT },
  { value: 10, says: NO_AMOUNT },
])('[B15] a threshold of $value is refused', ({ value, says }) => {
  expect(problems(hard(value))).toEqual([`evictionHard.nodefs.available ${says}`]);
});

const RECLAIM = 'must be a percentage above 0% or a quantity as text, such as 5% or "500Mi"';
test.each<{ value: string; accepted: boolean }>([
  { value: '0', accepted: true },
  { value: '0.1%', accepted: true },
  { value: '150%', accepted: true },
  { value: '3.4e38%', accepted: true },
  { value: '3.5e38%', accepted: false },
  { value: '1e40%', accepted: false },
  { value: '1e-50%', accepted: false },
  { value: '0%', accepted: false },
  { value: '-1%', accepted: false },
  { value: '-1', accepted: false },
])('[B15] a minimum reclaim of $value is accepted: $accepted', ({ value, accepted }) => {
  expect(problems({ evictionMinimumReclaim: { 'nodefs.available': value } })).toEqual(
    accepted ? [] : [`evictionMinimumReclaim.nodefs.available ${RECLAIM}`],
  );
});

const soft = (signal: string, gracePeriod?: string) => ({
  evictionSoft: { [signal]: '15%' },
  ...(gracePeriod !== undefined && { evictionSoftGracePeriod: { [signal]: gracePeriod } }),
});
const MISSING = 'needs a grace period: write it to evictionSoftGracePeriod';
test.each<{ name: string; settings: object; says: string[] }>([
  {
    name: '[B15] a soft threshold without a grace period',
    settings: soft('nodefs.available'),
    says: [`evictionSoft.nodefs.available ${MISSING}`],
  },
  {
    name: '[B15] one of memory without a grace period',
    settings: soft('memory.available'),
    says: [`evictionSoft.memory.available ${MISSING}`],
  },
  {
    name: '[B15] a negative grace period',
    settings: soft('nodefs.available', '-1s'),
    says: ['evictionSoftGracePeriod.nodefs.available must not be negative'],
  },
  {
    name: 'a grace period that is longer than what nodes tell of the past',
    settings: soft('nodefs.available', '1h58m1ms'),
    says: ['evictionSoftGracePeriod.nodefs.available must be at most 1h58m: nodes tell the past two hours'],
  },
  {
    name: 'any length for memory, on which nothing is decided',
    settings: soft('memory.available', '24h'),
    says: [],
  },
  {
    name: '[B12] a missing grace period, whatever else is wrong',
    settings: { ...soft('nodefs.available'), mode: 'on', evictionHard: [], evictionMinimumReclaim: null },
    says: [
      'mode must be dry-run (decide and record, remove nothing) or enforce',
      'evictionHard must be a map of signals, as in {nodefs.available: 10%}; {} means none',
      'evictionMinimumReclaim must be a map of signals, as in {nodefs.available: 10%}; {} means none',
      `evictionSoft.nodefs.available ${MISSING}`,
    ],
  },
])('grace periods: $name', ({ settings, says }) => {
  expect(problems(settings)).toEqual(says);
});

test('a signal that nobody knows is refused', () => {
  const { error } = given({ evictionHard: { 'nodefs.avail': '10%' } });
  expect(error?.issues).toMatchObject([
    { code: 'unrecognized_keys', keys: ['nodefs.avail'], path: ['evictionHard'] },
  ]);
});
