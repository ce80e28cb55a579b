import { z } from 'zod';
import { HALF_A_CHARACTER } from '../events/broken-texts.ts';
import { Uint64 } from '../events/filesystem.ts';
import type { SubjectKind } from '../events/identity.ts';
import { compareText } from '../events/text-order.ts';
import { ApprovalRecord, WrittenText } from './approval.ts';
import { ClusterPolicyRecord } from './cluster-policy.ts';
import { EvictionThreshold } from './eviction.ts';
import { charactersOf, MAX_GLOB_CHARACTERS, NodeGlobs } from './glob.ts';
import { Entry, MAX_LIST_ENTRIES, NamedKeep, WantedLabels } from './image-pattern.ts';

/** Which nodes a policy is for. Every given condition must hold; an empty list or record matches every node. */
export const NodeSelector = z.strictObject({
  clusters: z.array(Entry).max(MAX_LIST_ENTRIES),
  /** Globs over the node name. */
  nodeNames: NodeGlobs,
  /** Values of the node's label `fleetgc.io/pool`; one that is equal is enough. */
  pools: z.array(Entry).max(MAX_LIST_ENTRIES),
  nodeLabels: WantedLabels,
});
export type NodeSelector = z.infer<typeof NodeSelector>;

/** What stays, whatever the disk usage. Commands carry the rules about names alone. */
export const PolicyKeep = NamedKeep.extend({
  /** Containers, sandboxes and logs of pods in these namespaces stay, and with them the images they use. */
  namespaces: z.array(Entry).max(MAX_LIST_ENTRIES),
  /** The newest so many images of each repository; 0 is off. */
  lastVersions: z.int().nonnegative(),
});
export type PolicyKeep = z.infer<typeof PolicyKeep>;

/** A hard and a soft one for each signal, and room for signals to come. */
const MAX_THRESHOLDS = 32;

const Percent = z.int().min(0).max(100);

/**
 * A policy as it stands on the log: every default filled in and every quantity in its base unit, so that a later
 * release with other defaults does not change what an applied policy means. `schemas/policy/policy-file.ts` makes it from
 * what people write.
 */
export const Policy = z.strictObject({
  name: z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/),
  /** The matching policy with the highest priority holds; between equals, the first by name. */
  priority: z.int(),
  selector: NodeSelector,
  mode: z.enum(['dry-run', 'enforce']),
  profile: z.enum(['fleetgc', 'kubelet']),
  imageGCHighThresholdPercent: Percent,
  imageGCLowThresholdPercent: Percent,
  /** Absolute thresholds beside those in percent (M39). `startBelowBytes` is below `untilBytes`. */
  imageGCAvailable: z.strictObject({ startBelowBytes: Uint64, untilBytes: Uint64 }).nullable(),
  /** The same two thresholds for inodes (M13). */
  imageGCInodes: z.strictObject({ highThresholdPercent: Percent, lowThresholdPercent: Percent }).nullable(),
  /** Negative means no minimum age (B11). */
  imageMinimumGCAgeMs: z.int(),
  /** 0 means that no image goes by age alone (B4). */
  imageMaximumGCAgeMs: z.int().nonnegative(),
  /** Hard ones first, each kind in the order of `EvictionSignal`. */
  evictionThresholds: z.array(EvictionThreshold).max(MAX_THRESHOLDS),
  /** Whether a threshold of these that is met removes anything (M16). */
  forcedGC: z.boolean(),
  minimumContainerTTLMs: z.int().nonnegative(),
  /** Own minimum age of containers that were created and never started (M32). */
  minimumCreatedContainerAgeMs: z.int().nonnegative(),
  /** Negative means no limit. */
  maximumDeadContainersPerContainer: z.int(),
  /** Negative means no limit. */
  maximumDeadContainers: z.int(),
  /** A dead container of this age goes, whatever the limits would keep (M27); `null` is off. */
  maximumDeadContainerAgeMs: z.int().positive().nullable(),
  keep: PolicyKeep,
  /** How long a command of this policy may be carried out after its inventory was taken. */
  commandLifetimeMs: z.int().min(1_000).max(600_000),
});
export type Policy = z.infer<typeof Policy>;

/** Whether the patterns of a policy together cost no more than a decision can afford. */
export const isWithinBudget = ({ selector, keep }: Pick<Policy, 'selector' | 'keep'>): boolean =>
  charactersOf(selector.nodeNames) + charactersOf(keep.patterns) <= MAX_GLOB_CHARACTERS;

export const OVER_BUDGET = `the patterns of selector.nodeNames and keep.images must have at most ${MAX_GLOB_CHARACTERS} characters together`;

/** No policy can have this name, since names start with a letter or digit. */
const PAUSE_EVERYWHERE_KEY = '!pause';

/**
 * The record key of a pause: one for each selector, so that a second pause does not end the first. Equal selectors have
 * equal keys, whatever the order of their parts.
 */
export function pauseKey({ clusters, nodeNames, pools, nodeLabels }: NodeSelector): string {
  const labels = Object.entries(nodeLabels).toSorted(([a], [b]) => compareText(a, b));
  const conditions = [distinctSorted(clusters), distinctSorted(nodeNames), distinctSorted(pools), labels];
  return conditions.every(({ length }) => length === 0)
    ? PAUSE_EVERYWHERE_KEY
    : `${PAUSE_EVERYWHERE_KEY} ${JSON.stringify(conditions)}`;
}

const KeyConditions = z.tuple([
  NodeSelector.shape.clusters,
  NodeSelector.shape.nodeNames,
  NodeSelector.shape.pools,
  z.array(z.tuple([z.string(), z.string()])),
]);

