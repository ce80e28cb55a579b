import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { WriteTruth } from '../../truth.ts';
import { openBallast } from '../ballast.ts';
import { type ChaosDisk, USUAL_OTHER_PERCENT } from '../chaos-node.ts';

/** The disk under a real runtime: as full as its filesystem says. */
export class ContainerdDisk implements ChaosDisk {
  readonly capacityBytes: bigint;
  readonly usualBytes: bigint;
  otherBytes: bigint;
  /** Whether whoever holds the account writes down how full the disk is. */
  isAccounted = (): boolean => false;
  readonly #directory: string;
  readonly #ballast: ReturnType<typeof openBallast>;
  readonly #write: WriteTruth;
  /** Of what was removed and is to take its space for a while. */
  #lateBytes = 0n;
  #toldPercent = -1;

  constructor(directory: string, capacityBytes: bigint, write: WriteTruth) {
    this.#directory = directory;
    this.capacityBytes = capacityBytes;
    this.usualBytes = (capacityBytes * USUAL_OTHER_PERCENT) / 100n;
    this.otherBytes = this.usualBytes;
    this.#ballast = openBallast(join(directory, 'ballast'));
    this.#write = write;
  }

  usedBytes(): bigint {
    const { bsize, blocks, bavail } = statfsSync(this.#directory, { bigint: true });
    return (blocks - bavail) * bsize;
  }

  usedPercent(): number {
    return Number((this.usedBytes() * 10_000n) / this.capacityBytes) / 100;
  }

  /** What is freed meanwhile stays taken for so long. */
  async freeLate<Answer>(lateMs: number, act: () => Promise<Answer>): Promise<Answer> {
    if (lateMs === 0) return act();
    const before = this.usedBytes();
    const answer = await act();
    const freed = before - this.usedBytes();
    if (freed > 0n) {
      this.#lateBytes += freed;
      this.#fit();
      setTimeout(() => {
        this.#lateBytes -= freed;
        this.weigh();
      }, lateMs);
    }
    return answer;
  }

  weigh(): void {
    this.#fit();
    if (!this.isAccounted()) this.tell();
  }

  tell(): void {
    const usedPercent = this.usedPercent();
    if (usedPercent === this.#toldPercent) return;
    this.#toldPercent = usedPercent;
    this.#write({ kind: 'disk', usedPercent });
  }

  #fit(): void {
    this.#ballast.weigh(Number(this.otherBytes + this.#lateBytes));
  }
}
