import type { HeldList, HeldProof } from '../../schemas/reports/policy-list.ts';
import type { StoredApproval } from '../policy/stored-policies.ts';
import { approvedText, widthOf } from '../read-model/holds.ts';
import { counted } from '../text/counted.ts';
import { printableLine } from '../text/printable.ts';
import { timeText } from '../text/time-text.ts';

/** Each hold with the command that approves it. */
export const heldLines = ({ clusters, approvals }: HeldList): readonly string[] =>
  [...clusters.flatMap(clusterLines), ...approvals.map(approvalLine)].map(printableLine);

/** Whose word it is. */
export const PROOF: Readonly<Record<HeldProof, string>> = {
  signed: ', signed by its key',
  unsigned: ', NOT PROVED: no key of the cluster signed it',
  'not-checked': ', not proved: signatures are not checked (--trust-roots)',
};

type HeldCluster = HeldList['clusters'][number];

const clusterLines = ({ cluster, heardAtMs, proof, holds }: HeldCluster): readonly string[] =>
  holds.length === 0
    ? []
    : [
        `cluster ${cluster}, last report at ${timeText(heardAtMs)}${PROOF[proof]}`,
        ...holds.flatMap(holdLines),
      ];

function holdLines({
  rule,
  what,
  why,
  objects,
  sinceMs,
  approve,
}: HeldCluster['holds'][number]): readonly string[] {
  const width = what === null ? '' : `, ${counted(widthOf(what), 'object')} in all`;
  const held = `${counted(objects, 'object')} held since ${timeText(sinceMs)}${width}`;
  return [
    `  ${rule}  ${what === null ? why : `${approvedText(what)}: ${why}`}; ${held}`,
    `      ${approve ?? 'No approval ends it.'}`,
  ];
}

/** What was approved, and how long it holds. */
export const approvalLine = ({ cluster, what, untilMs, by, reason }: StoredApproval): string =>
  [
    `cluster ${cluster}: approved until ${timeText(untilMs)}: ${approvedText(what)}, ${counted(widthOf(what), 'object')}`,
    ...(by === '' ? [] : [`by ${by}`]),
    ...(reason === '' ? [] : [reason]),
  ].join(', ');
