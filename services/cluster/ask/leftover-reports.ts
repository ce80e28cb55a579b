import { z } from 'zod';
import {
  METADATA_FORM,
  type ObjectForm,
  type ObjectMetadata,
  readMetadata,
  wholeForm,
} from '../../../packages/kube-api/metadata.ts';
import { DAY_MS, HOUR_MS } from '../../../packages/process/durations.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { LeftoverReport } from '../../../schemas/reports/cluster-leftovers.ts';

/** An object with what reports read of it; the rest of it is not kept. */
export interface SeenObject extends ObjectMetadata {
  readonly createdAt: string | null;
  /** By the reader of its kind; `null` where that reads nothing. */
  readonly facts: Facts | null;
}

/** What the API server writes about a volume, a Job, and so on, in one form: reports know which fields their kind has. */
const Facts = z.object({
  spec: z
    .object({
      claimRef: z.object({ namespace: z.string().default(''), name: z.string().default('') }).nullish(),
      persistentVolumeReclaimPolicy: z.string().nullish(),
      successfulJobsHistoryLimit: z.int().nonnegative().nullish(),
      failedJobsHistoryLimit: z.int().nonnegative().nullish(),
      renewTime: z.string().max(64).nullish(),
      leaseDurationSeconds: z.int().nonnegative().nullish(),
      holderIdentity: z.string().nullish(),
    })
    .nullish(),
  status: z
    .object({
      phase: z.string().nullish(),
      startTime: z.string().max(64).nullish(),
      lastPhaseTransitionTime: z.string().max(64).nullish(),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            lastTransitionTime: z.string().max(64).nullish(),
            lastHeartbeatTime: z.string().max(64).nullish(),
          }),
        )
        .max(1_000)
        .nullish(),
    })
    .nullish(),
});
type Facts = z.infer<typeof Facts>;

const Created = z.object({ metadata: z.object({ creationTimestamp: z.string().max(64).nullish() }) });

const seen = (value: unknown, facts: Facts | null): SeenObject | null => {
  const metadata = readMetadata(value);
  if (metadata === null) return null;
  const created = Created.safeParse(value);
  return { ...metadata, createdAt: created.data?.metadata.creationTimestamp ?? null, facts };
};

/** Metadata alone: what Secrets hold is never asked for. */
const metadataOf = (onObject: (object: SeenObject) => void): ObjectForm<SeenObject> => ({
  ...METADATA_FORM,
  read: (value) => {
    const object = seen(value, null);
    if (object !== null) onObject(object);
    return object;
  },
});

/** Whole objects, of which facts are kept. */
const WITH_FACTS = wholeForm((value) => {
  const facts = Facts.safeParse(value);
  return seen(value, facts.success ? facts.data : null);
});

/** Whole objects, of which all texts are told and none is kept: whatever has the name of an object may name it. */
const withTexts = (onText: (namespace: string, text: string) => void): ObjectForm<SeenObject> =>
  wholeForm((value) => {
    const object = seen(value, null);
    if (object !== null) for (const text of textsIn(value)) onText(object.namespace, text);
    return object;
  });

/** No name of an object is longer. */
const MAX_NAME_LENGTH = 253;

function* textsIn(value: unknown): Iterable<string> {
  const left = [value];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (typeof each === 'string' && each.length <= MAX_NAME_LENGTH) yield each;
    if (typeof each === 'object' && each !== null) left.push(...Object.values(each));
  }
}

/** What was listed, by `<group>/<resource>`. */
type Lists = (key: string) => readonly SeenObject[];

interface FoundObject {
  /** Of which list it is. */
  readonly key: string;
  readonly object: SeenObject;
  readonly since: string | null;
  readonly because: string;
}

/** What one report needs to read, and what it finds then. */
interface Reading {
  /** One after the other; within a stage in any order. */
  readonly stages: readonly Readonly<Record<string, ObjectForm<SeenObject>>>[];
  /** `nowMs`: what the clock of the API server shows at least. */
  readonly find: (lists: Lists, nowMs: number) => readonly FoundObject[];
}

const VOLUMES = '/persistentvolumes';
const NODES = '/nodes';
const JOBS = 'batch/jobs';
const CRON_JOBS = 'batch/cronjobs';
const LEASES = 'coordination.k8s.io/leases';
const NAMED = ['/configmaps', '/secrets'];
/** Kinds that name ConfigMaps and Secrets. Fields of custom resources cannot be known. */
const NAMING = [
  '/pods',
  '/podtemplates',
  '/replicationcontrollers',
  '/serviceaccounts',
  '/persistentvolumes',
  'apps/daemonsets',
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  CRON_JOBS,
  JOBS,
  'networking.k8s.io/ingresses',
];

/** A node or a Lease may be silent for a while. */
const SILENT_AFTER_MS = HOUR_MS;
/** What was made just now may be named in a moment. */
const UNNAMED_AFTER_MS = DAY_MS;

const volumes: Reading = {
  stages: [{ [VOLUMES]: WITH_FACTS }],
  find: (lists) =>
    lists(VOLUMES).flatMap((object) => {
      const { spec, status } = object.facts ?? {};
      const phase = status?.phase ?? '';
      if (phase !== 'Released' && phase !== 'Failed') return [];
      const claim = spec?.claimRef ? `, by claim ${spec.claimRef.namespace}/${spec.claimRef.name}` : '';
      const because = `${phase}${claim}; reclaim policy ${spec?.persistentVolumeReclaimPolicy ?? 'unknown'}`;
      return [{ key: VOLUMES, object, since: status?.lastPhaseTransitionTime ?? null, because }];
    }),
};

