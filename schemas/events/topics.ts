import type { z } from 'zod';
import { KeyStatement } from '../keys/key-statement.ts';
import { PolicyTopicRecord } from '../policy/policy.ts';
import { PolicySetRecord } from '../policy/policy-set.ts';
import { Census } from './census.ts';
import { ClusterCommand } from './cluster-command.ts';
import { ClusterCommandIntent } from './cluster-intent.ts';
import { ClusterRemoved } from './cluster-removed.ts';
import { ClusterCommandResult, ClusterObjectResults } from './cluster-result.ts';
import { Command } from './command.ts';
import { DeadLetter, DeadLetterRedrive } from './dead-letter.ts';
import { DECISIONS } from './decision.ts';
import { DiskStats } from './disk-stats.ts';
import { Expiry } from './expiry.ts';
import { ArchiveHead, DecisionHead } from './head.ts';
import { SUBJECTS, type Subject, SubjectKind } from './identity.ts';
import { Inventory } from './inventory.ts';
import { LatestClusterFact, LatestNodeFact, locatedSubject } from './latest-fact.ts';
import { Observe } from './observe.ts';
import { Ownership } from './ownership.ts';
import { Pods } from './pods.ts';
import {
  CommandResult,
  ObjectResult,
  PassFailed,
  PressureUnrelieved,
  ReclaimContinues,
  RemovalIntent,
} from './result.ts';
import {
  CANDIDATES_OF_A_CLUSTER,
  HISTORY_OF_DISKS,
  OBJECTS_OF_A_NODE,
  ONE_COMMAND,
  ONE_HEAD,
  ONE_LETTER,
  ONE_MANIFEST,
  ONE_ORDER,
  ONE_POLICY,
  ONE_POSITION,
  ONE_RESULT,
  ONE_STATEMENT,
  SET_OF_POLICIES,
  type ValueBounds,
} from './value-bounds.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Partitions of every topic that is keyed by a subject: those of all kinds have as many. */
export const NODE_PARTITIONS = SUBJECTS.node.partitions;

export interface TopicSpec {
  readonly name: string;
  /** What the record key is: that of the subject which the events are about, or something else. */
  readonly key:
    | SubjectKind
    | 'policy name'
    | 'content hash'
    | 'key id'
    | 'chain'
    | 'original key'
    | 'fact and subject';
  readonly partitions: number;
  /** `forever` also means: never deleted by size. */
  readonly retentionMs: number | 'forever';
  readonly compacted: boolean;
  /** What is larger is not even parsed. */
  readonly bounds: ValueBounds;
  /** Facts are parsed tolerantly, orders and state strictly; the schemas are written so. */
  readonly schemas: readonly z.ZodType[];
}

const topic = <const T extends TopicSpec>(spec: T): T => spec;
const about = <const Kind extends SubjectKind>(subject: Kind) =>
  ({ key: subject, partitions: SUBJECTS[subject].partitions, compacted: false }) as const;

