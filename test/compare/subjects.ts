import type { Collector } from '../../schemas/policy/cluster-policy.ts';
import { drawHistory } from './history/draw-history.ts';
import type { History } from './history/history.ts';
import { LISTED, listedHistory } from './history/listed.ts';

/** A collector of kube-controller-manager, and the one of FleetGC that stands in for it. */
export interface Subject {
  /** As the option --controllers of kube-controller-manager has them. */
  readonly kcmControllers: readonly string[];
  /** As policies have them. */
  readonly collectors: readonly Collector[];
  readonly draw: (seed: number) => History;
  /** Seeds after this one have no history. */
  readonly lastSeed: number;
}

const OWNERSHIP = {
  kcmControllers: ['garbage-collector-controller'],
  collectors: ['garbage-collector-controller'],
} as const;

export const SUBJECTS = {
  ownership: { ...OWNERSHIP, draw: drawHistory, lastSeed: Number.POSITIVE_INFINITY },
  /** Differences that are meant to be there. */
  listed: { ...OWNERSHIP, draw: listedHistory, lastSeed: LISTED.length },
} as const satisfies Record<string, Subject>;

export type SubjectName = keyof typeof SUBJECTS;
export const SUBJECT_NAMES = Object.keys(SUBJECTS).filter((name): name is SubjectName =>
  Object.hasOwn(SUBJECTS, name),
);