const OUTCOMES = {
  Complete: { limit: 'successfulJobsHistoryLimit', byDefault: 3 },
  Failed: { limit: 'failedJobsHistoryLimit', byDefault: 1 },
} as const;

const cronJobs: Reading = {
  stages: [{ [CRON_JOBS]: WITH_FACTS, [JOBS]: WITH_FACTS }],
  find: (lists) =>
    lists(CRON_JOBS).flatMap((cronJob) => {
      const owned = lists(JOBS).filter(({ ownerReferences }) =>
        ownerReferences.some(({ uid, controller }) => controller && uid === cronJob.uid),
      );
      return Object.entries(OUTCOMES).flatMap(([type, { limit, byDefault }]) => {
        const most = cronJob.facts?.spec?.[limit] ?? byDefault;
        const ended = owned
          .filter(({ facts }) => conditionOf(facts, type)?.status === 'True')
          .toSorted(asTheirController);
        const because = `${ended.length} Jobs of CronJob ${cronJob.name} are ${type}, and ${limit} is ${most}`;
        return ended
          .slice(0, Math.max(0, ended.length - most))
          .map((object) => ({ key: JOBS, object, since: object.createdAt, because }));
      });
    }),
};

const nodes: Reading = {
  stages: [{ [NODES]: WITH_FACTS }],
  find: (lists, nowMs) =>
    lists(NODES).flatMap((object) => {
      const ready = conditionOf(object.facts, 'Ready');
      if (ready?.status !== 'Unknown' || !isOlder(ready.lastTransitionTime, SILENT_AFTER_MS, nowMs))
        return [];
      const because = `no kubelet was heard since ${ready.lastHeartbeatTime ?? 'it was made'}`;
      return [{ key: NODES, object, since: ready.lastTransitionTime ?? null, because }];
    }),
};

const leases: Reading = {
  stages: [{ [LEASES]: WITH_FACTS }],
  find: (lists, nowMs) =>
    lists(LEASES).flatMap((object) => {
      const { renewTime, leaseDurationSeconds, holderIdentity } = object.facts?.spec ?? {};
      const afterMs = (leaseDurationSeconds ?? 0) * 1_000 + SILENT_AFTER_MS;
      if (!isOlder(renewTime, afterMs, nowMs)) return [];
      const because = `${holderIdentity ? `held by ${holderIdentity}` : 'held by nobody'}, for ${leaseDurationSeconds ?? 0} s at a time`;
      return [{ key: LEASES, object, since: renewTime ?? null, because }];
    }),
};

/** Made by Kubernetes itself in each namespace, and releases of Helm, which are found by their name. */
const isNeverNamed = ({ name }: SeenObject): boolean =>
  name === 'kube-root-ca.crt' || name.startsWith('sh.helm.release.v1.');

function unnamed(): Reading {
  const names = new NamesAsked();
  const allOf = (keys: readonly string[], form: ObjectForm<SeenObject>) =>
    Object.fromEntries(keys.map((key) => [key, form]));
  return {
    // Of the texts in all objects those alone are kept that are names of these.
    stages: [
      allOf(
        NAMED,
        metadataOf((object) => names.ask(object)),
      ),
      allOf(
        NAMING,
        withTexts((namespace, text) => names.told(namespace, text)),
      ),
    ],
    find: (lists, nowMs) =>
      NAMED.flatMap((key) =>
        lists(key)
          .filter(
            (object) => object.ownerReferences.length === 0 && !isNeverNamed(object) && !names.isTold(object),
          )
          .filter(({ createdAt }) => isOlder(createdAt, UNNAMED_AFTER_MS, nowMs))
          .map((object) => ({
            key,
            object,
            since: object.createdAt,
            because: 'no Pod, workload, ServiceAccount, volume or Ingress has its name in any field',
          })),
      ),
  };
}

/** Which names of objects were told anywhere; what has no namespace may tell of any. */
class NamesAsked {
  readonly #asked = new Set<string>();
  readonly #told = new Set<string>();

  ask({ namespace, name }: SeenObject): void {
    this.#asked.add(`${namespace}/${name}`);
    this.#asked.add(`/${name}`);
  }

  told(namespace: string, text: string): void {
    const name = `${namespace}/${text}`;
    if (this.#asked.has(name)) this.#told.add(name);
  }

  isTold({ namespace, name }: SeenObject): boolean {
    return this.#told.has(`${namespace}/${name}`) || this.#told.has(`/${name}`);
  }
}

/** Each reading is for one look. */
export const REPORTS: Readonly<Record<LeftoverReport, () => Reading>> = {
  'released-volumes': () => volumes,
  'cron-job-histories': () => cronJobs,
  'silent-nodes': () => nodes,
  'expired-leases': () => leases,
  unnamed,
};

const conditionOf = (facts: Facts | null, type: string) =>
  facts?.status?.conditions?.find((condition) => condition.type === type);

/** A time that is not told, or cannot be read, is none. */
const isOlder = (time: string | null | undefined, thanMs: number, nowMs: number): boolean =>
  typeof time === 'string' && nowMs - Date.parse(time) >= thanMs;

/** Those that never started come last; of two that started together, by name. */
const asTheirController = (a: SeenObject, b: SeenObject): number =>
  startOf(a) - startOf(b) || compareText(a.name, b.name);
const startOf = ({ facts }: SeenObject): number => {
  const startMs = Date.parse(facts?.status?.startTime ?? '');
  return Number.isNaN(startMs) ? Number.MAX_SAFE_INTEGER : startMs;
};
