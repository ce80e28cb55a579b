import { EvictionSignal, LONGEST_GRACE_PERIOD_MS } from './eviction.ts';
import { EVICTION_MAPS, WRITTEN_SIGNALS } from './eviction-settings.ts';
import { NOT_OF_A_KUBELET, PAIRS } from './policy-checks.ts';
import { DEFAULT_IMAGE_MINIMUM_AGE_MS, DEFAULT_THRESHOLDS } from './policy-defaults.ts';
import { COMMAND_LIFETIME_RANGE_MS } from './policy-file.ts';
import { DURATION_PATTERN, QUANTITY_PATTERN } from './quantity.ts';
import { durationText } from './value-text.ts';

/*
 * What `policy-checks.ts` says of settings, in CEL: an API server then refuses at once what the controller would refuse later. The
 * controller checks again, so a rule that is missing here lets nothing through.
 */

/** A rule of CEL about the spec, and what is told where it is broken. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
}

const LONGEST_VALUE = 64;
const DURATIONS = [
  'imageMinimumGCAge',
  'imageMaximumGCAge',
  'minimumContainerTTLDuration',
  'minimumCreatedContainerAge',
  'maximumDeadContainerAge',
  'commandLifetime',
  ...WRITTEN_SIGNALS.map((signal) => `evictionSoftGracePeriod.${signal}`),
];
const SIZES = ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'];
const AMOUNTS = EVICTION_MAPS.filter((map) => map !== 'evictionSoftGracePeriod').flatMap((map) =>
  WRITTEN_SIGNALS.map((signal) => `${map}.${signal}`),
);

/** The forms of texts that stand for something else, by the path of their setting. */
export const TEXTS_OF_SETTINGS: ReadonlyMap<string, object> = new Map<string, object>([
  ...DURATIONS.map((path) => [path, { maxLength: LONGEST_VALUE, pattern: DURATION_PATTERN }] as const),
  ...SIZES.map((path) => [path, { maxLength: LONGEST_VALUE, pattern: QUANTITY_PATTERN }] as const),
  ...AMOUNTS.map((path) => [path, { maxLength: LONGEST_VALUE }] as const),
]);

/** A setting as CEL knows it: a dot in a name is written out. */
const field = (...path: readonly string[]): string =>
  ['self', ...path.map((name) => name.replaceAll('.', '__dot__'))].join('.');
const isThere = (...path: readonly string[]): string =>
  path.map((_, at) => `has(${field(...path.slice(0, at + 1))})`).join(' && ');
const orElse = (setting: string, value: string | number): string =>
  `(has(${field(setting)}) ? ${field(setting)} : ${value})`;
const duration = (text: string): string => `duration(${text})`;
const time = (ms: number): string => duration(`'${durationText(ms)}'`);
/** Where the condition is not met, the rule says nothing. */
const where = (condition: string, rule: string): string => `!(${condition}) || ${rule}`;

const [LOW, HIGH] = ['imageGCLowThresholdPercent', 'imageGCHighThresholdPercent'] as const;
const [INODES_LOW, INODES_HIGH] = ['imageGCInodesLowThresholdPercent', 'imageGCInodesHighThresholdPercent'];
const [START_BELOW, UNTIL] = ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'];

const THRESHOLDS: readonly ValidationRule[] = [
  {
    rule: `${orElse(LOW, DEFAULT_THRESHOLDS[LOW])} < ${orElse(HIGH, DEFAULT_THRESHOLDS[HIGH])}`,
    message: `${LOW} (${DEFAULT_THRESHOLDS[LOW]} by default) must be below ${HIGH} (${DEFAULT_THRESHOLDS[HIGH]} by default)`,
  },
  {
    rule: where(
      `${isThere(INODES_LOW)} && ${isThere(INODES_HIGH)}`,
      `${field(INODES_LOW)} < ${field(INODES_HIGH)}`,
    ),
    message: `${INODES_LOW} must be below ${INODES_HIGH}`,
  },
  {
    rule: where(
      `${isThere(START_BELOW)} && ${isThere(UNTIL)}`,
      `quantity(${field(START_BELOW)}).isLessThan(quantity(${field(UNTIL)}))`,
    ),
    message: `${UNTIL} must be above ${START_BELOW}`,
  },
  ...PAIRS.map(([one, other]) => ({
    rule: `has(${field(one)}) == has(${field(other)})`,
    message: `${one} and ${other} mean nothing without each other`,
  })),
];

const GRACE_PERIODS: readonly ValidationRule[] = [
  ...WRITTEN_SIGNALS.map((signal) => ({
    rule: where(isThere('evictionSoft', signal), `(${isThere('evictionSoftGracePeriod', signal)})`),
    message: `evictionSoft ${signal} needs a grace period: write it to evictionSoftGracePeriod`,
  })),
  ...EvictionSignal.options.map((signal) => ({
    rule: where(
      isThere('evictionSoftGracePeriod', signal),
      `${duration(field('evictionSoftGracePeriod', signal))} <= ${time(LONGEST_GRACE_PERIOD_MS)}`,
    ),
    message: `evictionSoftGracePeriod ${signal} must be at most 1h58m: nodes tell the past two hours`,
  })),
];

const isKubelet = `has(self.profile) && self.profile == 'kubelet'`;
const minimumAge = `(!has(self.imageMinimumGCAge) || ${duration('self.imageMinimumGCAge')} == ${time(0)} ? ${time(DEFAULT_IMAGE_MINIMUM_AGE_MS)} : ${duration('self.imageMinimumGCAge')})`;

const KUBELET: readonly ValidationRule[] = [
  {
    rule: where(
      `${isKubelet} && has(self.imageMaximumGCAge) && ${duration('self.imageMaximumGCAge')} > ${time(0)}`,
      `${duration('self.imageMaximumGCAge')} > ${minimumAge}`,
    ),
    message:
      'imageMaximumGCAge must be longer than imageMinimumGCAge, as the kubelet demands; 0s switches it off',
  },
  {
    rule: where(isKubelet, NOT_OF_A_KUBELET.map((setting) => `!has(${field(setting)})`).join(' && ')),
    message: `these are no part of profile: kubelet: ${NOT_OF_A_KUBELET.join(', ')}`,
  },
];

const atLeast = (setting: string, ms: number): string => `${duration(field(setting))} >= ${time(ms)}`;
const NOT_NEGATIVE = ['imageMaximumGCAge', 'minimumContainerTTLDuration', 'minimumCreatedContainerAge'];

const RANGES: readonly ValidationRule[] = [
  ...NOT_NEGATIVE.map((setting) => ({
    rule: where(isThere(setting), atLeast(setting, 0)),
    message: `${setting} must not be negative`,
  })),
  {
    rule: where(
      isThere('maximumDeadContainerAge'),
      `${duration('self.maximumDeadContainerAge')} > ${time(0)}`,
    ),
    message: 'maximumDeadContainerAge must be above 0s; leave the key out for no maximum',
  },
  {
    rule: where(
      isThere('commandLifetime'),
      `${atLeast('commandLifetime', COMMAND_LIFETIME_RANGE_MS.min)} && ${duration('self.commandLifetime')} <= ${time(COMMAND_LIFETIME_RANGE_MS.max)}`,
    ),
    message: 'commandLifetime must be from 1s to 10m',
  },
];

/** What is said of the settings of a spec, beside their types. */
export const POLICY_RULES: readonly ValidationRule[] = [
  ...THRESHOLDS,
  ...GRACE_PERIODS,
  ...KUBELET,
  ...RANGES,
];
