import type { GraphObject } from '../../../../packages/owner-graph/graph-object.ts';
import type { NamedObject } from '../../../../schemas/reports/cluster-plan.ts';

export const named = ({ kind: { group, kind }, namespace, name, uid }: GraphObject): NamedObject => ({
  group,
  kind,
  namespace,
  name,
  uid,
});
