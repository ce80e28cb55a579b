import { z } from 'zod';

/*
 * What the JSON API of `fleetgc dashboard` answers about the images of all nodes. Times are epoch milliseconds by the log's own clock;
 * bytes are decimal digits.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();
const Bytes = z.string();

/** What images take on the nodes that have them. Layers that images of one node have in common count once on that node. */
const HeldSums = {
  bytes: Bytes,
  /** What no image has of it that somebody uses now. */
  unusedBytes: Bytes,
  /** What no image has of it that anybody was ever seen to use. */
  neverUsedBytes: Bytes,
};

/** Repositories, a page of them, the most of what they are sorted by first. */
export const DashboardImages = z.object({
  readAtMs: EpochMs,
  /** Nodes whose images are summed up, and how many of them tell of no layers: there an image counts with its listed size. */
  nodes: Count,
  nodesWithoutLayers: Count,
  /** Nodes of the fleet whose images are not known now, such as those that are silent: no sum has them. */
  nodesNotCounted: Count,
  /** Of all images of these nodes. */
  sums: z.object({ ...HeldSums, images: Count, repositories: Count }),
  /** Those that were asked for. */
  matching: Count,
  repositories: z.array(
    z.object({
      repository: z.string(),
      /** Different images, by their ids. */
      images: Count,
      nodes: Count,
      ...HeldSums,
      /** What no image of another repository has. The two sums of what is unused are of this. */
      aloneBytes: Bytes,
    }),
  ),
});
export type DashboardImages = z.infer<typeof DashboardImages>;

/** The images of one repository, those on the most nodes first; of many the first of them. */
export const DashboardRepository = z.object({
  repository: z.string(),
  matching: Count,
  images: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      /** As listed: layers that it shares with others are in it. */
      sizeBytes: Count,
      nodes: Count,
      /** Nodes on which somebody uses it now. */
      usedOn: Count,
      /** Nodes on which nobody was ever seen to use it. */
      neverUsedOn: Count,
    }),
  ),
});
export type DashboardRepository = z.infer<typeof DashboardRepository>;

/** By what it is asked who holds the space. */
export const HolderKind = z.enum(['cluster', 'pool', 'policy', 'namespace']);
export type HolderKind = z.infer<typeof HolderKind>;

/** Who holds the space, the most first. */
export const DashboardHolders = z.object({
  by: HolderKind,
  matching: Count,
  holders: z.array(
    z.object({
      name: z.string(),
      nodes: Count,
      ...HeldSums,
      /** Of namespaces: what no other namespace uses on the node; of all others the same as `bytes`. */
      aloneBytes: Bytes,
    }),
  ),
});
export type DashboardHolders = z.infer<typeof DashboardHolders>;

/** Images that went and came back, the most often first. */
export const DashboardReturned = z.object({
  fromMs: EpochMs,
  /** Since when all results are read; what went before is missing. `null`: nothing is known yet. */
  knownSinceMs: EpochMs.nullable(),
  /** Removals of images in that time, and how many of those images came back. */
  removals: Count,
  returns: Count,
  images: z.array(
    z.object({
      id: z.string(),
      /** `null`: nobody lists it any more. */
      name: z.string().nullable(),
      removals: Count,
      returns: Count,
      nodes: Count,
    }),
  ),
});
export type DashboardReturned = z.infer<typeof DashboardReturned>;
