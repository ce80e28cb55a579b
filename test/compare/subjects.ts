import type { Collector } from '../../schemas/policy/cluster-policy.ts';
import { drawHistory } from './history/draw-history.ts';
import type { History } from './history/history.ts';

/** A collector of kube-controller-manager, and the one of FleetGC that stands in for it. */
export interface Subject {
  /** As the option --controllers of kube-controller-manager has them. */
  readonly kcmControllers: readonly string[];
  /** As policies have them. */
  readonly collectors: readonly Collector[];
  readonly draw: (seed: number) => History;
}

export const SUBJECTS = {
  ownership: {
    kcmControllers: ['garbage-collector-controller'],
    collectors: ['garbage-collector-controller'],
    draw: drawHistory,
  },
} as const satisfies Record<string, Subject>;

export type SubjectName = keyof typeof SUBJECTS;
export const SUBJECT_NAMES = Object.keys(SUBJECTS).filter((name): name is SubjectName =>
  Object.hasOwn(SUBJECTS, name),
);
