import { MINUTE, SECOND } from '../../fixtures/time.ts';
import type { Pipeline } from './pipeline.ts';

/** Pulls images and lets them grow older than the minimum age, first pulled first in the order to go. */
export async function oldImages({ node, time }: Pipeline, references: readonly string[]): Promise<void> {
  for (const reference of references) {
    await node.runtime.pullImage(reference);
    await time.pass(11 * SECOND);
  }
  await time.pass(2 * MINUTE);
}

/** Something that is not an image fills the disk, or frees it, to `percent`. */
export function pressure({ node: { disk } }: Pipeline, percent = 90n): void {
  const others = disk.usedBytes(0n) - disk.otherBytes;
  const otherBytes = (disk.capacityBytes * percent) / 100n - others;
  disk.otherBytes = otherBytes > 0n ? otherBytes : 0n;
}

/** Logs apart, which are small. */
export function usedPercent({ node: { disk } }: Pipeline): number {
  return Number((disk.usedBytes(0n) * 100n + disk.capacityBytes - 1n) / disk.capacityBytes);
}
