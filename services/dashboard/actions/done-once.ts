import { hash } from 'node:crypto';
import type { DashboardActionDone } from '../../../schemas/reports/dashboard-actions.ts';

/** A day of clicks. */
const MOST_REMEMBERED = 10_000;

interface Remembered {
  /** Of what was asked for: that may be long. */
  readonly sha256: string;
  readonly done: Promise<DashboardActionDone>;
}

/** What was asked for twice under one id, as a double click or a repeated request does, is done once. */
export class DoneOnce {
  readonly #remembered = new Map<string, Remembered>();

  /** `null`: this id was for something else. What failed may be asked for again. */
  once(
    id: string,
    what: string,
    work: () => Promise<DashboardActionDone>,
  ): Promise<DashboardActionDone> | null {
    const known = this.#remembered.get(id);
    const sha256 = hash('sha256', what);
    if (known !== undefined) return known.sha256 === sha256 ? known.done : null;
    const done = work();
    this.#remembered.set(id, { sha256, done });
    done.catch(() => this.#remembered.delete(id));
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return done;
  }
}
