import type { Fault } from '../../faults/fault.ts';
import type { KeyAct } from '../../fleet/keys.ts';
import type { ClockStep } from '../../fleet/machine-clock.ts';
import type { Act } from '../../fleet/operator.ts';
import type { TruthLine } from '../../truth.ts';
import type { ArchiveEvidence, AuditFinding, Evidence } from '../evidence.ts';
import { type CommandSeen, type OrderSeen, type ResultSeen, toldOf } from '../log-evidence.ts';

/** When everything began, in the hand-written rounds. */
export const T0 = 1_000_000;
export const NODE = 'node-a';
export const IMAGE = 'sha256:one';

/** A line of a truth that was written by hand, so many seconds after the beginning. */
export type Told = TruthLine extends infer Line ? (Line extends unknown ? Omit<Line, 'atMs'> : never) : never;
export const at = (seconds: number, line: Told): TruthLine => ({ ...line, atMs: T0 + seconds * 1000 });

export const image = (seconds: number, over: Partial<Extract<Told, { kind: 'image' }>> = {}): TruthLine =>
  at(seconds, {
    kind: 'image',
    id: IMAGE,
    names: ['registry.example/shop/app:1'],
    sizeBytes: 1,
    pinned: false,
    ...over,
  });

/** The image goes by a call that came in at that time. */
export const removal = (
  seconds: number,
  { id = IMAGE, usedPercentBefore = 85 }: { readonly id?: string; readonly usedPercentBefore?: number } = {},
): readonly TruthLine[] => [
  at(seconds, { kind: 'asked', call: seconds, what: 'removeImage', id }),
  at(seconds, { kind: 'image-gone', id, by: 'cri', usedPercentBefore }),
  at(seconds, { kind: 'answered', call: seconds, ok: true }),
];

export const container = (seconds: number, id: string, namespace = 'shop'): TruthLine =>
  at(seconds, {
    kind: 'container',
    id,
    imageId: IMAGE,
    pod: { uid: 'pod-1', namespace, name: 'app' },
  });

export const act = (seconds: number, setting: Act['setting']): Act => ({
  startedMs: T0 + seconds * 1000,
  endedMs: T0 + seconds * 1000,
  setting,
});

export const result = (over: Partial<ResultSeen> = {}): ResultSeen => ({
  type: 'fleetgc.node.object-result',
  id: 'result-1',
  node: NODE,
  commandId: 'command-1',
  object: { kind: 'image', id: IMAGE },
  journal: 'disk',
  result: { outcome: 'removed' },
  atMs: T0,
  ...over,
});

export const command = (over: Partial<CommandSeen> = {}): CommandSeen => ({
  type: 'fleetgc.node.command',
  id: 'command-1',
  node: NODE,
  items: [{ kind: 'image', id: IMAGE }],
  atMs: T0,
  place: '0@0',
  ...over,
});

export const played = (fault: Fault) => ({
  fault,
  fromMs: T0 + fault.atMs,
  toMs: T0 + fault.atMs + fault.forMs,
});

interface Given {
  readonly truth: readonly TruthLine[];
  readonly acts?: readonly Act[];
  readonly faults?: readonly Fault[];
  readonly commands?: readonly CommandSeen[];
  readonly results?: readonly ResultSeen[];
  readonly givenUp?: readonly string[];
  readonly places?: readonly string[];
  readonly tainted?: readonly string[];
  readonly audit?: readonly AuditFinding[] | null;
  readonly orders?: readonly OrderSeen[];
  readonly keys?: readonly KeyAct[];
  readonly clock?: readonly ClockStep[];
  readonly distrusted?: readonly string[];
  readonly archive?: ArchiveEvidence | null;
}

export const DECIDER = 'decider-key';

/** A root certifies a key; it lies on the log half a second later. */
export const certified = (
  seconds: number,
  {
    keyId = DECIDER,
    role = 'decider',
    untilS = 1_000,
  }: { keyId?: string; role?: 'decider' | 'operator'; untilS?: number } = {},
): KeyAct => ({
  statement: {
    type: 'fleetgc.key-certificate',
    version: 1,
    id: `certificate of ${keyId}`,
    keyId,
    publicKey: '',
    role,
    clusters: [],
    name: keyId,
    issuedAtMs: T0 + seconds * 1000,
    notAfterMs: T0 + untilS * 1000,
  },
  startedMs: T0 + seconds * 1000,
  endedMs: T0 + seconds * 1000 + 500,
});

export const revoked = (seconds: number, keyId = DECIDER): KeyAct => ({
  statement: {
    type: 'fleetgc.key-revocation',
    version: 1,
    id: `revocation of ${keyId}`,
    keyId,
    reason: 'stolen',
    issuedAtMs: T0 + seconds * 1000,
    untrustedFromMs: T0 + seconds * 1000,
  },
  startedMs: T0 + seconds * 1000,
  endedMs: T0 + seconds * 1000 + 500,
});

export const order = (items: OrderSeen['items'], over: Partial<OrderSeen> = {}): OrderSeen => ({
  id: 'command-1',
  node: NODE,
  items,
  atMs: T0,
  signedBy: DECIDER,
  ...over,
});

/** Of everything that goes. */
const itemsOf = (truth: readonly TruthLine[]): OrderSeen['items'] =>
  truth.flatMap((line) => {
    if (line.kind === 'image-gone') return [{ kind: 'image', id: line.id }];
    if (line.kind === 'container-gone') return [{ kind: 'container', id: line.id }];
    return line.kind === 'sandbox-gone' ? [{ kind: 'sandbox', id: line.id }] : [];
  });

const isRemoval = ({ kind }: TruthLine): boolean => kind === 'image-gone';

/** A round of one node under the usual policy, with one result where an image went unless others are given. */
export const aRound = ({
  truth,
  acts,
  faults = [],
  commands = [],
  results = truth.filter(isRemoval).map(() => result()),
  givenUp = [],
  places = [],
  tainted = [],
  audit = null,
  archive = null,
  orders = [order(itemsOf(truth))],
  keys = [certified(0)],
  clock = [],
  distrusted = [],
}: Given): Evidence => ({
  nodes: [{ name: NODE, truth }],
  acts: acts ?? [act(0, { policy: 'usual', paused: [] })],
  played: faults.map(played),
  keys,
  clocks: { [NODE]: clock },
  log: {
    commands,
    orders,
    ...toldOf(results),
    givenUp: new Set(givenUp),
    places,
    tainted: new Set(tainted),
    distrusted: new Set(distrusted),
  },
  audit: audit && { findings: audit, isCut: false },
  archive,
});
