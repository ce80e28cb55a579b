import { counted } from '../../../packages/text/counted.ts';
import type { ClusterDecision, ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import {
  type ClusterCommandResult,
  type ClusterObjectResults,
  type FoundLater,
  foundLater,
} from '../../../schemas/events/cluster-result.ts';
import type { ClusterDeciderName } from '../../../schemas/events/deciders.ts';
import { type Named, objectsText } from '../../views/cluster/object-text.ts';
import { PATCHED } from '../../views/cluster/patched-text.ts';

/** What a fact says of an object that was decided on. */
export interface Judged {
  readonly object: Named;
  /** What goes with each owner that is missing or waits, this object among it. Facts about time and nodes know of none. */
  readonly cascades?: readonly { readonly ownerUid: string; readonly objects: number }[];
}

/**
 * What a decision means for the cluster, a line for each thing that it comes to; none where nothing follows from it. Without the
 * candidates of its fact it tells numbers alone.
 */
export function decisionLines(
  decision: ClusterDecision,
  candidates: readonly Judged[] | null,
): readonly string[] {
  const { decider, outcome, verdicts } = decision;
  const objectsOf = (chosen: readonly ClusterVerdict[]): string =>
    objectsText(
      chosen.length,
      chosen.flatMap(({ position }) => candidates?.[position]?.object ?? []),
    );
  const holds = groupsOf(verdicts.filter(({ action }) => action === 'hold')).map(
    ([rule, held]) => `${decider.name} holds ${objectsOf(held)}: ${holdText(decider.name, rule, held)}`,
  );
  const wants = WANTS[outcome];
  if (wants === null)
    return outcome === 'no-policy' ? ['no policy selects this cluster: everything stays'] : [];
  const going = ACTIONS.flatMap(({ action, words }) => {
    const chosen = verdicts.filter((verdict) => verdict.action === action);
    return chosen.length === 0
      ? []
      : [
          `${decider.name} ${wants.verb} ${words(objectsOf(chosen))}${wants.but}${outcome === 'dry-run' ? alongText(chosen, candidates) : ''}`,
        ];
  });
  return [...going, ...holds];
}

/** What follows once these are deleted becomes a candidate then, and in a dry run they never are: so it is told before. */
function alongText(chosen: readonly ClusterVerdict[], candidates: readonly Judged[] | null): string {
  const deleted = chosen.filter(({ action }) => action === 'delete' || action === 'expire');
  const judged = deleted.flatMap(({ position }) => candidates?.[position] ?? []);
  if (judged.length === 0) return '';
  if (judged.some(({ cascades }) => cascades === undefined))
    return '. What depends on them would go after them, and is not counted here';
  const widths = new Map(
    judged.flatMap(({ cascades = [] }) =>
      cascades.map(({ ownerUid, objects }) => [ownerUid, objects] as const),
    ),
  );
  const objects = [...widths.values()].reduce((sum, width) => sum + width, 0);
  return objects <= judged.length
    ? ''
    : `. With what depends on them at most ${counted(objects, 'object')} would go`;
}

interface Wants {
  readonly verb: string;
  readonly but: string;
}

const WANTS: Readonly<Record<ClusterDecision['outcome'], Wants | null>> = {
  commanded: { verb: 'wants to', but: '' },
  'dry-run': { verb: 'would', but: ', but this is a dry run' },
  'not-ours': { verb: 'would', but: ', but the policy gives FleetGC no such collector' },
  'nothing-to-do': { verb: 'would', but: '' },
  'no-policy': null,
  paused: null,
  'too-costly': null,
};

interface ActionRow {
  readonly action: ClusterVerdict['action'];
  readonly words: (objects: string) => string;
}

const ACTIONS: readonly ActionRow[] = [
  { action: 'delete', words: (objects) => `delete ${objects}` },
  { action: 'expire', words: (objects) => `delete ${objects}, whose time is over` },
  { action: 'drop-references', words: (objects) => `take references to owners from ${objects}` },
  { action: 'finish', words: (objects) => `let go ${objects}, which waited for dependents` },
  { action: 'remove-pod', words: (objects) => `remove ${objects}` },
];

const groupsOf = (verdicts: readonly ClusterVerdict[]): readonly [string, readonly ClusterVerdict[]][] => [
  ...Map.groupBy(verdicts, ({ rule }) => rule),
];

/** Who or what ends a hold of each. */
const ENDED_BY: Readonly<Record<ClusterDeciderName, string>> = {
  'graph-gc': 'it stays until it is approved, and "fleetgc held" says how',
  'pod-gc': 'it stays until its node is back, or until it is approved, and "fleetgc held" says how',
  'expiry-gc':
    'it stays until less of its kind is over, or until it is approved, and "fleetgc held" says how',
};

/** `it stays until it is approved, and "fleetgc held" says how (S1, objects 1200, limit 1000)` */
function holdText(decider: ClusterDeciderName, rule: string, [first]: readonly ClusterVerdict[]): string {
  const facts = Object.entries(first?.facts ?? {}).map(([name, value]) => `${name} ${value}`);
  return `${ENDED_BY[decider]} (${[rule, ...facts].join(', ')})`;
}

type ObjectResult = ClusterObjectResults['objects'][number];

/** What was done and what was not: a line for each action, outcome and reason. */
export function resultLines({ objects }: Pick<ClusterObjectResults, 'objects'>): readonly string[] {
  const groups = Map.groupBy(objects, ({ action, rule, result }) =>
    JSON.stringify([action, rule, result.outcome, 'reason' in result && result.reason, foundLater(result)]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined
      ? []
      : [
          resultLine(
            first,
            objectsText(
              group.length,
              group.map(({ object }) => object),
            ),
          ),
        ];
  });
}

function resultLine({ action, rule, result }: ObjectResult, objects: string): string {
  const found = foundLater(result);
  if (found !== null)
    return `? ${objects} announced by an executor that ended: ${FOUND_LATER[found]} (${action}, ${rule})`;
  switch (result.outcome) {
    case 'removed':
      return `- ${objects} deleted (${rule})`;
    case 'accepted':
      return `- ${objects} being deleted; finalizers or a grace period may hold it (${rule})`;
    case 'patched':
      return `- ${objects}: ${PATCHED[action]} (${rule})`;
    case 'not-found':
      return `- ${objects} already gone (${rule})`;
    case 'rehearsed':
      return `~ ${objects}: the API server would do it, and did nothing (${action}, ${rule})`;
    case 'refused':
      return `= ${objects} stays: ${result.message} (${result.reason})`;
    case 'failed':
      return `! ${objects} could not be changed: ${result.message} (${result.reason})`;
  }
}

const FOUND_LATER: Readonly<Record<FoundLater, string>> = {
  gone: 'gone, by whom is unknown',
  changed: 'changed, by whom is unknown',
  unchanged: 'unchanged',
  unreadable: 'cannot be read',
};

/** Only that a whole command was refused is news beside its objects. */
export const commandLine = ({ result }: Pick<ClusterCommandResult, 'result'>): string | null =>
  result.outcome === 'refused' ? `a command was refused: ${result.message} (${result.reason})` : null;
