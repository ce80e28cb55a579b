import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterPlan, CollectorPlan, PlannedAction } from '../../../schemas/reports/cluster-plan.ts';
import { tableLines } from '../../framework/output.ts';
import { nameOf } from './object-text.ts';
import { unreadLines } from './unread-lines.ts';

/** A plan for people: what would be done in which order, what is held, and what stays. */
export const clusterPlanLines = (plan: ClusterPlan): readonly string[] => {
  const { policy, totals } = plan;
  return [
    `Policy ${policy.name}: ${policy.mode}, profile ${policy.profile}`,
    `${counted(totals.objects, 'object')} of ${counted(totals.kinds, 'kind')} were looked at.`,
    ...plan.collectors.flatMap((each) => [
      '',
      `${each.collector}: ${OUTCOMES[each.outcome]}`,
      ...objectLines(each),
    ]),
    ...plan.rules.flatMap((each) => [
      '',
      `rule ${each.rule}: ${RULE_OUTCOMES[each.outcome] ?? OUTCOMES[each.outcome]}`,
      ...objectLines(each),
    ]),
    ...unreadLines(plan),
    ...leftOutLines(plan),
  ].map(printableLine);
};

/** A reader with more rights than the account that works sees more than would be done. */
const leftOutLines = ({ leftOutKinds }: ClusterPlan): readonly string[] =>
  leftOutKinds.length === 0
    ? []
    : [
        '',
        `The role that "fleetgc cluster rbac" prints has no right on these kinds, so their objects are kept unless --with names them: ${leftOutKinds.join(', ')}`,
      ];

function objectLines({ objects }: Pick<CollectorPlan, 'objects'>): readonly string[] {
  if (objects.length === 0) return ['Nothing calls for anything.'];
  const rows = objects.map((planned) => [
    ACTIONS[planned.action],
    kindName(planned),
    nameOf(planned),
    isDone(planned) ? String(planned.wave) : '',
    `${planned.because} (${planned.rule}${factsText(planned)})`,
  ]);
  return tableLines(['WOULD', 'KIND', 'NAME', 'WAVE', 'WHY'], rows);
}

const OUTCOMES: Readonly<Record<CollectorPlan['outcome'], string>> = {
  commanded: 'the policy gives it to FleetGC, which would do this',
  'dry-run': 'the policy says dry-run, so nothing of this would be done',
  'not-ours': 'the policy does not give it to FleetGC, which would do nothing of this',
  'nothing-to-do': 'nothing is to be done',
  'no-policy': 'no policy holds, so everything stays',
  paused: 'a pause holds, so everything stays',
  'too-costly': 'the decision would take too many steps, so FleetGC would do nothing of this',
};

const RULE_OUTCOMES: Readonly<Partial<Record<CollectorPlan['outcome'], string>>> = {
  commanded: 'this would be done, no more of it in an hour than the rule allows',
};

const ACTIONS: Readonly<Record<PlannedAction['action'], string>> = {
  delete: 'delete',
  expire: 'delete',
  'drop-references': 'take references',
  finish: 'let go',
  'remove-pod': 'remove',
  hold: 'hold',
  keep: 'keep',
};

const isDone = ({ action }: PlannedAction): boolean => action !== 'hold' && action !== 'keep';

const factsText = ({ facts }: PlannedAction): string =>
  ['ownerKind', 'ownerName', 'objects', 'ofKind', 'limit', 'finalizer', 'nodeName']
    .flatMap((name) => (facts[name] === undefined ? [] : [`, ${name} ${facts[name]}`]))
    .join('');
