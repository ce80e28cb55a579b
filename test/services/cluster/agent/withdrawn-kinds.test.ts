import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../../packages/deciders/graph-gc/decide.ts';
import type { DiscoveredGroup } from '../../../../packages/kube-api/discovery.ts';
import type { ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterGraph } from '../../../../services/cluster/agent/graph.ts';
import { approval, approvedOwner } from '../../../fixtures/approval.ts';
import { clusterPolicy } from '../../../fixtures/cluster.ts';
import { runs } from '../../../support/property-runs.ts';

const GROUPS = {
  '': { ConfigMap: 'configmaps' },
  'apiextensions.k8s.io': { CustomResourceDefinition: 'customresourcedefinitions' },
  'apiregistration.k8s.io': { APIService: 'apiservices' },
  'example.com': { Gadget: 'gadgets', Gizmo: 'gizmos' },
  'metrics.example.com': { Load: 'loads' },
} as const;
type Group = keyof typeof GROUPS;
const ALL = Object.keys(GROUPS) as Group[];

const OBJECT: ObjectMetadata = {
  ...{ namespace: '', name: 'x', uid: 'x', resourceVersion: '1', deletionTimestamp: null, finalizers: [] },
  ...{ ownerReferences: [], keep: false },
};
const object = (name: string, over: Partial<ObjectMetadata> = {}): ObjectMetadata => ({
  ...OBJECT,
  name,
  uid: name,
  ...over,
});
const reference = { apiVersion: 'example.com/v1', kind: 'Gadget', name: 'g', uid: 'g' };
const DEPENDENT = object('d', {
  ownerReferences: [{ ...reference, controller: null, blockOwnerDeletion: null }],
});
const definition = (uid: string, over: Partial<ObjectMetadata> = {}): ObjectMetadata =>
  object('gadgets.example.com', { uid, ...over });
const DELETING = { deletionTimestamp: '2026-11-01T00:00:00Z', finalizers: ['cleanup'] };
const CRD = 'CustomResourceDefinition';
const MINUTE_S = 60;

interface Served {
  readonly without?: readonly string[];
  readonly stale?: readonly Group[];
}
const servedGroups = ({ without = [], stale = [] }: Served): readonly DiscoveredGroup[] =>
  ALL.filter((group) => !without.includes(group)).map((group) => ({
    group,
    versions: [
      {
        version: 'v1',
        isStale: stale.includes(group),
        resources: Object.entries(GROUPS[group])
          .filter(([kind]) => !without.includes(kind))
          .map(([kind, resource]) => ({
            ...{ group, version: 'v1', kind, resource, namespaced: false },
            verbs: ['delete', 'get', 'list', 'watch'],
          })),
      },
    ],
  }));

/** A cluster with a definition, a Gadget and an object that it owns, as an agent has read it. */
class Cluster {
  #nowMs = 0;
  readonly graph = new ClusterGraph({
    nowMs: () => this.#nowMs,
    onWork: () => undefined,
    onDefinition: () => undefined,
    onUnreadable: () => undefined,
    clusterInstance: null,
    onWentBack: () => undefined,
  });

  constructor() {
    this.serve({});
    this.list(CRD, definition('first'));
    this.list('APIService');
    this.list('Gadget', object('g'));
    for (const kind of ['Gizmo', 'Load']) this.list(kind);
    this.list('ConfigMap', DEPENDENT);
    this.pass(2);
  }

  serve(served: Served): void {
    const { withdrawn } = this.graph.kinds.update({ groups: servedGroups(served) });
    for (const kind of withdrawn) this.graph.withdraw(kind);
  }

