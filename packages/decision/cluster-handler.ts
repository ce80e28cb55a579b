import type { ClusterAction, ClusterCommandItem } from '../../schemas/events/cluster-command.ts';
import { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { type ApprovalRecord, type Approved, approvalsInForce } from '../../schemas/policy/approval.ts';
import { type ClusterPolicy, type Collector, namesIn } from '../../schemas/policy/cluster-policy.ts';
import { MAX_DECISION_STEPS, Steps } from '../../schemas/policy/steps.ts';
import { type ClosedGate, gatedHandler } from './gate.ts';
import {
  type ClusterConclusion,
  clusterCommand,
  clusterDecisionOutputs,
  type DecidableFact,
  type Deciding,
} from './record.ts';
import { TOO_COSTLY, withinSteps } from './step-budget.ts';

/** A conclusion with what is to be done, which becomes a command only if its outcome is `commanded`. */
export interface CommandingConclusion<Act extends ClusterAction = ClusterAction> extends ClusterConclusion {
  readonly items: readonly CommandItem<Act>[];
}

/** An object of a command with what one decider may order about it. */
export type CommandItem<Act extends ClusterAction> = Omit<ClusterCommandItem, 'act'> & { readonly act: Act };

/** What a service brings that decides on facts about clusters; all else is the same for each of them. */
export interface ClusterDecider<Fact extends DecidableFact> {
  readonly decider: Deciding<'cluster'>['decider'];
  /** `approvals`: those in force for the cluster. */
  readonly decide: (
    fact: Fact,
    policy: ClusterPolicy,
    approvals: readonly ApprovalRecord[],
  ) => CommandingConclusion;
}

/** A fact in; a decision record out, and the command where there is something to do. */
export const clusterHandler = <Fact extends DecidableFact>({ decider, decide }: ClusterDecider<Fact>) =>
  gatedHandler<'cluster', Fact>({
    decider,
    closed: (deciding, gate) => clusterDecisionOutputs(deciding, keeping(deciding.input.event, gate), null),
    open: (deciding, record, policies) => {
      const { event } = deciding.input;
      const { policy } = record;
      // An approval ends no later than its time, whatever the clock showed.
      const atMs = event.takenAt.serverMs + event.takenAt.spreadMs;
      const approvals = approvalsInForce(policies.approvals, event, atMs);
      const decided = clusterConclusion(event, { policy, approvals }, () => decide(event, policy, approvals));
      const command =
        decided.outcome === 'commanded' ? clusterCommand(deciding, record, decided.items) : null;
      return clusterDecisionOutputs(deciding, decided, command);
    },
  });

/** What governs a cluster: the policy, and the approvals in force. */
interface Governing {
  readonly policy: ClusterPolicy;
  readonly approvals: readonly ApprovalRecord[];
}

/** What is concluded of the objects of a fact within the steps that a decision may take. */
export const clusterConclusion = (
  fact: Pick<DecidableFact, 'candidates'>,
  governing: Governing,
  decide: () => CommandingConclusion,
  most = new Steps(MAX_DECISION_STEPS),
): CommandingConclusion =>
  withinSteps<CommandingConclusion>(
    (steps) => {
      takeForFact(fact, governing, steps);
      return decide();
    },
    () => ({ ...keeping(fact, { ...TOO_COSTLY, rule: 'P10' }), items: [] }),
    most,
  );

/** To hold an object against a name of the policy takes as long as so many comparisons of characters. */
const STEPS_OF_NAME = 2;
/** To judge an object, to look at one of its references, and to hold one of its owners against one of these. Measured, and rather too much. */
const STEPS_OF_CANDIDATE = 400;
const STEPS_OF_REFERENCE = 20;
const STEPS_OF_OWNER = 4;
/** An object that an approval names is put into a map. */
const STEPS_OF_APPROVED = 30;

function takeForFact(
  { candidates }: Pick<DecidableFact, 'candidates'>,
  { policy, approvals }: Governing,
  steps: Steps,
): void {
  steps.take(candidates.length * (STEPS_OF_CANDIDATE + STEPS_OF_NAME * namesIn(policy)));
  for (const { references = [], cascades = [] } of candidates)
    steps.take(
      STEPS_OF_REFERENCE * (references.length + cascades.length) +
        STEPS_OF_OWNER * references.length * cascades.length,
    );
  for (const { what } of approvals) steps.take(STEPS_OF_APPROVED * approvedIn(what));
}

function approvedIn(what: Approved): number {
  switch (what.kind) {
    case 'owner-kind':
      return what.owners.length;
    case 'held-kind':
      return what.named.length;
    case 'pods-of-missing-nodes':
      return what.nodes.length;
    case 'owner':
    case 'rule':
      return 1;
  }
}

const keeping = (
  { candidates }: Pick<DecidableFact, 'candidates'>,
  { outcome, reason, rule }: Pick<ClosedGate, 'outcome' | 'reason' | 'rule'>,
): ClusterConclusion => ({
  outcome,
  reason,
  verdicts: candidates.map((_, position) => ({ position, action: 'keep', rule, facts: {} })),
});

/** Whether a command follows from these verdicts, and why not. `collector`: whose work it is where FleetGC does not do it; `null` for nobody's. */
export function clusterAnswer(
  { collectors, mode }: Pick<ClusterPolicy, 'collectors' | 'mode'>,
  collector: Collector | null,
  verdicts: readonly ClusterVerdict[],
): Pick<ClusterConclusion, 'outcome' | 'reason'> {
  const plan = sentence(verdicts);
  if (collector !== null && !collectors.includes(collector))
    return { outcome: 'not-ours', reason: `${plan}; the policy does not give ${collector} to FleetGC` };
  if (!verdicts.some(({ action }) => action !== 'keep' && action !== 'hold'))
    return { outcome: 'nothing-to-do', reason: plan };
  if (mode === 'dry-run') return { outcome: 'dry-run', reason: `${plan}; dry-run: no command is sent` };
  if (mode === 'rehearse') return { outcome: 'commanded', reason: `${plan}; rehearse: nothing is done` };
  return { outcome: 'commanded', reason: plan };
}

const WORDS: Readonly<Record<ClusterVerdict['action'], string>> = {
  delete: 'to delete',
  expire: 'to delete as their time is over',
  'drop-references': 'to lose references',
  finish: 'to lose a finalizer',
  'remove-pod': 'to remove',
  keep: 'kept',
  hold: 'held',
};

/** `3 to delete (D14), 1 held (S1)` */
function sentence(verdicts: readonly ClusterVerdict[]): string {
  const byAction = Map.groupBy(verdicts, ({ action }) => action);
  const groups = ClusterVerdict.shape.action.options.flatMap((action) => {
    const group = byAction.get(action);
    return group === undefined ? [] : [`${group.length} ${WORDS[action]} (${rulesOf(group)})`];
  });
  return groups.length === 0 ? 'no candidates' : groups.join(', ');
}

const rulesOf = (verdicts: readonly ClusterVerdict[]): string =>
  [...new Set(verdicts.map(({ rule }) => rule))].toSorted().join(', ');
