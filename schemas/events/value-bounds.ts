/** What the value of a message may cost. All of it is told before the value is parsed. */
export interface ValueBounds {
  /** Decompressed. */
  readonly bytes: number;
  /** Lists and objects that are open at once. */
  readonly depth: number;
  /** Brackets that open, and commas: about one for each value, which is what a parsed value takes memory for. */
  readonly elements: number;
}

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
/** Our own events have fewer than ten levels; a newer release may have some more. */
const DEPTH = 16;

/**
 * A list with an entry for each object of a node. An inventory of 20,000 objects with 50 values each has two thirds of the elements;
 * as parsed values all of them take about 120 MB, and less than two seconds of a processor.
 */
export const OBJECTS_OF_A_NODE: ValueBounds = { bytes: 64 * MEBIBYTE, depth: DEPTH, elements: 1_500_000 };

/** Three filesystems with two histories of two hours, a bucket of four values a minute: 80 KiB, and 4,000 elements. */
export const HISTORY_OF_DISKS: ValueBounds = { bytes: 2 * MEBIBYTE, depth: DEPTH, elements: 100_000 };

/**
 * What of a cluster's owner graph may call for something, or what was decided, ordered or done about it: 512 KiB of candidates, as many
 * again that settled, and the kinds of which nothing is known, or 500 objects with a sentence each.
 */
export const CANDIDATES_OF_A_CLUSTER: ValueBounds = { bytes: 4 * MEBIBYTE, depth: DEPTH, elements: 200_000 };

/** What one object was, as one text of at most 3 MiB, and up to a hundred owners. */
export const ONE_MANIFEST: ValueBounds = { bytes: 4 * MEBIBYTE, depth: DEPTH, elements: 2_000 };

/** One reclaim with its target. */
export const ONE_ORDER: ValueBounds = { bytes: 64 * KIBIBYTE, depth: DEPTH, elements: 2_000 };

/** A command of at most 48 KiB, with 50 objects. */
export const ONE_COMMAND: ValueBounds = { bytes: 256 * KIBIBYTE, depth: DEPTH, elements: 10_000 };

/** What came of one object or command, with what stands in its way, by reason. */
export const ONE_RESULT: ValueBounds = { bytes: 256 * KIBIBYTE, depth: DEPTH, elements: 10_000 };

/** A policy has about ten lists of at most 1,000 patterns of 512 characters, each of which may take 6 bytes in JSON. */
export const ONE_POLICY: ValueBounds = { bytes: 32 * MEBIBYTE, depth: DEPTH, elements: 100_000 };

/** The names of all policies of a fleet with their hashes, and its pauses with their patterns. */
export const SET_OF_POLICIES: ValueBounds = { bytes: 64 * MEBIBYTE, depth: DEPTH, elements: 500_000 };

/** A pass of an archiver after a long outage: 50,000 files with 11 bytes each. Decisions take less: 512 ranges, and 2,000 statements. */
export const ONE_HEAD: ValueBounds = { bytes: MEBIBYTE, depth: DEPTH, elements: 100_000 };

/** A value of 4 MiB in base64, and key and headers, which may take 6 bytes a character in JSON. */
export const ONE_LETTER: ValueBounds = { bytes: 32 * MEBIBYTE, depth: DEPTH, elements: 10_000 };

/** Where one fact lies. */
export const ONE_POSITION: ValueBounds = { bytes: 8 * KIBIBYTE, depth: DEPTH, elements: 200 };

/** What a root says of one key, with up to a thousand clusters of 253 characters each. */
export const ONE_STATEMENT: ValueBounds = { bytes: 512 * KIBIBYTE, depth: DEPTH, elements: 2_000 };