  list(name: string, ...objects: readonly ObjectMetadata[]): void {
    this.#ofKind(name, (kind) => {
      this.graph.beginList(kind);
      this.graph.listed(kind, objects);
      this.graph.endList(kind, true);
    });
  }

  put(name: string, told: ObjectMetadata): void {
    this.#ofKind(name, (kind) => this.graph.put(kind, told));
  }

  gone(name: string, told: ObjectMetadata): void {
    this.#ofKind(name, (kind) => this.graph.gone(kind, told));
  }

  fail(name: string): void {
    this.#ofKind(name, (kind) => this.graph.failed(kind, 'forbidden'));
  }

  pass(seconds: number): void {
    this.#nowMs += seconds * 1_000;
    this.graph.take();
  }

  /** What graph-gc decides about the dependent; `null` where nobody asks. */
  verdict(profile: ClusterPolicy['profile'], approvals: Parameters<typeof decide>[2] = []): string | null {
    const candidate = this.graph.candidate('d');
    if (candidate === null) return null;
    const { verdicts } = decide(
      { candidates: [candidate], wentBack: false },
      clusterPolicy({ profile }),
      approvals,
    );
    return verdicts.map(({ action, rule }) => `${action} ${rule}`).join();
  }

  /** Nobody watches what is not served. */
  #ofKind(name: string, tell: (kind: ResourceKind) => void): void {
    const found = this.graph.kinds.watched.find(({ kind }) => kind === name);
    if (found !== undefined) tell(found);
  }
}

type Step = (cluster: Cluster) => void;
const definitionGoes: Step = (cluster) => cluster.put(CRD, definition('first', DELETING));
const ownerGoes: Step = (cluster) => cluster.gone('Gadget', object('g'));
const definitionIsGone: Step = (cluster) => cluster.gone(CRD, definition('first'));
const kindIsUnserved: Step = (cluster) => cluster.serve({ without: ['Gadget'] });
const DELETION: readonly Step[] = [definitionGoes, ownerGoes, definitionIsGone, kindIsUnserved];

function clusterAfter(steps: readonly Step[], seconds = MINUTE_S): Cluster {
  const cluster = new Cluster();
  for (const step of steps) step(cluster);
  cluster.pass(seconds);
  return cluster;
}

describe('an owner that was seen to go with its definition', () => {
  test('[cluster S17] is absent a minute later: in profile kubernetes what it left goes', () => {
    expect(clusterAfter(DELETION).verdict('kubernetes')).toBe('delete D14');
    expect(clusterAfter(DELETION).graph.isGoneWithItsKind('g')).toBe(true);
    expect(clusterAfter(DELETION, MINUTE_S - 1).verdict('kubernetes')).toBe('keep D9');
    expect(clusterAfter(DELETION, MINUTE_S - 1).graph.isGoneWithItsKind('g')).toBe(false);
  });

  test('[cluster S17] in profile fleetgc what it left is held, and goes by an approval of this owner', () => {
    const cluster = clusterAfter(DELETION);
    expect(cluster.verdict('fleetgc')).toBe('hold S3');
    const approved = (ownerKind: string) => [
      approval(approvedOwner('g', 10, { ownerKind, namespace: '', name: 'g' })),
    ];
    expect(cluster.verdict('fleetgc', approved('example.com/Gadget'))).toBe('delete D14');
    expect(cluster.verdict('fleetgc', approved('example.com/Gizmo'))).toBe('hold S3');
  });

  test('[cluster S17] also where all kinds of its group are withdrawn, and the group with them', () => {
    const withoutGroup: Step = (cluster) => cluster.serve({ without: ['example.com'] });
    expect(clusterAfter([...DELETION, withoutGroup]).verdict('kubernetes')).toBe('delete D14');
  });
});

