import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KubeletPod } from '../../../../packages/cri/kubelet/pod-source.ts';
import {
  type KubeletSource,
  NO_EVIDENCE,
  type PodAnswer,
  type PodEvidence,
  podStates,
  type RuntimePods,
  weigh,
} from '../../../../services/node/agent/pods.ts';
import { runs } from '../../../support/property-runs.ts';

const pod = (uid: string, over: Partial<KubeletPod> = {}): KubeletPod => ({
  uid,
  name: uid,
  namespace: 'default',
  phase: 'Running',
  deletionTimestamp: false,
  source: 'api',
  images: [],
  initContainers: [],
  finished: false,
  evicted: false,
  ...over,
});

const answer = (askedAtMs: number, pods: KubeletPod[], kubeletInstance = 'kubelet-1'): PodAnswer => ({
  listing: { kubeletInstance, pods },
  askedAtMs,
  answeredAtMs: askedAtMs + 10,
});

const runtime = (uids: string[], active: string[] = []): RuntimePods => ({
  uids: new Set(uids),
  active: new Set(active),
});

const OTHER = pod('other');
const DEAD = runtime(['dead']);
const GONE = {
  uid: 'dead',
  state: 'gone',
  contentRemovable: true,
  runtimeRemovable: true,
  initContainers: null,
};
const UNKNOWN = {
  uid: 'dead',
  state: 'unknown',
  contentRemovable: false,
  runtimeRemovable: false,
  initContainers: null,
};

interface Look {
  readonly answer: PodAnswer | null;
  readonly runtime: RuntimePods;
}

/** What is said of the pod `dead` after these looks. */
function verdict(looks: readonly Look[], sources: readonly KubeletSource[] = ['api']) {
  const last = looks.at(-1) ?? { answer: null, runtime: DEAD };
  const evidence = looks.reduce<PodEvidence>(
    (before, look) => weigh(before, look.answer, look.runtime, sources),
    NO_EVIDENCE,
  );
  return podStates(evidence, last.answer, last.runtime).find(({ uid }) => uid === 'dead');
}
const look = (given: PodAnswer | null, pods = DEAD): Look => ({ answer: given, runtime: pods });