/** The one table of topics. Nothing else spells a topic name. */
export const TOPICS = {
  diskStats: topic({
    ...about('node'),
    name: 'gc.node.disk-stats',
    retentionMs: DAY_MS,
    bounds: HISTORY_OF_DISKS,
    schemas: [DiskStats],
  }),
  inventory: topic({
    ...about('node'),
    name: 'gc.node.inventory',
    retentionMs: 14 * DAY_MS,
    bounds: OBJECTS_OF_A_NODE,
    schemas: [Inventory],
  }),
  observe: topic({
    ...about('node'),
    name: 'gc.node.observe',
    retentionMs: DAY_MS,
    bounds: ONE_ORDER,
    schemas: [Observe],
  }),
  commands: topic({
    ...about('node'),
    name: 'gc.node.commands',
    retentionMs: 14 * DAY_MS,
    bounds: ONE_COMMAND,
    schemas: [Command],
  }),
  results: topic({
    ...about('node'),
    name: 'gc.node.results',
    retentionMs: 14 * DAY_MS,
    bounds: ONE_RESULT,
    schemas: [ObjectResult, RemovalIntent, CommandResult, PassFailed, ReclaimContinues, PressureUnrelieved],
  }),
  decisions: topic({
    ...about('node'),
    name: 'gc.node.decisions',
    retentionMs: 14 * DAY_MS,
    bounds: OBJECTS_OF_A_NODE,
    schemas: [DECISIONS.node, PressureUnrelieved],
  }),
  clusterOwnership: topic({
    ...about('cluster'),
    name: 'gc.cluster.ownership',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [Ownership],
  }),
  clusterPods: topic({
    ...about('cluster'),
    name: 'gc.cluster.pods',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [Pods],
  }),
  clusterExpiry: topic({
    ...about('cluster'),
    name: 'gc.cluster.expiry',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [Expiry],
  }),
  clusterCommands: topic({
    ...about('cluster'),
    name: 'gc.cluster.commands',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [ClusterCommand],
  }),
  clusterRemoved: topic({
    ...about('cluster'),
    name: 'gc.cluster.removed',
    retentionMs: 14 * DAY_MS,
    bounds: ONE_MANIFEST,
    schemas: [ClusterRemoved],
  }),
  clusterResults: topic({
    ...about('cluster'),
    name: 'gc.cluster.results',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [ClusterCommandIntent, ClusterObjectResults, ClusterCommandResult],
  }),
  clusterDecisions: topic({
    ...about('cluster'),
    name: 'gc.cluster.decisions',
    retentionMs: 14 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [DECISIONS.cluster],
  }),
  clusterCensus: topic({
    ...about('cluster'),
    name: 'gc.cluster.census',
    retentionMs: 30 * DAY_MS,
    bounds: CANDIDATES_OF_A_CLUSTER,
    schemas: [Census],
  }),
  policies: topic({
    name: 'gc.policies',
    key: 'policy name',
    partitions: 1,
    retentionMs: 'forever',
    compacted: true,
    bounds: ONE_POLICY,
    schemas: [PolicyTopicRecord],
  }),
  policyVersions: topic({
    name: 'gc.policy-versions',
    key: 'content hash',
    partitions: 1,
    retentionMs: 'forever',
    compacted: false,
    bounds: SET_OF_POLICIES,
    schemas: [...PolicyTopicRecord.options, PolicySetRecord],
  }),
  keys: topic({
    name: 'gc.keys',
    key: 'key id',
    partitions: 1,
    retentionMs: 'forever',
    compacted: false,
    bounds: ONE_STATEMENT,
    schemas: [KeyStatement],
  }),
  heads: topic({
    name: 'gc.heads',
    key: 'chain',
    partitions: 1,
    retentionMs: 'forever',
    compacted: false,
    bounds: ONE_HEAD,
    schemas: [ArchiveHead, DecisionHead],
  }),
  latestFacts: topic({
    name: 'gc.latest-facts',
    key: 'fact and subject',
    partitions: NODE_PARTITIONS,
    retentionMs: 30 * DAY_MS,
    compacted: true,
    bounds: ONE_POSITION,
    schemas: [LatestNodeFact, LatestClusterFact],
  }),
  deadLetters: topic({
    name: 'gc.dead-letters',
    key: 'original key',
    partitions: NODE_PARTITIONS,
    retentionMs: 30 * DAY_MS,
    compacted: false,
    bounds: ONE_LETTER,
    schemas: [DeadLetter, DeadLetterRedrive],
  }),
} as const;

export type TopicId = keyof typeof TOPICS;
export type TopicName = (typeof TOPICS)[TopicId]['name'];
/** Topics whose events are about subjects of this kind. */
export type TopicAbout<Kind extends SubjectKind> = {
  [Id in TopicId]: (typeof TOPICS)[Id]['key'] extends Kind ? Id : never;
}[TopicId];

/** Of what kind the subject is whose key the records of a topic have; `null` where they have other keys. */
export const subjectKindOf = ({ key }: Pick<TopicSpec, 'key'>): SubjectKind | null =>
  SubjectKind.options.find((kind) => kind === key) ?? null;

/** Whom a record of this topic is about by its key; `null` where the key names no subject. */
export function subjectOf(topic: Pick<TopicSpec, 'key'>, key: string | null): Subject | null {
  if (topic.key === 'fact and subject') return key === null ? null : locatedSubject(key);
  const kind = subjectKindOf(topic);
  return kind !== null && key !== null && SUBJECTS[kind].isKey(key) ? { kind, key } : null;
}

/** The events that may stand on a topic. */
export type EventOf<Id extends TopicId> = z.infer<(typeof TOPICS)[Id]['schemas'][number]>;
export type FleetEvent = EventOf<TopicId>;
