import { z } from 'zod';
import { Fact } from '../events/decision-parts.ts';
import { ObjectKind } from '../events/object-kinds.ts';
import { readingOf } from './dashboard-report.ts';
import { Candidate } from './explanation.ts';
import { ExplainedKind } from './timeline.ts';

/*
 * What the JSON API of `fleetgc dashboard` answers about one image, container, sandbox or pod, and about all that is on a node. Times
 * are epoch milliseconds by the log's own clock, unless they say otherwise; bytes are decimal digits.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();
const Bytes = z.string();

/** What has a page of its own: whatever an inventory lists, and pods. */
export const ShownKind = ExplainedKind.exclude(['node']);
export type ShownKind = z.infer<typeof ShownKind>;

/** A node that lists an image in its newest inventory. */
const Holder = z.object({
  /** `<cluster>/<node>`. */
  node: z.string(),
  /** When the log got that inventory. */
  atMs: EpochMs,
  sizeBytes: Count,
  /** Containers, sandboxes, pods and others that use it. */
  users: Count,
  /** By the node's clock; `null`: nobody was ever seen to use it. */
  lastUsedMs: EpochMs.nullable(),
  pinned: z.boolean(),
});

/** That it went, as its result says. */
const Went = z.object({
  node: z.string(),
  atMs: EpochMs,
  rule: z.string(),
  because: z.string(),
  /** `null` where nobody could measure it. */
  freedBytes: Bytes.nullable(),
  /** Whether it came back: its node listed it again, or it went once more. Of anything but an image, `false`. */
  isBack: z.boolean(),
});

/** One object on all nodes. */
export const DashboardObject = z.object({
  kind: ShownKind,
  id: z.string(),
  /** Names that nodes listed it by, the newest first; of many some. */
  names: z.array(z.string()),
  /** Of images alone: who has it now, a page of them in the order of their names. */
  holders: z.object({
    nodes: Count,
    used: Count,
    pinned: Count,
    page: z.array(Holder),
    after: z.string().nullable(),
  }),
  /** How often it went in the time that is known, and the last of those times. */
  went: z.object({ times: Count, nodes: Count, back: Count, last: z.array(Went) }),
  /** Since when all results are read; what went before is missing. `null`: nothing is known yet. */
  knownSinceMs: EpochMs.nullable(),
  /** Nodes that told of it, the last first: where its life can be looked up. */
  told: z.array(z.string()),
});
export type DashboardObject = z.infer<typeof DashboardObject>;

/** The rule that keeps something, or by which it may go, as a plan of this moment with the policy in force has it. */
const Judged = z.object({
  action: z.enum(['keep', 'remove']),
  rule: z.string(),
  because: z.string(),
  facts: z.record(z.string(), Fact),
});

/** Something that a node lists in its newest inventory. */
export const ListedThing = z.object({
  kind: ShownKind,
  id: z.string(),
  name: z.string(),
  /** Of an image, as listed. */
  sizeBytes: Count.nullable(),
  /** Of a container, a sandbox or a pod. */
  state: z.string().nullable(),
  /** Of an image: who uses it. */
  users: z.array(z.object({ kind: z.string(), id: z.string(), name: z.string() })),
  /** Of how many users the list has the first. */
  usersInAll: Count,
  /** Of an image, by the node's clock; `null`: nobody was ever seen to use it, or it is no image. */
  lastUsedMs: EpochMs.nullable(),
  firstSeenMs: EpochMs.nullable(),
  pinned: z.boolean(),
  /** `null` where nothing is judged: of pods themselves. */
  judged: Judged.nullable(),
});
export type ListedThing = z.infer<typeof ListedThing>;

/** A part of what a node lists, the largest first. */
export const DashboardListed = z.object({
  node: z.string(),
  /** Of its newest inventory: when the log got it. */
  atMs: EpochMs,
  /** The policy in force, by which it is judged; `null`: none, and everything stays. */
  policy: z.string().nullable(),
  /** Why everything stays, or what is gone by, in a sentence. */
  reason: z.string(),
  /** Of each kind how many there are. */
  counts: z.array(z.object({ kind: ShownKind, objects: Count })),
  /** Those that were asked for: how many there are, and a page of them. */
  matching: Count,
  things: z.array(ListedThing),
});
export type DashboardListed = z.infer<typeof DashboardListed>;

/** A life in words, as `fleetgc audit explain` tells it. */
export const ToldLife = z.object({
  sentences: z.array(z.string()),
  entries: z.array(
    z.object({
      atMs: EpochMs,
      /** What of it, where it has parts. */
      of: z.string().nullable(),
      word: z.string(),
      text: z.string(),
    }),
  ),
});
export type ToldLife = z.infer<typeof ToldLife>;

/** What `fleetgc audit explain` says of an object on one node. */
export const DashboardLife = readingOf(
  z.discriminatedUnion('status', [
    z.object({
      status: z.literal('explained'),
      subject: Candidate,
      ...ToldLife.shape,
      /** Entries that are left out, since there are so many: the oldest. */
      leftOut: Count,
    }),
    z.object({ status: z.literal('ambiguous'), candidates: z.array(Candidate) }),
    z.object({ status: z.literal('not-found'), records: Count }),
  ]),
);
export type DashboardLife = z.infer<typeof DashboardLife>;

/** The kinds whose objects a node lists, by name in a filter. */
export const ListedKind = z.enum([...ObjectKind.options, 'pod']);
export type ListedKind = z.infer<typeof ListedKind>;
