import { z } from 'zod';
import { DeadLetterCause } from '../events/dead-letter.ts';
import { NodeSelector, Policy } from '../policy/policy.ts';
import { ClusterStatus } from './cluster-status.ts';
import { FleetNodeWarning } from './fleet-nodes.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** What `fleetgc status -o json` prints. */
export const FleetStatus = z.object({
  type: z.literal('fleetgc.status'),
  version: z.literal(1),
  readAtMs: EpochMs,
  log: z.object({
    kind: z.enum(['kafka', 'embedded']),
    /** Addresses of the brokers that are there, or the path of the file. */
    servers: z.array(z.string()),
    /** How topics differ from what this release declares; empty where they are as declared. */
    topicProblems: z.array(z.string()),
    /** When a node or a cluster last said anything; `null`: none did in the last day, or nobody knows. */
    newestFactMs: EpochMs.nullable(),
  }),
  services: z.array(
    z.object({
      name: z.string(),
      group: z.string(),
      /** Replicas that are there now; on the embedded log those that stand by are not counted. */
      members: Count,
      /** Messages on the log that it is not done with. */
      lag: Count,
      /** `null`: it never was done with any message. */
      topics: z.record(z.string(), Count).nullable(),
      /** When the oldest message came that it is not done with, where it is furthest behind; `null`: there is none, or nobody knows. */
      waitingSinceMs: EpochMs.nullable(),
    }),
  ),
  /** `null`: unknown, since their topic cannot be read. */
  policies: z
    .array(
      z.object({
        name: z.string(),
        policyVersion: z.int().positive(),
        mode: Policy.shape.mode,
        /** Nodes that were heard in the last day and for which it holds, paused or not; `null`: unknown. */
        nodes: Count.nullable(),
      }),
    )
    .nullable(),
  /** `null`: unknown. */
  pauses: z
    .array(
      z.object({
        selector: NodeSelector,
        reason: z.string(),
        sinceMs: EpochMs,
        /** Nodes that were heard in the last day and that it stops; `null`: unknown. */
        nodes: Count.nullable(),
      }),
    )
    .nullable(),
  /** Records of `gc.policies` that nobody can read; `null`: unknown. */
  unreadablePolicies: Count.nullable(),
  /** Of the last 24 hours; `null`: unknown. */
  deadLetters: z
    .object({
      total: Count,
      redriven: Count,
      byCause: z.partialRecord(DeadLetterCause, Count),
    })
    .nullable(),
  /** Of those that were heard in the last 24 hours; `null`: unknown. */
  nodes: z.object({ heard: Count, silent: Count, withoutPolicy: Count.nullable(), warned: Count }).nullable(),
  /** Those that were heard in the last 24 hours; `null`: unknown. */
  clusters: z.array(ClusterStatus).nullable(),
  warnings: z.array(z.object({ subject: z.string(), ...FleetNodeWarning.shape })),
  /** What a person should look at, in sentences; empty when all is well. */
  problems: z.array(z.string()),
});
export type FleetStatus = z.infer<typeof FleetStatus>;
