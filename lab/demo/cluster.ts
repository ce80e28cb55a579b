import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { candidatesOf, decisionLines, type Judged, resultLines } from '../../cli/run/cluster.ts';
import { eventsOf } from '../../cli/run/lines.ts';
import { ruleWords } from '../../packages/deciders/rule-words.ts';
import { type Named, nameOf, objectsText } from '../../packages/documents/cluster.ts';
import { writeNewFile } from '../../packages/files/open-file.ts';
import type { ApiKind } from '../../packages/kube-api/resources.ts';
import type { LogReader } from '../../packages/log/port.ts';
import {
  readClusterPolicyFiles,
  type WrittenClusterPolicy,
} from '../../packages/policy/file/read-policy-file.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import type { ClusterDecision } from '../../schemas/events/cluster-decision.ts';
import { kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import { removingOptions } from '../../services/cluster/cluster-options.ts';
import { openCluster } from '../../services/cluster/open-cluster.ts';
import { runCluster } from '../../services/cluster/run-cluster.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { startApiServer } from '../sim/api-server/api-server.ts';
import { Deeds, type Owner, SimulatedCluster } from '../sim/api-server/cluster.ts';
import { CONFIG_MAP, DEPLOYMENT, POD, REPLICA_SET, SECRET, SERVED } from '../sim/api-server/objects.ts';

export const DEMO_CLUSTER = 'demo';

/** The policy of the second act. */
export const CLUSTER_POLICY = `kind: ClusterPolicy
name: demo-cluster
mode: enforce
collectors:
  - garbage-collector-controller    # what FleetGC does in place of kube-controller-manager
limits:
  cascade: 20                       # the default is 1000
`;

/** As `policy apply` reads it. */
export function clusterPolicy(): WrittenClusterPolicy {
  const files = readClusterPolicyFiles([{ file: 'demo policy', text: CLUSTER_POLICY }]);
  const [first] = files.valid ? files.policies : [];
  if (first === undefined)
    throw new FleetGcError('INTERNAL', 'the policy of the demo for clusters is not valid');
  return first;
}

/** As `cluster run` where nothing is said. */
const removing = z.object(removingOptions).parse({});

export interface ClusterAct {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  /** Of the demo's own files. */
  readonly directory: string;
  readonly announce: (scene: Scene) => void;
  readonly tell: (news: ClusterNews) => void;
}

/**
 * A simulated cluster, and what `fleetgc cluster run` runs for ownership: until all scenes are played, or the signal aborts. Throws
 * `TIMEOUT`.
 */
export async function playClusterAct(act: ClusterAct, signal: AbortSignal): Promise<void> {
  const { process, policies, announce, tell } = act;
  const { sources, log } = process;
  const served = new SimulatedCluster({
    kinds: [...SERVED, TENANT],
    now: sources.now,
    newId: sources.newId,
  });
  const deeds = new Deeds(served);
  furnish(deeds);
  const token = randomUUID();
  await using server = await startApiServer({ cluster: served, token, wait: sources.wait });
  const kubeconfig = join(act.directory, 'kubeconfig');
  writeNewFile(kubeconfig, kubeconfigText(server.url, token));
  using cluster = await openCluster(
    { cluster: DEMO_CLUSTER, kubeconfig },
    { environment: {}, sources, signal },
  );
  const settled = new Settled();
  using ending = new LinkedController(signal);
  const onNews = (news: ClusterNews): void => {
    tell(news);
    settled.note(news);
  };
  await runTogether(
    [
      (stop) => watchCluster({ log, fromMs: sources.now() }, onNews, stop),
      (stop) => runDeciders(['graph-gc'], { process, policies, signal: stop }),
      (stop) =>
        runCluster(
          { process, cluster, signal: stop },
          { policies, removing, state: { path: act.directory } },
        ),
      async (stop) => {
        await playScenes(SCENES, { deeds, settled, announce, sources }, stop);
        ending.abort();
      },
    ],
    ending.signal,
  );
}

const kubeconfigText = (server: string, token: string): string =>
  JSON.stringify({
    clusters: [{ name: DEMO_CLUSTER, cluster: { server } }],
    users: [{ name: DEMO_CLUSTER, user: { token } }],
    contexts: [{ name: DEMO_CLUSTER, context: { cluster: DEMO_CLUSTER, user: DEMO_CLUSTER } }],
    'current-context': DEMO_CLUSTER,
  });

/** One thing that was decided or done about one object. */
interface ClusterStep {
  readonly action: string;
  readonly rule: string;
  readonly object: Named;
}

/** What FleetGC tells of the cluster at once. */
export interface ClusterNews {
  readonly kind: 'cluster-decided' | 'cluster-done';
  readonly steps: readonly (ClusterStep & { readonly outcome: string })[];
  /** For people. */
  readonly lines: readonly string[];
  /** What is settled by it, by `outcomeOf`. */
  readonly ends: readonly string[];
}

/** Reads the event log from this time on, and calls `onNews` for what happens, until the signal aborts. */
export async function watchCluster(
  { log, fromMs }: { readonly log: LogReader; readonly fromMs: number },
  onNews: (news: ClusterNews) => void,
  signal: AbortSignal,
): Promise<void> {
  const decisions = async (): Promise<void> => {
    for await (const decision of eventsOf(log, { topic: 'clusterDecisions', fromMs }, signal))
      onNews(decided(decision, (await candidatesOf(decision, log, signal)) ?? []));
  };
  const results = async (): Promise<void> => {
    for await (const result of eventsOf(log, { topic: 'clusterResults', fromMs }, signal))
      if (result.type === 'fleetgc.cluster.object-results') onNews(done(result));
  };
  await Promise.all([decisions(), results()]);
}

/** What a decision alone settles: all else has to be carried out. */
const BY_DECISION: ReadonlySet<string> = new Set(['keep', 'hold']);
/** Of all that is kept, only this is told: everything else has an owner that holds it. */
const COPY_IS_KEPT = 'S4';

function decided(decision: ClusterDecision, candidates: readonly Judged[]): ClusterNews {
  const { outcome } = decision;
  const steps = decision.verdicts.flatMap(({ position, action, rule }) => {
    const object = candidates[position]?.object;
    return object === undefined ? [] : [{ action, rule, object: named(object), outcome }];
  });
  const kept = steps.filter(({ rule }) => rule === COPY_IS_KEPT);
  return {
    kind: 'cluster-decided',
    steps,
    lines: [...keptLines(decision, kept), ...decisionLines(decision, candidates)],
    ends: steps
      .filter(({ action }) => BY_DECISION.has(action))
      .map(({ action, object }) => outcomeOf(action, object)),
  };
}

const keptLines = ({ decider }: ClusterDecision, kept: readonly ClusterStep[]): readonly string[] =>
  kept.length === 0
    ? []
    : [
        `${decider.name} keeps ${objectsText(
          kept.length,
          kept.map(({ object }) => object),
        )}: ${ruleWords({ rule: COPY_IS_KEPT, action: 'keep' })} (${COPY_IS_KEPT})`,
      ];

const DONE: ReadonlySet<string> = new Set(['removed', 'accepted', 'patched', 'not-found']);

function done({ objects }: ClusterObjectResults): ClusterNews {
  const steps = objects.map(({ action, rule, object, result }) => ({
    action,
    rule,
    object: named(object),
    outcome: result.outcome,
  }));
  return {
    kind: 'cluster-done',
    steps,
    lines: resultLines({ objects }),
    ends: steps
      .filter(({ outcome }) => DONE.has(outcome))
      .map(({ action, object }) => outcomeOf(action, object)),
  };
}

const named = ({ group, kind, namespace, name }: Named): Named => ({ group, kind, namespace, name });

/** Longer than any machine should take for one. */
const LONGEST_SCENE_MS = 120_000;

/** What has been settled so far, for whoever waits for it. */
export class Settled {
  readonly #settled = new Set<string>();
  #onNews: () => void = () => undefined;

  note({ ends }: ClusterNews): void {
    for (const each of ends) this.#settled.add(each);
    this.#onNews();
  }

  /** Resolves to whether all of it is settled: `false` when the signal aborted before. */
  async all(ends: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const look = (): void => {
      if (ends.every((each) => this.#settled.has(each))) resolve(true);
    };
    const stop = (): void => resolve(false);
    this.#onNews = look;
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    look();
    const isSettled = await promise;
    signal.removeEventListener('abort', stop);
    this.#onNews = () => undefined;
    return isSettled;
  }
}

interface Playing {
  readonly deeds: Deeds;
  readonly settled: Settled;
  readonly announce: (scene: Scene) => void;
  readonly sources: Pick<Sources, 'wait'>;
}

/** One after the other: what follows from one is told before the next begins. Throws `TIMEOUT`. */
export async function playScenes(
  scenes: readonly Scene[],
  { deeds, settled, announce, sources }: Playing,
  signal: AbortSignal,
): Promise<void> {
  for (const scene of scenes) {
    announce(scene);
    scene.act(deeds);
    using bounded = new LinkedController(signal);
    void sources.wait(LONGEST_SCENE_MS, bounded.signal).then(() => bounded.abort());
    const isSettled = await settled.all(scene.ends, bounded.signal);
    const isLate = !isSettled && !signal.aborted;
    bounded.abort();
    if (isLate) throw tooSlow(scene);
    if (!isSettled) return;
  }
}

const tooSlow = ({ command }: Scene): FleetGcError =>
  new FleetGcError(
    'TIMEOUT',
    `what follows from "${command}" was not told within ${LONGEST_SCENE_MS / 1000} s; is this machine very busy?`,
  );

/** A kind of the people who use the cluster. */
export const TENANT: ApiKind = {
  group: 'shop.example',
  version: 'v1',
  kind: 'Tenant',
  resource: 'tenants',
  namespaced: true,
};

/** What a person does, and what FleetGC then has told. */
export interface Scene {
  /** As it would be typed. */
  readonly command: string;
  /** What follows, and why, in sentences. */
  readonly why: readonly string[];
  readonly act: (deeds: Deeds) => void;
  /** By `outcomeOf`. */
  readonly ends: readonly string[];
}

/** One thing that became of one object: `delete Pod shop/web-1`. */
const outcomeOf = (action: string, object: Named): string =>
  `${action} ${kindName(object)} ${nameOf(object)}`;

const SHOP = 'shop';
const STAGING = 'staging';
const REPLICAS = 3;
const IMAGE = 'registry.example/shop/web:1.4.2';
/** What the controller of Deployments makes of each template. */
const HASHES = { web: '5d9c7b8f6d', api: '7c4b5f9d88', jobs: '6f8d9c7b54' } as const;
type Workload = keyof typeof HASHES;
/** More than the policy lets go with one owner. */
const TENANT_OBJECTS = 30;

const inShop = (kind: ApiKind, name: string): Owner => ({ kind, name: { namespace: SHOP, name } });
const deployment = (name: Workload): Owner => inShop(DEPLOYMENT, name);
const replicaSet = (name: Workload): Owner => inShop(REPLICA_SET, `${name}-${HASHES[name]}`);
const pods = (name: Workload): readonly Owner[] =>
  Array.from({ length: REPLICAS }, (_, index) => inShop(POD, `${name}-${HASHES[name]}-${index + 1}`));
const certificate = inShop(SECRET, 'web-tls');
const copied: Owner = { ...certificate, name: { ...certificate.name, namespace: STAGING } };
export const tenant = inShop(TENANT, 'acme');
const tenantObjects: readonly Owner[] = Array.from({ length: TENANT_OBJECTS }, (_, index) =>
  inShop(index % 2 === 0 ? CONFIG_MAP : SECRET, `acme-${String(index + 1).padStart(2, '0')}`),
);

const end = (action: string, { kind, name }: Owner): string =>
  outcomeOf(action, { group: kind.group, kind: kind.kind, ...name });

/** What is there before anything happens. */
export function furnish(deeds: Deeds): void {
  for (const namespace of [SHOP, STAGING]) deeds.createNamespace(namespace);
  for (const name of ['web', 'api', 'jobs'] as const)
    deeds.deploy({ namespace: SHOP, name, image: IMAGE, replicas: REPLICAS, hash: HASHES[name] });
  deeds.create({ ...certificate, owner: deployment('web'), fields: { type: 'kubernetes.io/tls' } });
  deeds.create(tenant);
  for (const object of tenantObjects) deeds.create({ ...object, owner: tenant });
}

/** In this order. */
export const SCENES: readonly Scene[] = [
  {
    command: `kubectl get secret web-tls -n ${SHOP} -o yaml | sed s/${SHOP}/${STAGING}/ | kubectl create -f -`,
    why: [
      'A Secret is copied to another namespace, and its reference to the Deployment web comes along.',
      'The garbage collector of Kubernetes would delete the copy, since there is no such owner beside it.',
      'FleetGC keeps it (S4).',
    ],
    act: (deeds) => deeds.copy(certificate, STAGING),
    ends: [end('keep', copied)],
  },
  {
    command: `kubectl delete deployment web -n ${SHOP}`,
    why: [
      'The Deployment is gone at once.',
      'What it owned has no owner any more and goes, and then what that owned (D14).',
      'The copy in staging stays.',
    ],
    act: (deeds) => deeds.delete(deployment('web'), 'Background'),
    ends: [replicaSet('web'), certificate, ...pods('web')].map((each) => end('delete', each)),
  },
  {
    command: `kubectl delete deployment api -n ${SHOP} --cascade=foreground`,
    why: [
      'The Deployment waits for its dependents, with a finalizer.',
      'They go first, and FleetGC removes the finalizer when none are left (D17).',
    ],
    act: (deeds) => deeds.delete(deployment('api'), 'Foreground'),
    ends: [...pods('api').map((each) => end('delete', each)), end('finish', deployment('api'))],
  },
  {
    command: `kubectl delete deployment jobs -n ${SHOP} --cascade=orphan`,
    why: [
      'The dependents are to live on.',
      'FleetGC takes their references to the owner away (E1), and then lets the owner go (E3).',
    ],
    act: (deeds) => deeds.delete(deployment('jobs'), 'Orphan'),
    ends: [end('drop-references', replicaSet('jobs')), end('finish', deployment('jobs'))],
  },
  {
    command: `kubectl delete tenant acme -n ${SHOP}`,
    why: [
      `${TENANT_OBJECTS} objects would go with it, more than the policy lets go with one owner.`,
      'It may have been a mistake, so they are held until the deletion is approved (S1).',
    ],
    act: (deeds) => deeds.delete(tenant, 'Background'),
    ends: tenantObjects.map((each) => end('hold', each)),
  },
];
