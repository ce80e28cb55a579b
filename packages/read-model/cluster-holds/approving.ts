import {
  type Approved,
  type ApprovedObject,
  approvedName,
  MAX_APPROVAL_MS,
} from '../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { contentHash } from '../../canonical/ids.ts';
import { HOUR_MS } from '../../process/durations.ts';
import { FleetGcError } from '../../process/errors.ts';
import { nearestName } from '../../text/nearest-name.ts';
import { shellWord } from '../../text/shell-word.ts';
import { timeText } from '../../text/time-text.ts';
import { groupName, type Hold, keyOf, shownText, widthOf } from './holds.ts';
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
  /** What people saw, as `shownMark` has it. */
  readonly shown: string | null;
}

/** Of a SHA-256: whoever would make other names with the same beginning has to try a million million of them. */
const MARK_LENGTH = 16;

/** Stands for what a person saw of it: any other object, owner, node or rule gives another one, and another width the same. */
export const shownMark = (what: Approved): string =>
  contentHash([what.kind, ...shownParts(what)]).slice(0, MARK_LENGTH);

function shownParts(what: Approved): readonly string[] {
  switch (what.kind) {
    case 'owner':
      return [what.ownerKind, keyOf(what)];
    case 'owner-kind':
      return [what.ownerKind, ...what.owners.map(keyOf).toSorted()];
    case 'held-kind':
      return [what.heldKind, ...what.named.map(keyOf).toSorted()];
    case 'rule':
      return [what.rule, what.ruleSha256, what.ofKind];
    case 'pods-of-missing-nodes':
      return what.nodes.toSorted();
  }
}

/** What is held by that name. Throws `NOT_FOUND`, `AMBIGUOUS` and `HOLD_GREW`. */
export function heldByName(found: HeldCluster | undefined, request: ApprovalRequest): Approved {
  const { cluster, name, as, objects, shown } = request;
  const all = (found?.holds ?? []).flatMap(({ what }) => what ?? []);
  const named = all.filter((what) => approvedName(what) === name && (as === null || what.kind === as));
  const kinds = [...new Set(named.map(({ kind }) => kind))];
  if (kinds.length > 1)
    throw new FleetGcError('AMBIGUOUS', `${name} means several: say --as ${kinds.join(' or --as ')}`);
  const what = named.toSorted((a, b) => widthOf(b) - widthOf(a))[0];
  if (what === undefined) throw notHeld(cluster, name, all);
  const owners = new Set(named.map(groupName));
  if (owners.size > 1)
    throw new FleetGcError(
      'AMBIGUOUS',
      `Objects of cluster ${cluster} name different owners under the uid ${name}: ${[...owners].join(', ')}. At most one of them existed. Nothing is approved; correct or delete the objects that name a wrong owner`,
    );
  if (objects !== null && widthOf(what) > objects)
    throw new FleetGcError(
      'HOLD_GREW',
      `${widthOf(what)} objects are held now, and ${objects} were to be approved: more came since they were counted, or the number is a typing error. Nothing is approved; run fleetgc held again`,
    );
  if (shown !== null && shown !== shownMark(what))
    throw new FleetGcError(
      'HOLD_GREW',
      `${shown} does not stand for what is held now, which is ${approvedText(what)}: it changed since it was shown, or the value is a typing error. Nothing is approved; run fleetgc held again`,
    );
  return what;
}

function notHeld(cluster: string, name: string, all: readonly Approved[]): FleetGcError {
  const names = [...new Set(all.map(approvedName))];
  const begun = name.length < SHORTEST_BEGINNING ? undefined : names.find((each) => each.startsWith(name));
  const meant = begun ?? nearestName(name, names);
  return new FleetGcError(
    'NOT_FOUND',
    names.length === 0
      ? `nothing is held in cluster ${cluster}, so nothing of the name ${name}: nothing is approved. If the cluster has another name, fleetgc held lists what is held in each`
      : `nothing of the name ${name} is held in cluster ${cluster}; held are: ${listText(names)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Nothing is approved; fleetgc held lists what is held`,
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
  return [...words, `--objects ${widthOf(what)}`, `--shown ${shownMark(what)}`, ...duration].join(' ');
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
    case 'owner':
      return `owner ${shownText(what.ownerKind, what)}`;
    case 'owner-kind':
      return `owners of kind ${what.ownerKind}: ${listText(what.owners.map(nameText))}`;
    case 'held-kind':
      return `objects of kind ${what.heldKind}: ${listText(what.named.map(nameText))}`;
    case 'rule':
      return `rule ${what.rule}, objects of kind ${what.ofKind} that were over by ${timeText(what.overByMs)}`;
    case 'pods-of-missing-nodes':
      return `pods of missing nodes: ${listText(what.nodes)}`;
  }
}

/** Of so many each is named; the machine formats have all of them. */
const MOST_NAMED = 10;

const nameText = ({ namespace, name }: ApprovedObject): string =>
  namespace === '' ? name : `${namespace}/${name}`;

function listText(names: readonly string[]): string {
  const left = names.length - MOST_NAMED;
  const first = names.slice(0, MOST_NAMED).join(', ');
  return left > 0 ? `${first} and ${left} more` : first;
}
