import { conclude } from '../../../../packages/deciders/graph-gc/rules/conclude.ts';
import type { ClusterRule, Outcome } from '../../../../packages/deciders/graph-gc/rules/outcome.ts';
import type { OwnershipSettings } from '../../../../packages/deciders/graph-gc/rules/settings.ts';
import { DANGLING } from '../../../../packages/owner-graph/reference-states.ts';
import type { OwnershipAction } from '../../../../schemas/events/cluster-command.ts';
import { FOREGROUND, ORPHAN } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectRefusal } from '../../../../schemas/events/cluster-result.ts';
import type { LiveFacts } from './live-facts.ts';
import { cut, refused, type Stop, settled } from './stop.ts';

/** What an order says is to be done, and by which rule. */
export interface Ordered {
  readonly act: OwnershipAction;
  readonly rule: string;
}

export interface Judged {
  readonly facts: LiveFacts;
  readonly settings: OwnershipSettings;
  readonly wentBack: boolean;
  /** The object is in the state that the order names. */
  readonly isUnchanged: boolean;
  /** Without the owner graph nobody can tell who lists the object, nor how its owners went. */
  readonly isAlone: boolean;
}

/**
 * What is done: what the order asks for, if it follows from the live facts by the rules of graph-gc under the policy in force. An
 * order chooses only among what may go.
 */
export function ownJudgement({ act, rule }: Ordered, judged: Judged): OwnershipAction | Stop {
  const { facts, settings, wentBack, isUnchanged } = judged;
  if (act.action === 'finish') {
    const objection = objectionToFinish(act.finalizer, judged);
    if (objection !== null) return objection;
  }
  const outcomes = facts.candidates.map((candidate) => conclude(candidate, settings, { wentBack }));
  const kept = outcomes.find((outcome) => outcome.kind !== 'act');
  if (kept !== undefined) return refusedBy(kept, judged);
  if (act.action === 'delete' && isLeftByOrphaned(judged))
    return refused('kept-by-own-judgement', 'an owner of it was to be let go so that its dependents stay');
  if (outcomes.some((outcome) => outcome.kind === 'act' && allows(outcome, { act, rule }, judged)))
    return act;
  return refused(isUnchanged ? 'kept-by-own-judgement' : 'changed', `by ${wordsOf(outcomes)}, not this`);
}

/** Alone in each profile: whoever let the owner go too early may wait for another policy (cluster S6). */
const isLeftByOrphaned = ({ facts, isAlone }: Judged): boolean =>
  isAlone &&
  facts.candidates.some(({ references }) =>
    references.some(({ state, gone }) => DANGLING.has(state) && gone?.orphaned === true),
  );

function objectionToFinish(finalizer: string, { facts, settings, isAlone }: Judged): Stop | null {
  if (finalizer !== ORPHAN && finalizer !== FOREGROUND)
    return refused('forbidden-finalizer', `no order takes the finalizer ${finalizer} away`);
  // Who let an owner go too early would have its dependents after it: only profile `fleetgc` spares them then (cluster S6).
  if (isAlone && finalizer === ORPHAN && settings.profile === 'kubernetes')
    return refused(
      'kept-by-own-judgement',
      'in profile kubernetes an owner that orphans is let go only beside an agent, which knows its dependents',
    );
  // One that stayed would not be known as orphaning any more, and its dependents would go with it later (cluster C13).
  if (isAlone && finalizer === ORPHAN && hasOtherFinalizers(facts))
    return refused(
      'kept-by-own-judgement',
      'it has other finalizers too: without an agent an owner that orphans is let go once that is its last one',
    );
  return null;
}

const hasOtherFinalizers = ({ candidates }: LiveFacts): boolean =>
  candidates.some(({ object }) => object.finalizers.some((each) => each !== ORPHAN));

type Acts = Extract<Outcome, { kind: 'act' }>;

/**
 * Alone, an object that would go may lose the references to owners that are absent in place of that: how they went only an agent
 * knows (cluster S6). By the rule that an owner is let go, the journal knows whether its dependents are to stay.
 */
function allows(own: Acts, { act, rule }: Ordered, { facts, settings, isAlone }: Judged): boolean {
  if (act.action === 'finish') return covers(own.act, act) && own.rule === rule;
  if (covers(own.act, act)) return true;
  const mayBeLeft = settings.profile === 'fleetgc' && (own.act.action === 'delete' || own.rule === 'S6');
  if (!isAlone || !mayBeLeft || act.action !== 'drop-references') return false;
  const absent = facts.owners.filter(({ found }) => found === 'absent').map(({ uid }) => uid);
  return act.ownerUids.every((uid) => absent.includes(uid));
}

/** Whether one action is the other, or a part of it: losing fewer references is. */
function covers(own: OwnershipAction, ordered: OwnershipAction): boolean {
  switch (own.action) {
    case 'delete':
      return (
        ordered.action === 'delete' &&
        ordered.propagation === own.propagation &&
        ordered.unblock === own.unblock
      );
    case 'drop-references':
      return (
        ordered.action === 'drop-references' && ordered.ownerUids.every((uid) => own.ownerUids.includes(uid))
      );
    case 'finish':
      return ordered.action === 'finish' && ordered.finalizer === own.finalizer;
  }
}

/** What says more than that the object stays. */
const REASONS: Readonly<Partial<Record<ClusterRule, ClusterObjectRefusal>>> = {
  S5: 'kept-by-policy',
  D9: 'owner-unknown',
  D10: 'owner-there',
};

function refusedBy(kept: Outcome, { facts: { doubts }, isUnchanged }: Judged): Stop {
  const { kind, rule, facts } = kept;
  const doubt = kind === 'hold' ? doubts.get(String(facts.ownerUid)) : undefined;
  if (doubt !== undefined) return heldInDoubt(rule, { ...facts, why: doubt });
  const message = `${kind} by ${factsText(rule, facts)}`;
  if (kind === 'hold') return refused('not-approved', message);
  return refused(REASONS[rule] ?? (isUnchanged ? 'kept-by-own-judgement' : 'changed'), message);
}

/** The decision did not know it, so people learn of it from here (cluster S3, S7). */
const heldInDoubt = (rule: ClusterRule, facts: Outcome['facts']): Stop =>
  settled({
    outcome: 'refused',
    reason: 'not-approved',
    message: cut(`hold by ${factsText(rule, facts)}; fleetgc held prints the command that approves it`),
    hold: { rule, facts },
  });

const factsText = (rule: ClusterRule, facts: Outcome['facts']): string => {
  const told = Object.entries(facts).map(([name, value]) => `${name}: ${String(value)}`);
  return `${rule}${told.length === 0 ? '' : ` (${told.join(', ')})`}`;
};

const wordsOf = (outcomes: readonly Outcome[]): string =>
  [
    ...new Set(
      outcomes.map((outcome) =>
        outcome.kind === 'act' ? `${outcome.rule} ${actionWords(outcome.act)}` : outcome.rule,
      ),
    ),
  ].join(' or ');

function actionWords(action: OwnershipAction): string {
  switch (action.action) {
    case 'delete':
      return `delete ${action.propagation}${action.unblock ? ' after unblocking' : ''}`;
    case 'drop-references':
      return `drop references to ${action.ownerUids.length} owners`;
    case 'finish':
      return `finish ${action.finalizer}`;
  }
}
