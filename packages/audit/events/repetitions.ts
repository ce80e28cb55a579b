import { sha256Hex } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { type Place, placeOf } from './log-position.ts';

/** Repetitions come soon after the original; so many ids are kept. */
const MOST = 50_000;

/** Whether a record was there before: any message may lie on the log twice, but only as it was. */
export type Sighting =
  | { readonly kind: 'first' }
  | { readonly kind: 'same' }
  | { readonly kind: 'other'; readonly before: Place };

/** Ids are told apart by topic: an event that is derived from another may have its id. */
export const messageName = ({ id }: { readonly id: string }, { topic }: Pick<LogRecord, 'topic'>): string =>
  `${topic} ${id}`;

interface Seen {
  readonly fingerprint: string;
  readonly place: Place;
}

/** Ids that came before, each with what was last said of it; those that came first are forgotten first. */
class RecentIds<Said> {
  readonly #said = new Map<string, Said>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  before(id: string): Said | undefined {
    return this.#said.get(id);
  }

  add(id: string, said: Said): void {
    this.#said.set(id, said);
    if (this.#said.size <= this.#most) return;
    const [oldest] = this.#said.keys();
    if (oldest !== undefined) this.#said.delete(oldest);
  }
}

/** Finds messages that lie on the log more than once, by their ids. */
export class Repetitions {
  readonly #ids: RecentIds<true>;

  constructor(most: number = MOST) {
    this.#ids = new RecentIds(most);
  }

  isFirst(id: string): boolean {
    if (this.#ids.before(id) !== undefined) return false;
    this.#ids.add(id, true);
    return true;
  }
}

/** The same, and whether they are as they were. */
export class ComparedRepetitions {
  readonly #ids: RecentIds<Seen>;

  constructor(most: number = MOST) {
    this.#ids = new RecentIds(most);
  }

  /** `content` is what must not change between two records of one id; the whole value unless something else is said. */
  sighting(id: string, record: LogRecord, content: string | Buffer = record.value ?? ''): Sighting {
    const fingerprint = sha256Hex(content);
    const before = this.#ids.before(id);
    if (before === undefined) {
      this.#ids.add(id, { fingerprint, place: placeOf(record) });
      return { kind: 'first' };
    }
    return before.fingerprint === fingerprint ? { kind: 'same' } : { kind: 'other', before: before.place };
  }
}
