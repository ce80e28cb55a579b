import { setTimeout as sleep } from 'node:timers/promises';
import type {
  RuntimeContainer,
  RuntimeImage,
  RuntimeReader,
  RuntimeSandbox,
} from '../../../../packages/cri/port.ts';
import type { WriteTruth } from '../../truth.ts';

/** Whose hand changes something. */
type Hand = 'cri' | 'life';

interface AccountParts {
  readonly reader: Pick<RuntimeReader, 'listImages' | 'listContainers' | 'listSandboxes'>;
  readonly write: WriteTruth;
  readonly usedPercent: () => number;
  /** Writes down how full the disk is. */
  readonly weigh: () => void;
}

const AGAIN_MS = 200;
/** For so long an answer waits for the account of it: a runtime that is away has none. */
const LONGEST_ANSWER_MS = 2_000;
/** Longer than any fault keeps a runtime away. */
const LONGEST_AWAY_MS = 60_000;

/**
 * What a real runtime holds, written down as truth: whoever changes something holds the account meanwhile, so that each
 * difference between two lists has one hand that made it.
 */
export class RuntimeAccount {
  readonly #parts: AccountParts;
  readonly #images = new Map<string, string>();
  readonly #running = new Map<string, boolean>();
  readonly #ready = new Map<string, boolean>();
  #last: Promise<void> = Promise.resolve();
  #holder: Hand | null = null;
  #removals = 0;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /** Whether a removal is under way, by which the disk changes. */
  get isRemoving(): boolean {
    return this.#holder === 'cri';
  }

  /** Lets one hand act at a time, and resolves as its act does, when what came of it is written down. */
  async hold<Answer>(by: Hand, act: () => Promise<Answer>): Promise<Answer> {
    const before = this.#last;
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    await before;
    this.#holder = by;
    const usedPercentBefore = this.#parts.usedPercent();
    try {
      return await act();
    } finally {
      const told = this.#untilTold(by, usedPercentBefore).then(() => {
        this.#holder = null;
        over.resolve();
      });
      await Promise.race([told, sleep(LONGEST_ANSWER_MS, undefined, { ref: false })]);
    }
  }

  /** An image is there at the latest when somebody lists it. A list that was taken beside a removal may be outdated. */
  async noting(list: () => Promise<readonly RuntimeImage[]>): Promise<void> {
    const removals = this.#removals;
    const images = await list();
    if (removals === this.#removals && !this.isRemoving) for (const image of images) this.#note(image);
  }

  async #untilTold(by: Hand, usedPercentBefore: number): Promise<void> {
    const untilMs = Date.now() + LONGEST_AWAY_MS;
    for (;;) {
      try {
        return await this.#tell(by, usedPercentBefore);
      } catch (cause) {
        if (Date.now() > untilMs)
          throw new Error(`the runtime told nothing of itself for ${LONGEST_AWAY_MS} ms`, { cause });
        await sleep(AGAIN_MS);
      }
    }
  }

  async #tell(by: Hand, usedPercentBefore: number): Promise<void> {
    const { reader, write, weigh } = this.#parts;
    const [images, containers, sandboxes] = await Promise.all([
      reader.listImages(),
      reader.listContainers(),
      reader.listSandboxes(),
    ]);
    for (const id of takeGone(this.#running, containers)) write({ kind: 'container-gone', id, by });
    for (const id of takeGone(this.#ready, sandboxes)) write({ kind: 'sandbox-gone', id, by });
    for (const image of images) this.#note(image);
    for (const sandbox of sandboxes) this.#noteSandbox(sandbox);
    for (const container of containers) this.#noteContainer(container);
    for (const id of takeGone(this.#images, images)) {
      this.#removals += 1;
      write({ kind: 'image-gone', id, by, usedPercentBefore });
    }
    weigh();
  }

  #note({ id, repoTags, repoDigests, sizeBytes, pinned }: RuntimeImage): void {
    const names = [...repoTags, ...repoDigests];
    const line = { kind: 'image', id, names, sizeBytes: Number(sizeBytes), pinned } as const;
    const text = JSON.stringify(line);
    if (this.#images.get(id) === text) return;
    this.#images.set(id, text);
    this.#parts.write(line);
  }

  #noteSandbox({ id, podNamespace, state }: RuntimeSandbox): void {
    const ready = state === 'ready';
    if (this.#ready.get(id) === ready) return;
    this.#ready.set(id, ready);
    this.#parts.write({ kind: 'sandbox', id, namespace: podNamespace, ready });
  }

  #noteContainer({ id, name, imageId, imageRef, labels, state }: RuntimeContainer): void {
    const { write } = this.#parts;
    const known = this.#running.get(id);
    const running = state === 'running';
    if (known === undefined) {
      const namespace = labels['io.kubernetes.pod.namespace'] ?? '';
      const uid = labels['io.kubernetes.pod.uid'] ?? '';
      write({ kind: 'container', id, imageId: imageId || imageRef, pod: { uid, namespace, name } });
    }
    if (running !== (known ?? false)) write({ kind: 'container-state', id, running });
    this.#running.set(id, running);
  }
}

/** Ids that are not listed any more, which are forgotten. */
function takeGone(
  known: Map<string, unknown>,
  listed: readonly { readonly id: string }[],
): readonly string[] {
  const there = new Set(listed.map(({ id }) => id));
  const gone = [...known.keys()].filter((id) => !there.has(id));
  for (const id of gone) known.delete(id);
  return gone;
}
