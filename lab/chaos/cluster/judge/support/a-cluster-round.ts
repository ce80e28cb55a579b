import type { KeyAct } from '../../../fleet/keys.ts';
import type { AuditFinding } from '../../../judge/evidence.ts';
import { certified, DECIDER, T0 } from '../../../judge/support/a-round.ts';
import type { ClusterFault } from '../../faults/fault.ts';
import type { ClusterPolicyId } from '../../policies.ts';
import type { TrueObject, TruthLine } from '../../truth.ts';
import type { ClusterAct, ClusterEvidence } from '../evidence.ts';
import type { ClusterOrder, ObjectTold } from '../log-evidence.ts';

/** Each object of a hand-written round has its name for a uid. */
export const thing = (name: string, over: Partial<TrueObject> = {}): TrueObject => ({
  group: '',
  kind: 'Secret',
  namespace: 'shop',
  name,
  uid: name,
  version: '1',
  isDeleting: false,
  finalizers: [],
  references: [],
  isKept: false,
  endsAtMs: null,
  isEnded: false,
  ...over,
});

export const ownedBy = (...owners: readonly TrueObject[]): Pick<TrueObject, 'references'> => ({
  references: owners.map(({ group, kind, name, uid }) => ({ group, kind, name, uid, blocks: true })),
});

export const owner = (name: string, over: Partial<TrueObject> = {}): TrueObject =>
  thing(name, { kind: 'ConfigMap', ...over });

type By = Extract<TruthLine, { readonly kind: 'is' }>['by'];
const time = (seconds: number): number => T0 + seconds * 1_000;

/** As it is from then on. */
export const is = (seconds: number, object: TrueObject, by: By = 'life'): TruthLine => ({
  atMs: time(seconds),
  kind: 'is',
  by,
  object,
});
export const gone = (seconds: number, object: TrueObject, by: By = 'product'): TruthLine => ({
  atMs: time(seconds),
  kind: 'gone',
  by,
  object,
});
export const restored = (seconds: number, ...objects: readonly TrueObject[]): TruthLine => ({
  atMs: time(seconds),
  kind: 'restored',
  objects,
});

export const clusterAct = (
  seconds: number,
  policy: ClusterPolicyId,
  paused: readonly string[] = [],
): ClusterAct => ({ startedMs: time(seconds), endedMs: time(seconds), setting: { policy, paused } });

export const clusterOrder = (uids: readonly string[], over: Partial<ClusterOrder> = {}): ClusterOrder => ({
  id: 'command-1',
  uids,
  atMs: T0,
  place: '0@0',
  signedBy: DECIDER,
  ...over,
});

export const told = (uid: string, over: Partial<ObjectTold> = {}): ObjectTold => ({
  uid,
  commandId: 'command-1',
  outcome: 'removed',
  atMs: T0,
  ...over,
});

interface Given {
  readonly truth: readonly TruthLine[];
  readonly acts?: readonly ClusterAct[];
  readonly faults?: readonly ClusterFault[];
  readonly orders?: readonly ClusterOrder[];
  readonly results?: readonly ObjectTold[];
  readonly answered?: readonly string[];
  readonly retold?: readonly string[];
  readonly keys?: readonly KeyAct[];
  readonly audit?: readonly AuditFinding[] | null;
  readonly distrusted?: readonly string[];
}

const touched = (truth: readonly TruthLine[]): readonly string[] => [
  ...new Set(truth.flatMap((line) => ('by' in line && line.by === 'product' ? [line.object.uid] : []))),
];

/** A round under the usual policy, in which all that the product did was ordered and told, unless other is given. */
export const aClusterRound = ({
  truth,
  acts = [clusterAct(0, 'usual')],
  faults = [],
  orders = [clusterOrder(touched(truth))],
  results = touched(truth).map((uid) => told(uid)),
  answered = ['command-1'],
  retold = [],
  keys = [certified(0)],
  audit = null,
  distrusted = [],
}: Given): ClusterEvidence => ({
  truth,
  acts,
  keys,
  clock: [],
  played: faults.map((fault) => ({
    fault,
    fromMs: T0 + fault.atMs,
    toMs: T0 + fault.atMs + fault.forMs,
  })),
  log: {
    orders,
    told: results,
    answered: new Set(answered),
    retold,
    givenUp: new Set(),
    places: [],
    tainted: new Set(),
    distrusted: new Set(distrusted),
  },
  archive: null,
  audit: audit && { findings: audit, isCut: false },
});
