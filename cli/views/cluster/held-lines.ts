import { approvedText, type Hold, widthOf } from '../../../packages/read-model/holds.ts';
import { commandFor, type HeldCluster, type ToldHolds } from '../../../packages/read-model/read-holds.ts';

import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { HeldProof } from '../../../schemas/reports/policy-list.ts';
import { approvalLine } from './approval-line.ts';

/** Each hold with the command that approves it. */
export const heldLines = (told: ToldHolds): readonly string[] =>
  [
    ...told.clusters.flatMap((each) => clusterLines(each, (hold) => commandFor(each, hold, told))),
    ...told.approvals.map(approvalLine),
  ].map(printableLine);

/** Whose word it is. */
export const PROOF: Readonly<Record<HeldProof, string>> = {
  signed: ', signed by its key',
  unsigned: ', NOT PROVED: no key of the cluster signed it',
  'not-checked': ', not proved: signatures are not checked (--trust-roots)',
};

/** `null` for what no approval ends. */
type CommandOf = (hold: Hold) => string | null;

const clusterLines = (
  { cluster, heardAtMs, proof, holds }: HeldCluster,
  commandOf: CommandOf,
): readonly string[] =>
  holds.length === 0
    ? []
    : [
        `cluster ${cluster}, last report at ${timeText(heardAtMs)}${PROOF[proof]}`,
        ...holds.flatMap((hold) => holdLines(hold, commandOf)),
      ];

function holdLines(hold: Hold, commandOf: CommandOf): readonly string[] {
  const { rule, what, why, objects, sinceMs } = hold;
  const width = what === null ? '' : `, ${counted(widthOf(what), 'object')} in all`;
  const held = `${counted(objects, 'object')} held since ${timeText(sinceMs)}${width}`;
  return [
    `  ${rule}  ${what === null ? why : `${approvedText(what)}: ${why}`}; ${held}`,
    `      ${commandOf(hold) ?? 'No approval ends it.'}`,
  ];
}