/** The selector of the only pause that can lie under this key; `null` where none can. */
export function selectorOfPauseKey(key: string): NodeSelector | null {
  if (key === PAUSE_EVERYWHERE_KEY) return EVERY_NODE;
  const { data } = KeyConditions.safeParse(jsonAfter(`${PAUSE_EVERYWHERE_KEY} `, key));
  if (data === undefined) return null;
  const [clusters, nodeNames, pools, labels] = data;
  const selector = { clusters, nodeNames, pools, nodeLabels: Object.fromEntries(labels) };
  return pauseKey(selector) === key ? selector : null;
}

const EVERY_NODE: NodeSelector = { clusters: [], nodeNames: [], pools: [], nodeLabels: {} };

function jsonAfter(beginning: string, text: string): unknown {
  try {
    return text.startsWith(beginning) ? JSON.parse(text.slice(beginning.length)) : undefined;
  } catch {
    return undefined;
  }
}

export const isPauseKey = (key: string): boolean => key.startsWith(PAUSE_EVERYWHERE_KEY);

const distinctSorted = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts)].toSorted(compareText);

/** State: one policy for nodes, keyed by its name. */
export const PolicyRecord = z.strictObject({
  type: z.literal('fleetgc.policy'),
  version: z.literal(1),
  id: z.string().min(1),
  policy: Policy.refine(isWithinBudget, { error: OVER_BUDGET }),
  /** Counts the contents that were applied under this name, from 1, as far as the topic knew when it was applied. */
  policyVersion: z.int().positive(),
  /** SHA-256 of the canonical JSON of `policy`. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** What was applied, as written. */
  source: z.string(),
});
export type PolicyRecord = z.infer<typeof PolicyRecord>;

/** The records of policies for each kind of subject: their types tell them apart, and all lie on the same topics. */
export const POLICY_RECORDS = {
  node: PolicyRecord,
  cluster: ClusterPolicyRecord,
} as const satisfies { readonly [Kind in SubjectKind]: z.ZodObject<{ type: z.ZodLiteral<string> }> };

interface PolicyRecords {
  readonly node: PolicyRecord;
  readonly cluster: ClusterPolicyRecord;
}
export type PolicyRecordOf<Kind extends SubjectKind> = PolicyRecords[Kind];

export const isPolicyFor = <Kind extends SubjectKind>(
  kind: Kind,
  record: PolicyRecordOf<SubjectKind>,
): record is PolicyRecordOf<Kind> => record.type === POLICY_RECORDS[kind].shape.type.value;

/** No node's policy can have such a key, since names have no slash. */
const POLICY_KEYS: { readonly [Kind in SubjectKind]: (name: string) => string } = {
  node: (name) => name,
  cluster: (name) => `cluster/${name}`,
};

/** The record key of a policy of this name: those for different kinds of subjects may have the same one. */
export const keyOfPolicyNamed = (kind: SubjectKind, name: string): string => POLICY_KEYS[kind](name);

/** For whom a policy is. */
export const subjectOfPolicy = (record: PolicyRecordOf<SubjectKind>): SubjectKind =>
  isPolicyFor('cluster', record) ? 'cluster' : 'node';

/** The record key of a policy. */
export const policyKey = (record: PolicyRecordOf<SubjectKind>): string =>
  keyOfPolicyNamed(subjectOfPolicy(record), record.policy.name);

const BAD_REASON = `${HALF_A_CHARACTER}, or it is too long`;

/**
 * State, keyed by `pauseKey`: outranks every policy on what it selects, of whatever kind, until `fleetgc resume` deletes
 * it.
 */
export const PauseRecord = z.strictObject({
  type: z.literal('fleetgc.pause'),
  version: z.literal(1),
  id: z.string().min(1),
  selector: NodeSelector,
  reason: z.string().refine((text) => WrittenText.safeParse(text).success, { error: BAD_REASON }),
  /** As whoever paused calls themselves; what proves it is the signature. */
  by: WrittenText.optional(),
});
export type PauseRecord = z.infer<typeof PauseRecord>;

/**
 * State: nothing stands under this key any more. It takes the place of the policy, pause or approval there and stays, so that whoever
 * reads the topic later knows that somebody deleted it: a record that is simply gone was not deleted.
 */
export const PolicyDeletion = z.strictObject({
  type: z.literal('fleetgc.policy-deletion'),
  version: z.literal(1),
  id: z.string().min(1),
  /** The record key. */
  key: z.string().min(1),
  /** False where the topic said nothing of the key when this was written: on this topic it ends nothing. */
  wasHeld: z.boolean(),
  /** As whoever did it calls themselves, and why. */
  by: WrittenText.optional(),
  reason: WrittenText.optional(),
});
export type PolicyDeletion = z.infer<typeof PolicyDeletion>;

export const PolicyTopicRecord = z.discriminatedUnion('type', [
  PauseRecord,
  ApprovalRecord,
  PolicyDeletion,
  ...Object.values(POLICY_RECORDS),
]);
export type PolicyTopicRecord = z.infer<typeof PolicyTopicRecord>;

/**
 * All policies for one kind of subject at one moment, the pauses that outrank them, and the approvals of what they hold. `hash` covers
 * all of it.
 */
export interface PolicySetOf<Kind extends SubjectKind> {
  readonly subject: Kind;
  readonly policies: readonly PolicyRecordOf<Kind>[];
  readonly pauses: readonly PauseRecord[];
  /** For clusters alone. */
  readonly approvals: readonly ApprovalRecord[];
  readonly hash: string;
}
export type PolicySet = PolicySetOf<'node'>;
