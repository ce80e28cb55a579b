import { z } from 'zod';
import { brokenTexts, HALF_A_CHARACTER } from '../events/broken-texts.ts';
import { EvictionSignal, LONGEST_GRACE_PERIOD_MS } from './eviction.ts';
import { charactersOf, MAX_GLOB_CHARACTERS } from './glob.ts';
import { DEFAULT_IMAGE_MINIMUM_AGE_MS, DEFAULT_THRESHOLDS } from './policy-defaults.ts';

/** A problem between settings, at the one that is most likely to be mended. */
export interface CrossProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Gets settings that were parsed as far as possible, so that one wrong setting does not hide another (B12). */
export type CrossCheck = (settings: unknown) => readonly CrossProblem[];

const whole = z.int().min(0).max(100);
const Thresholds = z.object({
  imageGCHighThresholdPercent: whole.nullish(),
  imageGCLowThresholdPercent: whole.nullish(),
});

/** B7; told at a setting that is written, since nobody finds one that is not. */
export const thresholdsInOrder: CrossCheck = (settings) => {
  const { data } = Thresholds.safeParse(settings);
  if (!data) return [];
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = data;
  const defaults = DEFAULT_THRESHOLDS;
  if ((low ?? defaults.imageGCLowThresholdPercent) < (high ?? defaults.imageGCHighThresholdPercent))
    return [];
  if (low === undefined || low === null) {
    const message = `must be above imageGCLowThresholdPercent, which is ${defaults.imageGCLowThresholdPercent} by default`;
    return [{ path: ['imageGCHighThresholdPercent'], message }];
  }
  const highText = high ?? `${defaults.imageGCHighThresholdPercent} by default`;
  const message = `must be below imageGCHighThresholdPercent, which is ${highText}`;
  return [{ path: ['imageGCLowThresholdPercent'], message }];
};

export const minimumAgeMs = (writtenMs: number): number =>
  writtenMs === 0 ? DEFAULT_IMAGE_MINIMUM_AGE_MS : writtenMs;

const Ages = z.object({ imageMinimumGCAge: z.int(), imageMaximumGCAge: z.int() });

/** B10 */
export const maximumAboveMinimumAge: CrossCheck = (settings) => {
  const { data } = Ages.safeParse(settings);
  if (!data || data.imageMaximumGCAge <= 0 || data.imageMaximumGCAge > minimumAgeMs(data.imageMinimumGCAge))
    return [];
  const message = 'must be longer than imageMinimumGCAge, as the kubelet demands; 0s switches it off';
  return [{ path: ['imageMaximumGCAge'], message }];
};

const AnyMap = z.record(z.string(), z.unknown()).catch({});
const SoftSettings = z.object({ evictionSoft: AnyMap, evictionSoftGracePeriod: AnyMap });

/** B15, for signals of every kind; only what is decided on the recent past has a longest grace period. */
export const gracePeriods: CrossCheck = (settings) => {
  const { data } = SoftSettings.safeParse(settings);
  const { evictionSoft = {}, evictionSoftGracePeriod = {} } = data ?? {};
  return Object.entries(evictionSoft).flatMap(([signal, value]) => {
    if (value === null || value === undefined) return [];
    const path = ['evictionSoftGracePeriod', signal];
    const period = evictionSoftGracePeriod[signal];
    if (period === undefined)
      return [
        {
          path: ['evictionSoft', signal],
          message: 'needs a grace period: write it to evictionSoftGracePeriod',
        },
      ];
    if (!EvictionSignal.safeParse(signal).success) return [];
    return typeof period === 'number' && period > LONGEST_GRACE_PERIOD_MS
      ? [{ path, message: 'must be at most 1h58m: nodes tell the past two hours' }]
      : [];
  });
};

const Pair = z.object({ imageGCStartBelowAvailable: z.string(), imageGCUntilAvailable: z.string() });

/** M39: removal begins below one size and ends at a larger one. */
export const sizesInOrder: CrossCheck = (settings) => {
  const { data } = Pair.safeParse(settings);
  if (!data || !areDigits(Object.values(data))) return [];
  if (BigInt(data.imageGCStartBelowAvailable) < BigInt(data.imageGCUntilAvailable)) return [];
  return [{ path: ['imageGCUntilAvailable'], message: 'must be above imageGCStartBelowAvailable' }];
};

