import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterObject } from '../../schemas/events/cluster-objects.ts';
import type { PlannedAction } from '../../schemas/reports/cluster-plan.ts';
import { ruleWords } from './rule-words.ts';

type Named = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>;

export const plannedAction = (
  { group, kind, namespace, name, uid }: Named,
  verdict: ClusterVerdict,
  wave: number,
): PlannedAction => ({
  group,
  kind,
  namespace,
  name,
  uid,
  action: verdict.action,
  rule: verdict.rule,
  because: ruleWords(verdict),
  facts: verdict.facts,
  wave,
});
