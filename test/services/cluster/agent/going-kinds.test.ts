import { expect, test } from 'vitest';
import type { ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { ClusterGraph } from '../../../../services/cluster/agent/graph.ts';

const GROUPS = {
  '': { ConfigMap: 'configmaps' },
  'apiextensions.k8s.io': { CustomResourceDefinition: 'customresourcedefinitions' },
  'example.com': { Gadget: 'gadgets' },
} as const;

const served = (groups: readonly (keyof typeof GROUPS)[]) =>
  groups.map((group) => ({
    group,
    versions: [
      {
        version: 'v1',
        isStale: false,
        resources: Object.entries(GROUPS[group]).map(([kind, resource]) => ({
          ...{ group, version: 'v1', kind, resource, namespaced: false },
          verbs: ['delete', 'get', 'list', 'watch'],
        })),
      },
    ],
  }));
const ALL = ['', 'apiextensions.k8s.io', 'example.com'] as const;
const WITHOUT_GADGETS = ['', 'apiextensions.k8s.io'] as const;

const DELETED_AT = '2026-11-01T00:00:00Z';
const object = (name: string, over: Partial<ObjectMetadata> = {}): ObjectMetadata => ({
  ...{ namespace: '', name, uid: name, resourceVersion: '1', deletionTimestamp: null, finalizers: [] },
  ...{ ownerReferences: [], keep: false },
  ...over,
});
const owned = (name: string, owner: string): ObjectMetadata => {
  const reference = { apiVersion: 'example.com/v1', kind: 'Gadget', name: owner, uid: owner };
  return object(name, { ownerReferences: [{ ...reference, controller: null, blockOwnerDeletion: null }] });
};
const definition = (uid: string, over: Partial<ObjectMetadata> = {}): ObjectMetadata =>
  object('gadgets.example.com', { uid, ...over });

/** A cluster with a definition, an object of its kind and one that it owns, as an agent has read it. */
class Read {
  #nowMs = 0;
  readonly #graph = new ClusterGraph({
    nowMs: () => this.#nowMs,
    onWork: () => undefined,
    onDefinition: () => undefined,
    onUnreadable: () => undefined,
    clusterInstance: null,
    onWentBack: () => undefined,
  });

  constructor() {
    this.serve(ALL);
    this.list('CustomResourceDefinition', definition('first'));
    this.list('Gadget', object('g'));
    this.list('ConfigMap', owned('d', 'g'));
    expect(this.ownerOf('d')).toBe('not a candidate');
  }

  serve(groups: readonly (keyof typeof GROUPS)[]): void {
    const { withdrawn } = this.#graph.kinds.update({ groups: served(groups) });
    for (const kind of withdrawn) this.#graph.withdraw(kind);
  }

  list(name: string, ...objects: readonly ObjectMetadata[]): void {
    this.listWhile(name, objects, () => undefined);
  }

  /** Something is told of other kinds before the list is whole. */
  listWhile(name: string, objects: readonly ObjectMetadata[], meanwhile: () => void): void {
    this.#ofKind(name, (kind) => {
      this.#graph.beginList(kind);
      this.#graph.listed(kind, objects);
      meanwhile();
      this.#graph.endList(kind, true);
    });
  }

  put(name: string, told: ObjectMetadata): void {
    this.#ofKind(name, (kind) => this.#graph.put(kind, told));
  }

  gone(name: string, told: ObjectMetadata): void {
    this.#ofKind(name, (kind) => this.#graph.gone(kind, told));
  }

  /** How the owner of an object went, when all was looked at. */
  ownerOf(name: string): string {
    this.#nowMs += 2_000;
    this.#graph.take();
    const reference = this.#graph.candidate(name)?.references[0];
    if (reference === undefined) return 'not a candidate';
    return `${reference.state}, ${reference.gone?.how ?? 'not seen'}`;
  }

  /** Nobody watches what is not served. */
  #ofKind(name: string, tell: (kind: ResourceKind) => void): void {
    const found = this.#graph.kinds.watched.find(({ kind }) => kind === name);
    if (found !== undefined) tell(found);
  }
}