const NOT_SURE: readonly (readonly [string, readonly Step[]])[] = [
  ['the definition is only about to go', [definitionGoes, ownerGoes, kindIsUnserved]],
  ['the owner was not seen to go', [definitionGoes, definitionIsGone, kindIsUnserved]],
  [
    'a list told that the owner is gone',
    [definitionGoes, (cluster) => cluster.list('Gadget'), definitionIsGone, kindIsUnserved],
  ],
  [
    'a list told that the definition is gone',
    [definitionGoes, ownerGoes, (c) => c.list(CRD), kindIsUnserved],
  ],
  ['the definition is made anew', [...DELETION, (cluster) => cluster.put(CRD, definition('second'))]],
  [
    'it is made anew and not established',
    [...DELETION, (cluster) => cluster.put(CRD, definition('second')), kindIsUnserved],
  ],
  ['its group fails', [...DELETION, (c) => c.serve({ without: ['Gadget'], stale: ['example.com'] })]],
  [
    'another group fails',
    [...DELETION, (c) => c.serve({ without: ['Gadget'], stale: ['metrics.example.com'] })],
  ],
  [
    'definitions are not served for a moment',
    [...DELETION, (c) => c.serve({ without: ['Gadget', 'apiextensions.k8s.io'] })],
  ],
  [
    'services are not served for a moment',
    [...DELETION, (c) => c.serve({ without: ['Gadget', 'apiregistration.k8s.io'] })],
  ],
  ['definitions cannot be listed any more', [...DELETION, (cluster) => cluster.fail(CRD)]],
  ['no definition was deleted, and the group vanished', [(c) => c.serve({ without: ['example.com'] })]],
  [
    'an aggregated API went with its objects, and has no definition',
    [(c) => c.list(CRD), ownerGoes, (c) => c.serve({ without: ['example.com'] })],
  ],
];

test.each(NOT_SURE)('[cluster S17] unknown means keep: %s', (_, steps) => {
  const cluster = clusterAfter(steps, 3_600);
  expect([null, 'keep D9', 'keep I10']).toContain(cluster.verdict('kubernetes'));
  expect(cluster.graph.isGoneWithItsKind('g')).toBe(false);
});

test.each<readonly [string, Step]>([
  ['the kind is served still', () => undefined],
  ['an answer without the core group', (cluster) => cluster.serve({ without: ['', 'Gadget'] })],
  ['an empty answer', (cluster) => cluster.serve({ without: ALL })],
])('[cluster S17] no kind is withdrawn that discovery did not tell to be gone: %s', (_, told) => {
  const cluster = clusterAfter([definitionGoes, ownerGoes, definitionIsGone, told], 3_600);
  expect(cluster.graph.kinds.find('example.com/v1', 'Gadget').state).toBe('watched');
  expect(cluster.graph.isGoneWithItsKind('g')).toBe(false);
});

test('[cluster S17] no outage, partial answer or order of news makes an owner absent that was not seen to go with its definition', () => {
  const outage: fc.Arbitrary<Step> = fc.oneof(
    fc.subarray<string>([...ALL, 'Gadget', 'Gizmo']).chain((without) =>
      fc.subarray(ALL).map(
        (stale): Step =>
          (cluster) =>
            cluster.serve({ without, stale }),
      ),
    ),
    fc.constantFrom<Step>(
      (cluster) => cluster.fail(CRD),
      (cluster) => cluster.fail('Gadget'),
      (cluster) => cluster.list(CRD),
      (cluster) => cluster.list(CRD, definition('first')),
      (cluster) => cluster.put(CRD, definition('second')),
      (cluster) => cluster.put(CRD, definition('first', DELETING)),
      (cluster) => cluster.pass(3_600),
      kindIsUnserved,
    ),
  );
  const oneOfBoth = fc.constantFrom<Step>(ownerGoes, definitionIsGone);
  fc.assert(
    fc.property(fc.array(outage), oneOfBoth, fc.array(outage), (before, one, later) => {
      const cluster = clusterAfter([...before, one, ...later], 3_600);
      if (cluster.graph.kinds.find('example.com/v1', 'Gadget').state !== 'unresolved') return;
      expect([null, 'keep D9', 'keep I10']).toContain(cluster.verdict('kubernetes'));
      expect(cluster.graph.isGoneWithItsKind('g')).toBe(false);
    }),
    runs(200),
  );
});
