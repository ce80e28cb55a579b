import { splitUnread } from '../../../packages/decision/left-out-kinds.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterPlan } from '../../../schemas/reports/cluster-plan.ts';

/** Of what nothing is said, and why. */
export const unreadLines = ({
  unreadKinds,
  failedGroups,
}: Pick<ClusterPlan, 'unreadKinds' | 'failedGroups'>): readonly string[] => {
  const { expected, byChoice } = splitUnread(unreadKinds);
  const lines = [
    ...expected.map((unread) => `${kindName(unread)} cannot be read: ${unread.reason}`),
    ...failedGroups.map((group) => `the group ${group} is not served at the moment`),
  ];
  return [
    ...(lines.length === 0
      ? []
      : ['', 'Of these nothing is said, and what names them as owners stays:', ...lines]),
    ...(byChoice.length === 0
      ? []
      : [
          '',
          `Not read, as "fleetgc cluster rbac" leaves them out of its role, so what names them as owners stays: ${byChoice.map(kindName).join(', ')}`,
        ]),
  ];
};
