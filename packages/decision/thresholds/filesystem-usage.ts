import type { FilesystemName, FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { Doubt } from '../conclusion.ts';

interface Doubted {
  readonly kind: 'doubt';
  readonly doubt: Doubt;
}

/** Bytes of one filesystem, exact at any size (D6). */
export interface FilesystemUsage {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

export type BelievedUsage = { readonly kind: 'usage'; readonly usage: FilesystemUsage } | Doubted;

/** Takes the bytes of a reading at their word, or says why not. */
export function believeUsage(name: FilesystemName, reading: FilesystemReading | null): BelievedUsage {
  const share = believeShare(name, reading && [reading.capacityBytes, reading.availableBytes], BYTES);
  if (share.kind === 'doubt') return share;
  return { kind: 'usage', usage: { capacityBytes: share.whole, availableBytes: share.free } };
}

/** Inodes of one filesystem. */
export interface InodeUsage {
  readonly inodes: bigint;
  readonly free: bigint;
}

export type BelievedInodes = { readonly kind: 'inodes'; readonly inodes: InodeUsage } | Doubted;

/** As `believeUsage`, for inodes: a filesystem that makes them as it goes reports 0 of them, which tells nothing. */
export function believeInodes(name: FilesystemName, reading: FilesystemReading | null): BelievedInodes {
  const share = believeShare(name, reading && [reading.inodes, reading.inodesFree], INODES);
  return share.kind === 'doubt'
    ? share
    : { kind: 'inodes', inodes: { inodes: share.whole, free: share.free } };
}

/** How a doubt calls what is counted. */
interface Words {
  readonly whole: string;
  readonly free: string;
  readonly none: string;
  readonly counted: string;
}

const BYTES: Words = {
  whole: 'capacity',
  free: 'available space',
  none: 'a capacity of 0 bytes',
  counted: 'bytes available',
};
const INODES: Words = {
  whole: 'number of inodes',
  free: 'free inodes',
  none: '0 inodes in all',
  counted: 'inodes free',
};

interface Share {
  readonly kind: 'share';
  readonly whole: bigint;
  readonly free: bigint;
}

/**
 * A missing value is not zero (A1), a capacity of zero is no disk (D5), and more available than there is in all is
 * nonsense, which is refused where the kubelet cuts it down (D4, M37).
 */
function believeShare(
  name: FilesystemName,
  read: readonly [whole: string | null, free: string | null] | null,
  words: Words,
): Share | Doubted {
  if (read === null) return doubt('A1', `${name} could not be read`);
  const [wholeText, freeText] = read;
  if (wholeText === null) return doubt('A1', `the ${words.whole} of ${name} could not be read`);
  if (freeText === null) return doubt('A1', `the ${words.free} of ${name} could not be read`);
  const [whole, free] = [BigInt(wholeText), BigInt(freeText)];
  if (whole === 0n) return doubt('D5', `${name} reports ${words.none}`);
  if (free > whole) return doubt('M37', `${name} reports ${free} ${words.counted} of ${whole} in all`);
  return { kind: 'share', whole, free };
}

const doubt = (rule: string, message: string): Doubted => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no decision rests on it` },
});
