import { HOUR_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { nearestName } from '../../packages/text/nearest-name.ts';
import { shellWord } from '../../packages/text/shell-word.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { type Approved, approvedName, MAX_APPROVAL_MS } from '../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../schemas/policy/own-rule.ts';
import { type Hold, widthOf } from './holds.ts';
import type { HeldCluster } from './read-holds.ts';

/** How long an approval is in force where nobody says more. */
const USUAL_HOURS = 1;

/** Of a uid; an approval takes it whole. */
const SHORTEST_BEGINNING = 6;

/** What `fleetgc approve` was asked for. */
export interface ApprovalRequest {
  readonly cluster: string;
  /** The uid of an owner, a kind, or a rule and a kind. */
  readonly name: string;
  /** Where a name means several. */
  readonly as: Approved['kind'] | null;
  /** How many objects people saw. */
  readonly objects: number | null;
}

/** What is held by that name. Throws `NOT_FOUND`, `AMBIGUOUS` and `HOLD_GREW`. */
export function heldByName(found: HeldCluster | undefined, request: ApprovalRequest): Approved {
  const { cluster, name, as, objects } = request;
  const all = (found?.holds ?? []).flatMap(({ what }) => what ?? []);
  const named = all.filter((what) => approvedName(what) === name && (as === null || what.kind === as));
  const kinds = [...new Set(named.map(({ kind }) => kind))];
  if (kinds.length > 1)
    throw new FleetGcError('AMBIGUOUS', `${name} means several: say --as ${kinds.join(' or --as ')}`);
  const what = named.toSorted((a, b) => widthOf(b) - widthOf(a))[0];
  if (what === undefined) throw notHeld(cluster, name, all);
  if (objects !== null && widthOf(what) > objects)
    throw new FleetGcError(
      'HOLD_GREW',
      `it has grown from ${objects} to ${widthOf(what)} objects since, and nothing was approved; look at fleetgc held again`,
    );
  return what;
}

function notHeld(cluster: string, name: string, all: readonly Approved[]): FleetGcError {
  const names = all.map(approvedName);
  const begun = name.length < SHORTEST_BEGINNING ? undefined : names.find((each) => each.startsWith(name));
  const meant = begun ?? nearestName(name, names);
  return new FleetGcError(
    'NOT_FOUND',
    `nothing is held in cluster ${cluster} because of ${name}${meant === undefined ? '.' : `; did you mean ${meant}?`} fleetgc held lists what is`,
  );
}

/** The command that approves a hold, to be typed in a shell; `null` where it ends by itself. */
export function approveCommand(
  cluster: string,
  { what }: Pick<Hold, 'what'>,
  policy: ClusterPolicy | null,
): string | null {
  if (what === null) return null;
  const as = what.kind === 'owner' ? [] : ['--as', what.kind];
  const words = ['fleetgc approve', shellWord(cluster), shellWord(approvedName(what)), ...as];
  const needed = neededHours(what, policy);
  const duration = needed <= USUAL_HOURS ? [] : [`--for ${Math.min(needed, MAX_APPROVAL_MS / HOUR_MS)}h`];
  return [...words, `--objects ${widthOf(what)}`, ...duration].join(' ');
}

/** Until all of it has gone, where the policy lets only so many go in an hour (cluster S10). */
export function neededHours(what: Approved, policy: ClusterPolicy | null): number {
  const ofRule = (name: string): OwnRule | undefined => policy?.rules?.find((rule) => rule.name === name);
  const anHour = what.kind === 'rule' ? ofRule(what.rule) : policy?.limits;
  return anHour === undefined ? USUAL_HOURS : Math.ceil(widthOf(what) / anHour.removalsPerHour);
}

/** In words: `the owner apps/Deployment default/web (1f2e…)`. */
export function approvedText(what: Approved): string {
  switch (what.kind) {
    case 'owner': {
      const name = what.namespace === '' ? what.name : `${what.namespace}/${what.name}`;
      return `owner ${what.ownerKind} ${name} (${what.uid})`;
    }
    case 'owner-kind':
      return `owners of kind ${what.ownerKind}`;
    case 'held-kind':
      return `objects of kind ${what.heldKind}`;
    case 'rule':
      return `rule ${what.rule}, objects of kind ${what.ofKind} that were over by ${timeText(what.overByMs)}`;
    case 'pods-of-missing-nodes':
      return 'pods of missing nodes';
  }
}
