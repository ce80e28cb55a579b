import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import { MINUTE, SECOND } from '../../fixtures/time.ts';
import { CAPACITY_BYTES, type Pipeline } from './pipeline.ts';

/** Pulls images and lets them grow older than the minimum age, first pulled first in the order to go. */
export async function oldImages({ node, time }: Pipeline, references: readonly string[]): Promise<void> {
  for (const reference of references) {
    await node.runtime.pullImage(reference);
    await time.pass(11 * SECOND);
  }
  await time.pass(2 * MINUTE);
}

/** Something that is not an image fills the disk to 90 percent. */
export async function pressure(pipeline: Pipeline, percent = 90n): Promise<void> {
  const { node } = pipeline;
  const available = await availableBytes(pipeline);
  node.disk.otherBytes += available - (CAPACITY_BYTES * (100n - percent)) / 100n;
}

export async function usedPercent(pipeline: Pipeline): Promise<number> {
  return 100 - Number(((await availableBytes(pipeline)) * 100n) / CAPACITY_BYTES);
}

async function availableBytes({ node }: Pipeline): Promise<bigint> {
  const { imagefs } = await node.filesystems.read();
  return BigInt(requireBytes(imagefs));
}

function requireBytes(reading: FilesystemReading | null): string {
  if (reading?.availableBytes) return reading.availableBytes;
  throw new Error('the simulated disk can be read');
}