type Step = (read: Read) => void;
const CRD = 'CustomResourceDefinition';
const goes: Step = (read) => read.put(CRD, definition('first', { deletionTimestamp: DELETED_AT }));
const isGone: Step = (read) => read.gone(CRD, definition('first'));
const isMadeAnew: Step = (read) => read.put(CRD, definition('second'));
const isListedAway: Step = (read) => read.list(CRD);
const isListedAnew: Step = (read) => read.list(CRD, definition('second'));

const ownerGoes: Step = (read) => read.gone('Gadget', object('g'));
const isListedWithout: Step = (read) => read.list('Gadget');
const isServedNoMore: Step = (read) => read.serve(WITHOUT_GADGETS);
const isServedAgain: Step = (read) => read.serve(ALL);

const OF_DEFINITIONS: readonly (readonly Step[])[] = [
  [goes, isGone, isMadeAnew],
  [goes, isListedAway, isMadeAnew],
  [goes, isListedAnew],
  [isListedAway, isListedAnew],
  [isListedAnew],
];
const OF_THE_KIND: readonly (readonly Step[])[] = [
  [ownerGoes, isListedWithout],
  [isListedWithout],
  [isServedNoMore, isServedAgain, isListedWithout],
  [ownerGoes, isServedNoMore, isServedAgain, isListedWithout],
];

const STEPS = new Map<Step, string>(
  Object.entries({
    ...{ goes, isGone, isMadeAnew, isListedAway, isListedAnew },
    ...{ ownerGoes, isListedWithout, isServedNoMore, isServedAgain },
  }).map(([name, step]) => [step, name]),
);

/** Each order in which two watches can tell. */
function merged(one: readonly Step[], other: readonly Step[]): readonly (readonly Step[])[] {
  const [first, ...rest] = one;
  const [second, ...others] = other;
  if (first === undefined || second === undefined) return [[...one, ...other]];
  return [
    ...merged(rest, other).map((steps) => [first, ...steps]),
    ...merged(one, others).map((steps) => [second, ...steps]),
  ];
}

const ORDERS = OF_DEFINITIONS.flatMap((one) => OF_THE_KIND.flatMap((other) => merged(one, other)));

test('[cluster S3] an owner went with its definition in whatever order two watches tell of both', () => {
  for (const steps of ORDERS) {
    const read = new Read();
    let isDefinitionToldOf = false;
    const seen = steps.map((step) => {
      step(read);
      isDefinitionToldOf ||= OF_DEFINITIONS.flat().includes(step);
      const owner = read.ownerOf('d');
      if (isDefinitionToldOf) expect(owner).not.toMatch(/^gone, (?!kind-going)/);
      return owner;
    });
    expect(seen.at(-1), steps.map((step) => STEPS.get(step)).join(', ')).toBe('gone, kind-going');
  }
});

test('[cluster S3] when the kind was listed under its new definition an owner goes as any other', () => {
  const read = new Read();
  for (const step of [goes, ownerGoes, isGone, isMadeAnew, isListedWithout]) step(read);
  read.put('Gadget', object('later'));
  read.put('ConfigMap', owned('e', 'later'));
  read.gone('Gadget', object('later'));
  expect([read.ownerOf('e'), read.ownerOf('d')]).toEqual(['gone, watched', 'gone, kind-going']);
});

test('[cluster S3] a list under the definition before does not count as one of the new one', () => {
  const read = new Read();
  goes(read);
  isListedWithout(read);
  isGone(read);
  isMadeAnew(read);
  read.put('Gadget', object('late'));
  read.put('ConfigMap', owned('e', 'late'));
  read.gone('Gadget', object('late'));
  expect(read.ownerOf('e')).toBe('gone, kind-going');
});

test('[cluster S3] nor does a list that began under the definition before and is whole under the new one', () => {
  const read = new Read();
  read.listWhile('Gadget', [object('g')], () => {
    for (const step of [goes, isGone, isMadeAnew]) step(read);
  });
  ownerGoes(read);
  expect(read.ownerOf('d')).toBe('gone, kind-going');
});