const areDigits = (texts: readonly string[]): boolean => texts.every((digits) => /^\d+$/.test(digits));

const InodeThresholds = z.object({
  imageGCInodesHighThresholdPercent: whole,
  imageGCInodesLowThresholdPercent: whole,
});

/** M13: as B7. */
export const inodeThresholdsInOrder: CrossCheck = (settings) => {
  const { data } = InodeThresholds.safeParse(settings);
  if (!data) return [];
  const { imageGCInodesHighThresholdPercent: high, imageGCInodesLowThresholdPercent: low } = data;
  const message = `must be below imageGCInodesHighThresholdPercent, which is ${high}`;
  return low < high ? [] : [{ path: ['imageGCInodesLowThresholdPercent'], message }];
};

/** Settings that are written both or not at all. */
export const PAIRS = [
  ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'],
  ['imageGCInodesHighThresholdPercent', 'imageGCInodesLowThresholdPercent'],
] as const;

/** Two settings that mean nothing without each other. */
export const bothOrNone: CrossCheck = (settings) =>
  PAIRS.flatMap((pair) => {
    const written = pair.filter((setting) => isWritten(settings, setting));
    const missing = pair.find((setting) => !isWritten(settings, setting));
    return missing === undefined
      ? []
      : written.map((setting) => ({ path: [setting], message: `means nothing without ${missing}` }));
  });

/** What `profile: kubelet` has not, since a kubelet has not: they would change what goes. */
export const NOT_OF_A_KUBELET = [
  ...PAIRS.flat(),
  'maximumDeadContainerAge',
  'minimumCreatedContainerAge',
] as const;

const KubeletProfile = z.object({ profile: z.literal('kubelet') });

export const onlyInKubeletProfile =
  (check: CrossCheck): CrossCheck =>
  (settings) =>
    KubeletProfile.safeParse(settings).success ? check(settings) : [];

export const onlyWhatAKubeletHas: CrossCheck = (settings) =>
  NOT_OF_A_KUBELET.filter((setting) => isWritten(settings, setting)).map((setting) => ({
    path: [setting],
    message: 'is no part of profile: kubelet; leave it out, or write profile: fleetgc',
  }));

const Written = z.looseObject({});

function isWritten(settings: unknown, setting: string): boolean {
  const { data } = Written.safeParse(settings);
  return data?.[setting] !== undefined;
}

export const wholeCharacters: CrossCheck = (settings) =>
  brokenTexts(settings).map(({ path }) => ({ path, message: HALF_A_CHARACTER }));

const Patterns = z.object({
  selector: z.object({ nodeNames: z.array(z.string()).default([]) }).catch({ nodeNames: [] }),
  keep: z.object({ images: z.array(z.string()).default([]) }).catch({ images: [] }),
});

/** All patterns of a policy together are read by whoever decides. */
export const patternsWithinBudget: CrossCheck = (settings) => {
  const { data } = Patterns.safeParse(settings);
  if (!data) return [];
  const characters = charactersOf(data.selector.nodeNames) + charactersOf(data.keep.images);
  if (characters <= MAX_GLOB_CHARACTERS) return [];
  const message = `and selector.nodeNames must have at most ${MAX_GLOB_CHARACTERS} characters together`;
  return [{ path: ['keep', 'images'], message }];
};

/** For `superRefine`: adds the problems of all checks, whatever else is wrong with the settings. */
export const addProblems = (
  context: {
    addIssue(issue: { code: 'custom'; path: (string | number)[]; message: string; input: unknown }): void;
  },
  settings: unknown,
  checks: readonly CrossCheck[],
): void => {
  for (const { path, message } of checks.flatMap((check) => check(settings)))
    context.addIssue({ code: 'custom', path: [...path], message, input: settings });
};

/** Cross checks run even where single settings are wrong, and only on a map. */
export const ON_ANY_MAP = {
  when: ({ value }: { readonly value: unknown }): boolean => Written.safeParse(value).success,
};