test.each<{ name: string; looks: Look[]; sources?: KubeletSource[]; expected: object }>([
  {
    name: '[A8] gone: missing from two good answers of one kubelet, the second asked for 60 s after the first came',
    looks: [look(answer(0, [OTHER])), look(answer(60_010, [OTHER]))],
    expected: GONE,
  },
  {
    name: '[A8, K1] unknown one millisecond earlier',
    looks: [look(answer(0, [OTHER])), look(answer(60_009, [OTHER]))],
    expected: UNKNOWN,
  },
  { name: '[A8, K1] unknown after one answer', looks: [look(answer(0, [OTHER]))], expected: UNKNOWN },
  { name: '[A8, K1] unknown without a pod source', looks: [look(null), look(null)], expected: UNKNOWN },
  {
    name: '[A8, K1] unknown again after an error, until 60 s of good answers have passed',
    looks: [
      look(answer(0, [OTHER])),
      look(null),
      look(answer(70_000, [OTHER])),
      look(answer(130_000, [OTHER])),
    ],
    expected: UNKNOWN,
  },
  {
    name: '[A8, K1] unknown while the last answer failed, whatever was known before',
    looks: [look(answer(0, [OTHER])), look(answer(70_000, [OTHER])), look(null)],
    expected: UNKNOWN,
  },
  {
    name: '[A8, K1] an empty list makes all unknown again',
    looks: [look(answer(0, [OTHER])), look(answer(30_000, [])), look(answer(70_000, [OTHER]))],
    expected: UNKNOWN,
  },
  {
    name: '[A8, K1] a restarted kubelet makes all unknown again',
    looks: [look(answer(0, [OTHER])), look(answer(70_000, [OTHER], 'kubelet-2'))],
    expected: UNKNOWN,
  },
  {
    name: '[A8] a restarted kubelet is believed 60 s later',
    looks: [
      look(answer(0, [OTHER])),
      look(answer(70_000, [OTHER], 'kubelet-2')),
      look(answer(130_010, [OTHER], 'kubelet-2')),
    ],
    expected: GONE,
  },
  {
    name: '[A7, K1] unknown while a configured source has no pod in the answer',
    looks: [look(answer(0, [OTHER])), look(answer(70_000, [OTHER]))],
    sources: ['api', 'file'],
    expected: UNKNOWN,
  },
  {
    name: '[A7, K1] an answer without the pods of a source makes all unknown again',
    looks: [
      look(answer(0, [OTHER])),
      look(answer(30_000, [pod('static', { source: 'file' })])),
      look(answer(70_000, [OTHER])),
    ],
    expected: UNKNOWN,
  },
  {
    name: '[A7] a standalone node configures the file source',
    looks: [
      look(answer(0, [pod('static', { source: 'file' })])),
      look(answer(70_000, [pod('static', { source: 'file' })])),
    ],
    sources: ['file'],
    expected: GONE,
  },
  {
    name: '[A7, K1] with no configured source nothing has delivered',
    looks: [look(answer(0, [OTHER])), look(answer(70_000, [OTHER]))],
    sources: [],
    expected: UNKNOWN,
  },
  {
    name: '[A8, K2] unknown while a container of it runs or a sandbox of it is ready',
    looks: [look(answer(0, [OTHER])), look(answer(70_000, [OTHER]), runtime(['dead'], ['dead']))],
    expected: UNKNOWN,
  },
  {
    name: '[A8] missing counts from when the runtime showed the UID: it may be about to start',
    looks: [look(answer(0, [OTHER]), runtime([])), look(answer(70_000, [OTHER]))],
    expected: UNKNOWN,
  },
  {
    name: '[A8] missing counts afresh when the kubelet named it in between',
    looks: [
      look(answer(0, [OTHER])),
      look(answer(30_000, [OTHER, pod('dead')])),
      look(answer(70_000, [OTHER])),
    ],
    expected: UNKNOWN,
  },
  {
    name: '[A8] missing counts afresh when the runtime lost sight of it in between',
    looks: [
      look(answer(0, [OTHER])),
      look(answer(30_000, [OTHER]), runtime([])),
      look(answer(70_000, [OTHER])),
    ],
    expected: UNKNOWN,
  },
])('$name', ({ looks, sources, expected }) => {
  expect(verdict(looks, sources)).toEqual(expected);
});

test.each<{
  name: string;
  given: Partial<KubeletPod>;
  active?: string[];
  runtimeRemovable: boolean;
  contentRemovable: boolean;
}>([
  {
    name: '[A6, A8] known, starting or running: nothing',
    given: {},
    runtimeRemovable: false,
    contentRemovable: false,
  },
  {
    name: '[A6, A8] known, being deleted, not all stopped: nothing',
    given: { deletionTimestamp: true },
    runtimeRemovable: false,
    contentRemovable: false,
  },
  {
    name: '[A6, A8] known, stopped for good, not deleted: runtime only',
    given: { phase: 'Succeeded', finished: true },
    runtimeRemovable: true,
    contentRemovable: false,
  },
  {
    name: '[A6, A8] known, stopped for good and deleted: both',
    given: { phase: 'Failed', finished: true, deletionTimestamp: true },
    runtimeRemovable: true,
    contentRemovable: true,
  },
  {
    name: '[A8, A9] known, evicted, not all stopped: content only',
    given: { evicted: true },
    active: ['dead'],
    runtimeRemovable: false,
    contentRemovable: true,
  },
  {
    name: '[A8] known, evicted and stopped: both',
    given: { phase: 'Failed', finished: true, evicted: true },
    runtimeRemovable: true,
    contentRemovable: true,
  },
  {
    name: '[A8, K2] known and finished, but the runtime says it still runs: nothing',
    given: { phase: 'Failed', finished: true, deletionTimestamp: true },
    active: ['dead'],
    runtimeRemovable: false,
    contentRemovable: false,
  },
])('$name', ({ given, active = [], runtimeRemovable, contentRemovable }) => {
  const looks = [look(answer(0, [OTHER, pod('dead', given)]), runtime(['dead'], active))];
  expect(verdict(looks)).toEqual({
    uid: 'dead',
    state: 'known',
    runtimeRemovable,
    contentRemovable,
    initContainers: [],
  });
});

