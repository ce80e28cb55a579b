import type { z } from 'zod';
import { Command } from './command.ts';
import { DeadLetter, DeadLetterRedrive } from './dead-letter.ts';
import { Decision } from './decision.ts';
import { DiskStats } from './disk-stats.ts';
import { Inventory } from './inventory.ts';
import { Observe } from './observe.ts';
import { PolicyRecord, PolicyTopicRecord } from './policy.ts';
import { PolicySetRecord } from './policy-set.ts';
import { CommandResult, ObjectResult, PassFailed, PressureUnrelieved, ReclaimContinues } from './result.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Partitions of every topic that is keyed by node. Changing it means new topic names and a drain. */
export const NODE_PARTITIONS = 32;

export interface TopicSpec {
  readonly name: string;
  /** What the record key is. */
  readonly key: 'node' | 'policy name' | 'content hash' | 'original key';
  readonly partitions: number;
  /** `forever` also means: never deleted by size. */
  readonly retentionMs: number | 'forever';
  readonly compacted: boolean;
  /** Facts are parsed tolerantly, orders and state strictly; the schemas are written so. */
  readonly schemas: readonly z.ZodType[];
}

const topic = <const T extends TopicSpec>(spec: T): T => spec;
const byNode = { key: 'node', partitions: NODE_PARTITIONS, compacted: false } as const;

/** The one table of topics. Nothing else spells a topic name. */
export const TOPICS = {
  diskStats: topic({ ...byNode, name: 'gc.node.disk-stats', retentionMs: DAY_MS, schemas: [DiskStats] }),
  inventory: topic({ ...byNode, name: 'gc.node.inventory', retentionMs: 14 * DAY_MS, schemas: [Inventory] }),
  observe: topic({ ...byNode, name: 'gc.node.observe', retentionMs: DAY_MS, schemas: [Observe] }),
  commands: topic({ ...byNode, name: 'gc.node.commands', retentionMs: 14 * DAY_MS, schemas: [Command] }),
  results: topic({
    ...byNode,
    name: 'gc.node.results',
    retentionMs: 14 * DAY_MS,
    schemas: [ObjectResult, CommandResult, PassFailed, ReclaimContinues, PressureUnrelieved],
  }),
  decisions: topic({
    ...byNode,
    name: 'gc.node.decisions',
    retentionMs: 14 * DAY_MS,
    schemas: [Decision, PressureUnrelieved],
  }),
  policies: topic({
    name: 'gc.policies',
    key: 'policy name',
    partitions: 1,
    retentionMs: 'forever',
    compacted: true,
    schemas: [PolicyTopicRecord],
  }),
  policyVersions: topic({
    name: 'gc.policy-versions',
    key: 'content hash',
    partitions: 1,
    retentionMs: 'forever',
    compacted: false,
    schemas: [PolicyRecord, PolicySetRecord],
  }),
  deadLetters: topic({
    name: 'gc.dead-letters',
    key: 'original key',
    partitions: NODE_PARTITIONS,
    retentionMs: 30 * DAY_MS,
    compacted: false,
    schemas: [DeadLetter, DeadLetterRedrive],
  }),
} as const;

export type TopicId = keyof typeof TOPICS;
export type TopicName = (typeof TOPICS)[TopicId]['name'];

/** The events that may stand on a topic. */
export type EventOf<Id extends TopicId> = z.infer<(typeof TOPICS)[Id]['schemas'][number]>;
export type FleetEvent = EventOf<TopicId>;
