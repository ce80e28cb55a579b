import type { Fault } from '../../faults/fault.ts';
import type { Act } from '../../fleet/operator.ts';
import type { TruthLine } from '../../truth.ts';
import type { ArchiveEvidence, Evidence } from '../evidence.ts';
import { type CommandSeen, type ResultSeen, toldOf } from '../log-evidence.ts';

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
  readonly audit?: Evidence['audit'];
  readonly archive?: ArchiveEvidence | null;
}

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
}: Given): Evidence => ({
  nodes: [{ name: NODE, truth }],
  acts: acts ?? [act(0, { policy: 'usual', paused: [] })],
  played: faults.map(played),
  log: {
    commands,
    ...toldOf(results),
    givenUp: new Set(givenUp),
    places,
    tainted: new Set(tainted),
  },
  audit,
  archive,
});