test('[A8] a UID that the kubelet names twice is finished, or evicted, when both entries say so', () => {
  const both = [pod('dead', { finished: true, evicted: true }), pod('dead')];
  expect(verdict([look(answer(0, both))])).toMatchObject({
    state: 'known',
    runtimeRemovable: false,
    contentRemovable: false,
  });
});

test('[A12] the empty UID never becomes gone, and is not reported', () => {
  const unlabelled = runtime(['', 'dead']);
  const first = weigh(NO_EVIDENCE, answer(0, [OTHER]), unlabelled, ['api']);
  const later = answer(70_000, [OTHER]);
  const states = podStates(weigh(first, later, unlabelled, ['api']), later, unlabelled);
  expect(states.map(({ uid, state }) => [uid, state])).toEqual([
    ['dead', 'gone'],
    ['other', 'known'],
  ]);
});

const SHOWN = runtime(['pod-0', 'pod-1', 'pod-2', 'pod-3']);

/** A kubelet that knows these pods, of which some vanish, and what an agent makes of what it hears of them. */
function kubelet() {
  const missingSinceMs = new Map<string, number>();
  let evidence = NO_EVIDENCE;
  let undisturbedSinceMs = 0;
  let instance = 0;
  return {
    /** How long each pod that is said to be gone has really been missing from an undisturbed kubelet. */
    answer: (kind: string, nowMs: number): number[] => {
      if (kind !== 'good') undisturbedSinceMs = nowMs;
      if (kind === 'restarted') instance++;
      const known = [...SHOWN.uids].filter((uid) => !missingSinceMs.has(uid)).map((uid) => pod(uid));
      const given = answerOf(kind, answer(nowMs, [OTHER, ...known], `kubelet-${instance}`));
      evidence = weigh(evidence, given, SHOWN, ['api']);
      return podStates(evidence, given, SHOWN)
        .filter(({ state }) => state === 'gone')
        .map(({ uid }) => nowMs - Math.max(missingSinceMs.get(uid) ?? nowMs, undisturbedSinceMs));
    },
    toggle: (uid: string, nowMs: number): void => {
      if (!missingSinceMs.delete(uid)) missingSinceMs.set(uid, nowMs);
    },
  };
}

function answerOf(kind: string, good: PodAnswer): PodAnswer | null {
  if (kind === 'error') return null;
  const pods = { empty: [], 'without-api': [pod('static', { source: 'file' })] }[kind];
  return pods ? { ...good, listing: { ...good.listing, pods } } : good;
}

const happening = fc.record({
  afterMs: fc.integer({ min: 1, max: 40_000 }),
  answer: fc.constantFrom('good', 'good', 'good', 'good', 'error', 'empty', 'without-api', 'restarted'),
  toggled: fc.integer({ min: 0, max: 9 }),
});

test('[A8, K1] no pod is gone unless an undisturbed kubelet has been without it for 60 s', () => {
  let gone = 0;
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
      const node = kubelet();
      let nowMs = 0;
      for (const { afterMs, answer: kind, toggled } of happenings) {
        nowMs += afterMs;
        node.toggle(`pod-${toggled}`, nowMs);
        const missingForMs = node.answer(kind, nowMs);
        gone += missingForMs.length;
        for (const ms of missingForMs) expect(ms).toBeGreaterThanOrEqual(60_000);
      }
    }),
    runs(4_000),
  );
  expect(gone).toBeGreaterThan(0);
});

test('[M28] the init containers of a pod are told while it is known', () => {
  const known = answer(0, [pod('dead', { initContainers: ['prepare'] })]);
  expect(verdict([look(known)])).toMatchObject({ state: 'known', initContainers: ['prepare'] });
});
