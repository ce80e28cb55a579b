import { drawEndedPods, THRESHOLD } from './history/draw-ended-pods.ts';
import { drawHistory } from './history/draw-history.ts';
import { drawJobs } from './history/draw-jobs.ts';
import { drawPods } from './history/draw-pods.ts';
import { drawRequests } from './history/draw-requests.ts';
import type { History } from './history/history.ts';
import { OWNED_KIND_IDS } from './history/kinds.ts';
import { withKnown } from './history/known.ts';
import { LISTED, LISTED_ENDED_PODS, type Listed, listedHistory } from './history/listed.ts';
import { leftToDo } from './judge/left.ts';
import { leftOfJobs, leftOfRequests } from './judge/left-expiring.ts';
import { leftOfEndedPods, leftOfPods } from './judge/left-pods.ts';
import type { Sight } from './play/observer.ts';
import type { End } from './play/settle.ts';
import { JOB_TRACE, OWNED_TRACE, POD_TRACE, REQUEST_TRACE, type Trace } from './play/tracers.ts';
import type { Looks } from './sides/collector.ts';
import type { FleetGcPart } from './sides/fleetgc.ts';
import type { KcmPart } from './sides/kcm.ts';

/** A collector of kube-controller-manager, and the one of FleetGC that stands in for it. */
export interface Subject {
  readonly kcm: KcmPart;
  readonly fleetgc: FleetGcPart;
  readonly looks: { readonly kcm: Looks; readonly fleetgc: Looks };
  readonly sight: Sight;
  readonly end: End;
  readonly trace: Trace;
  readonly draw: (seed: number) => History;
  /** Seeds after this one have no history. */
  readonly lastSeed: number;
  /** All that lies on an API server counts together: each run has it to itself. */
  readonly isAlone: boolean;
  /** Mostly waits: both collectors do at the same time, each on an API server of its own. */
  readonly isSlow: boolean;
}

type Given = Pick<Subject, 'kcm' | 'fleetgc' | 'sight' | 'end' | 'trace' | 'draw'> & Partial<Subject>;
const subject = (given: Given): Subject => ({
  looks: { kcm: 'always', fleetgc: 'always' },
  lastSeed: Number.POSITIVE_INFINITY,
  isAlone: false,
  isSlow: false,
  ...given,
});

/** The same controller by its name. */
const ofKcm = (controller: string, options: readonly string[] = []): KcmPart => ({
  program: 'kube-controller-manager',
  controllers: [controller],
  options,
});

const STALLED_MS = 4_000;

const OWNERSHIP = subject({
  kcm: ofKcm('garbage-collector-controller'),
  fleetgc: { collectors: ['garbage-collector-controller'] },
  sight: { kinds: OWNED_KIND_IDS, isWhole: false },
  end: { left: leftToDo, stalledMs: STALLED_MS },
  trace: OWNED_TRACE,
  draw: (seed) => withKnown(drawHistory(seed)),
});

const PODS = subject({
  kcm: ofKcm('pod-garbage-collector-controller'),
  fleetgc: { collectors: ['pod-garbage-collector-controller'] },
  sight: { kinds: ['pod', 'node'], isWhole: true },
  // A node has to be missing for 40 s, and pods are looked at every 20 s.
  end: { left: leftOfPods, stalledMs: 20_000 },
  trace: POD_TRACE,
  draw: drawPods,
  isSlow: true,
});

const ENDED_PODS = subject({
  kcm: ofKcm('pod-garbage-collector-controller', [`--terminated-pod-gc-threshold=${THRESHOLD}`]),
  fleetgc: {
    collectors: ['pod-garbage-collector-controller'],
    policy: { terminatedPodGCThreshold: THRESHOLD },
  },
  looks: { kcm: 'when-started', fleetgc: 'when-started' },
  sight: { kinds: ['pod', 'node'], isWhole: true },
  end: { left: leftOfEndedPods(THRESHOLD), stalledMs: STALLED_MS },
  trace: POD_TRACE,
  draw: drawEndedPods,
  isAlone: true,
});

const listed = (of: Subject, all: readonly Listed[]): Subject => ({
  ...of,
  draw: (seed) => listedHistory(all, seed),
  lastSeed: all.length,
});

export const SUBJECTS = {
  ownership: OWNERSHIP,
  pods: PODS,
  'ended-pods': ENDED_PODS,
  jobs: subject({
    kcm: ofKcm('ttl-after-finished-controller'),
    fleetgc: { collectors: ['ttl-after-finished-controller'] },
    sight: { kinds: ['job'], isWhole: true },
    end: { left: leftOfJobs, stalledMs: 10_000 },
    trace: JOB_TRACE,
    draw: drawJobs,
  }),
  requests: subject({
    kcm: { program: 'request-cleaner', controllers: ['certificatesigningrequest-cleaner-controller'] },
    fleetgc: { collectors: ['certificatesigningrequest-cleaner-controller'] },
    looks: { kcm: 'when-started', fleetgc: 'always' },
    sight: { kinds: ['certificateRequest'], isWhole: true },
    end: { left: leftOfRequests, stalledMs: STALLED_MS },
    trace: REQUEST_TRACE,
    draw: drawRequests,
  }),
  /** Differences that are meant to be there. */
  listed: listed(OWNERSHIP, LISTED),
  'listed-ended-pods': listed(ENDED_PODS, LISTED_ENDED_PODS),
} as const satisfies Record<string, Subject>;

export type SubjectName = keyof typeof SUBJECTS;
const SUBJECT_NAMES = Object.keys(SUBJECTS).filter((name): name is SubjectName =>
  Object.hasOwn(SUBJECTS, name),
);

/** What `npm run compare:kcm` compares: the last one deletes definitions of kinds (`withdrawn/`). */
export type ComparedName = SubjectName | 'withdrawn';
export const COMPARED_NAMES: readonly ComparedName[] = [...SUBJECT_NAMES, 'withdrawn'];
/** Those whose histories are random. */
export const RANDOM_SUBJECTS = SUBJECT_NAMES.filter((name) => !name.startsWith('listed'));
