import { z } from 'zod';
import { brokenTexts } from '../../schemas/events/broken-texts.ts';
import { claimOf } from '../../schemas/events/claims.ts';
import { SubjectKind } from '../../schemas/events/identity.ts';
import { isApprovalKey } from '../../schemas/policy/approval.ts';
import { ClusterSelector } from '../../schemas/policy/cluster-policy.ts';
import {
  keyOfPolicyNamed,
  NodeSelector,
  type PauseRecord,
  POLICY_RECORDS,
  selectorOfPauseKey,
} from '../../schemas/policy/policy.ts';
import { deriveId } from '../canonical/ids.ts';
import type { LogRecord } from '../log/port.ts';
import { parseAnyJson } from '../records/parse/parse-record.ts';
import { firstWrong } from '../records/parse/schema-issues.ts';

/** A record of `gc.policies` that cannot be understood. */
export type UnreadableEntry =
  | {
      readonly kind: 'unreadable';
      readonly problem: string;
      /** What it amounts to: a pause of the nodes that it may be meant for; `null` where that may be any node. */
      readonly hold: PauseRecord | null;
    }
  /** It stands where only approvals can: it approves nothing, and holds nothing. */
  | { readonly kind: 'unreadable-approval'; readonly problem: string };

export function unreadable(record: LogRecord, why: string, selector: NodeSelector | null): UnreadableEntry {
  const { key, partition, offset } = record;
  const place = `key ${JSON.stringify(key === null ? null : shortened(key))}, partition ${partition}, offset ${offset}`;
  const problem = `gc.policies holds a record that cannot be read (${place}): ${why}`;
  if (key !== null && isApprovalKey(key)) return { kind: 'unreadable-approval', problem };
  return { kind: 'unreadable', problem, hold: selector && holdOf(selector, problem) };
}

export const isUnreadable = (entry: { readonly kind: string } | null): entry is UnreadableEntry =>
  entry?.kind === 'unreadable' || entry?.kind === 'unreadable-approval';

/** A key may be as long as a message. */
const MOST_KEY_CHARACTERS = 200;

const shortened = (key: string): string =>
  key.length <= MOST_KEY_CHARACTERS ? key : `${key.slice(0, MOST_KEY_CHARACTERS)}…`.toWellFormed();

const holdOf = (selector: NodeSelector, problem: string): PauseRecord => ({
  type: 'fleetgc.pause',
  version: 1,
  id: deriveId('unreadable', problem),
  selector,
  reason: problem,
});

/** As much of a policy of this version as says for whom it is, and for whom a pause in its place would be. */
const SELECTING: { readonly [Kind in SubjectKind]: z.ZodType<Selecting> } = {
  node: z.looseObject({
    type: POLICY_RECORDS.node.shape.type,
    version: POLICY_RECORDS.node.shape.version,
    policy: z.looseObject({ name: z.string(), selector: NodeSelector }),
  }),
  cluster: z.looseObject({
    type: POLICY_RECORDS.cluster.shape.type,
    version: POLICY_RECORDS.cluster.shape.version,
    policy: z.looseObject({ name: z.string(), selector: ClusterSelector }),
  }),
};

/** A policy for clusters that cannot be read holds their nodes too: a pause is for both. */
const NO_CONDITIONS_OF_NODES = { nodeNames: [], pools: [], nodeLabels: {} };

interface Selecting {
  readonly policy: { readonly name: string; readonly selector: NodeSelector | ClusterSelector };
}

/** Which nodes the record may be meant for: the key of a pause says it, and of a policy what can be read. `null`: any. */
export function selectorOf({ topic, key, value }: LogRecord): NodeSelector | null {
  if (key === null) return null;
  const ofPause = selectorOfPauseKey(key);
  if (ofPause !== null) return whole(ofPause);
  const json = parseAnyJson(topic, value);
  if (!json.ok) return null;
  const claimed = claimOf(json.event)?.type;
  const kind = SubjectKind.options.find((each) => POLICY_RECORDS[each].shape.type.value === claimed);
  if (kind === undefined || firstWrong(SELECTING[kind], json.event) !== null) return null;
  const policy = SELECTING[kind].safeParse(json.event).data?.policy;
  if (policy === undefined || keyOfPolicyNamed(kind, policy.name) !== key) return null;
  return whole({ ...NO_CONDITIONS_OF_NODES, ...policy.selector });
}

/** A set of policies has no hash with half a character in it. */
const whole = (selector: NodeSelector): NodeSelector | null =>
  brokenTexts(selector).length === 0 ? selector : null;
