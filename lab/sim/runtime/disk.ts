import type { z } from 'zod';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Faults } from './faults.ts';

/** Bytes that one inode stands for, as mke2fs reckons. */
const BYTES_PER_INODE = 16_384n;

export interface DiskOptions {
  readonly capacityBytes: bigint;
  /** What is neither image nor container nor log. Changed by tests that fill the disk. */
  readonly otherBytes: bigint;
}

/** One filesystem for everything, as most nodes have. */
export interface Disk {
  readonly capacityBytes: bigint;
  otherBytes: bigint;
  /** The content of an image or a writable layer. */
  store(key: string, sizeBytes: bigint): void;
  /** Its bytes become available now, or late when the faults say so. */
  release(key: string): void;
  usedBytes(logBytes: bigint): bigint;
  readings(logBytes: bigint): FilesystemReadings;
}

export interface DiskParts {
  readonly options: DiskOptions;
  readonly mountpoint: string;
  readonly clock: NodeClock;
  readonly faults: Faults;
}

export function createDisk({ options, mountpoint, clock, faults }: DiskParts): Disk {
  const stored = new Map<string, bigint>();
  let leaving: readonly { readonly sizeBytes: bigint; readonly untilMs: number }[] = [];
  return {
    capacityBytes: options.capacityBytes,
    otherBytes: options.otherBytes,
    store: (key, sizeBytes) => stored.set(key, sizeBytes),
    release: (key) => {
      const sizeBytes = stored.get(key) ?? 0n;
      stored.delete(key);
      leaving = [...leaving, { sizeBytes, untilMs: clock.now().sinceBootMs + faults.freeLateMs }];
    },
    usedBytes(logBytes) {
      leaving = leaving.filter(({ untilMs }) => untilMs > clock.now().sinceBootMs);
      const late = leaving.map(({ sizeBytes }) => sizeBytes);
      return this.otherBytes + logBytes + sum([...stored.values(), ...late]);
    },
    readings(logBytes) {
      if (faults.filesystemsUnreadable) return { nodefs: null, imagefs: null, containerfs: null };
      const reading = readingOf(options.capacityBytes, this.usedBytes(logBytes), mountpoint);
      return { nodefs: reading, imagefs: reading, containerfs: reading };
    },
  };
}

function readingOf(
  capacityBytes: bigint,
  usedBytes: bigint,
  mountpoint: string,
): z.infer<typeof FilesystemReading> {
  const availableBytes = capacityBytes > usedBytes ? capacityBytes - usedBytes : 0n;
  return {
    mountpoint,
    device: `simulated:${mountpoint}`,
    capacityBytes: String(capacityBytes),
    availableBytes: String(availableBytes),
    inodes: String(capacityBytes / BYTES_PER_INODE),
    inodesFree: String(availableBytes / BYTES_PER_INODE),
  };
}

const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
