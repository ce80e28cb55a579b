import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterPlan } from '../../../schemas/reports/cluster-plan.ts';

/** Of what nothing is said, and why. */
export const unreadLines = ({
  unreadKinds,
  failedGroups,
}: Pick<ClusterPlan, 'unreadKinds' | 'failedGroups'>): readonly string[] => {
  const lines = [
    ...unreadKinds.map((unread) => `${kindName(unread)} cannot be read: ${unread.reason}`),
    ...failedGroups.map((group) => `the group ${group} is not served at the moment`),
  ];
  return lines.length === 0
    ? []
    : ['', 'Of these nothing is said, and what names them as owners stays:', ...lines];
};
