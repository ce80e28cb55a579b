import { z } from 'zod';
import { ClusterDecision, type ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';
import type { ClusterDeciderName } from '../../../../schemas/events/deciders.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import type { Concluded } from '../../../../schemas/reports/cluster-simulation.ts';
import { sha256Hex } from '../../../canonical/ids.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { FrozenDecider } from '../../deciders/deciders.ts';

/** What one side says of an object. */
export interface Conclusion {
  readonly is: Concluded;
  readonly rule: string | null;
}

/** As much of a decision as counts here; a frozen decider may write more than is known today, or less. */
const Decided = ClusterDecision.pick({ outcome: true, verdicts: true });
type Decided = z.infer<typeof Decided>;

/** What is decided on a fact, by the positions of its objects. */
export type DecidedFact = ReadonlyMap<number, Conclusion>;

export const decidedFact = ({ outcome, verdicts }: Decided): DecidedFact =>
  new Map(verdicts.map((verdict) => [verdict.position, conclusionOf(verdict, outcome)]));

const conclusionOf = ({ action, rule }: ClusterVerdict, outcome: Decided['outcome']): Conclusion => ({
  rule,
  is: isAct(action) ? ACTS[outcome](action) : outcome === 'not-ours' ? 'not-ours' : STAYS[action],
});

type Stay = 'keep' | 'hold';
type Act = Exclude<ClusterVerdict['action'], Stay>;
const isAct = (action: ClusterVerdict['action']): action is Act => action !== 'keep' && action !== 'hold';

const STAYS: Readonly<Record<Stay, Concluded>> = { keep: 'kept', hold: 'held' };

const DONE: Readonly<Record<Act, Concluded>> = {
  delete: 'deleted',
  expire: 'deleted',
  'remove-pod': 'deleted',
  'drop-references': 'changed',
  finish: 'changed',
};

/** What an act comes to, by the outcome of its decision. */
const ACTS: Readonly<Record<Decided['outcome'], (act: Act) => Concluded>> = {
  commanded: (act) => DONE[act],
  'dry-run': () => 'dry-run',
  'not-ours': () => 'not-ours',
  'nothing-to-do': () => 'kept',
  'no-policy': () => 'kept',
  paused: () => 'kept',
  'too-costly': () => 'kept',
};

const DecisionOf = z.object({ ...Decided.shape, type: z.literal('fleetgc.cluster.decision') });

/** What a frozen decider says of a fact under other policies. Throws `EVENT_REJECTED` for one that it does not read. */
export function decidedAgain(
  { read, decide }: FrozenDecider,
  { topic, partition, offset, value }: LogRecord,
  policies: PolicySetOf<'cluster'>,
): DecidedFact {
  const text = value?.toString('utf8') ?? '';
  const position = { topic, partition, offset: String(offset), sha256: sha256Hex(value ?? '') };
  const decisions = decide(read(JSON.parse(text)), position, policies).flatMap(
    ({ event }) => DecisionOf.safeParse(event).data ?? [],
  );
  return new Map(decisions.flatMap((decision) => [...decidedFact(decision)]));
}

export type ClusterDeciders = Readonly<Record<ClusterDeciderName, FrozenDecider>>;
