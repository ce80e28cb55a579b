import { FleetGcError } from '../../packages/process/errors.ts';

/** One wait of the code under test for what is outside of it. */
export interface Wait {
  /** Whose wait: each of these goes on by itself, in the order in which it asked. */
  readonly of: string;
  readonly name: string;
  /** What happens outside of the process, where something does: it can happen although nobody is there for the answer. */
  readonly effect: (() => void) | null;
  /** Has the effect, if there is one, and lets the code go on. */
  readonly answer: () => void;
  /** Lets the code go on without it. */
  readonly fail: (error: Error) => void;
}

/** All waits of one process. What is not answered never goes on, which is how a process dies. */
export class Waits {
  #open: Wait[] = [];

  /** Resolves to what `read` says at the moment of the answer. */
  ask<T>(of: string, name: string, read: () => T): Promise<T> {
    return this.#wait(of, name, null, read);
  }

  /** The same for a request that changes something outside; rejects when `change` throws. */
  request(of: string, name: string, change: () => void): Promise<void> {
    return this.#wait(of, name, () => withoutAnswer(change), change);
  }

  #wait<T>(of: string, name: string, effect: Wait['effect'], result: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const answer = (): void => {
      try {
        resolve(result());
      } catch (error) {
        reject(error);
      }
    };
    this.#open.push({ of, name, effect, answer, fail: reject });
    return promise;
  }

  first(of: string): Wait | undefined {
    return this.#open.find((wait) => wait.of === of);
  }

  /** The first wait ends in an error, before or after what it asked for was done. */
  fail(of: string, error: Error, isDone: boolean): void {
    const { effect, fail } = this.take(of);
    if (isDone) effect?.();
    fail(error);
  }

  open(): readonly Wait[] {
    return this.#open;
  }

  /** No longer waits; the caller answers it, or nobody does. */
  take(of: string): Wait {
    const wait = this.first(of);
    if (wait === undefined) throw new Error(`${of} waits for nothing`);
    this.#open = this.#open.filter((one) => one !== wait);
    return wait;
  }
}

/** Whoever is gone does not learn that it was refused. */
function withoutAnswer(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!(error instanceof FleetGcError)) throw error;
  }
}

/**
 * Resolves when the code has done all that it can without a further answer: its promises are settled or wait for one, since
 * nothing of it uses a timer, a socket or a file.
 */
export const untilAllWait = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
