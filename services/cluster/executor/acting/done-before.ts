import type { ClusterAction } from '../../../../schemas/events/cluster-command.ts';

/** What was done longer ago is found gone or changed when it is tried again. */
const MAX_DONE = 50_000;

/** What this process did, to which state of which object: two decisions on one state give one deed. */
export class DoneBefore {
  readonly #done = new Set<string>();

  has(uid: string, resourceVersion: string, action: ClusterAction): boolean {
    return this.#done.has(keyOf(uid, resourceVersion, action));
  }

  add(uid: string, resourceVersion: string, action: ClusterAction): void {
    this.#done.add(keyOf(uid, resourceVersion, action));
    if (this.#done.size <= MAX_DONE) return;
    for (const oldest of this.#done) {
      this.#done.delete(oldest);
      return;
    }
  }
}

const keyOf = (uid: string, resourceVersion: string, action: ClusterAction): string =>
  JSON.stringify([uid, resourceVersion, action]);
