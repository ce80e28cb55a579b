import type { ServerResponse } from 'node:http';
import { toldActivity } from '../../../packages/read-model/history.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { newsOf } from '../../../packages/read-model/nodes.ts';
import type { ActivityRow } from '../../../packages/read-model/rows.ts';
import type { Simulations } from '../simulation/simulations.ts';

/**
 * Each holds a connection.
 * @limit Pages that follow updates.
 */
const MOST_READERS = 200;
/** So that one person cannot have all the places; each view has one. */
const MOST_READERS_OF_A_PERSON = 20;
/** A reader that does not take what was sent is let go; it comes back and asks anew. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** Of one second; a burst of more is looked up. */
const MOST_LINES = 200;
const EVERY_MS = 1_000;
/** What changed while somebody asked for the whole, and was not a reader yet, is told once more: so many seconds of it. */
const TOLD_AGAIN = 3;
/** Proxies close what is silent. */
const BEAT_EVERY = 15;

/** Somebody who looks, by one connection. */
export interface Reader {
  readonly response: ServerResponse;
  /** As `personKey` says. */
  readonly person: string;
  /** Whether whoever it was still may look. */
  readonly isSignedIn: () => boolean;
}

/** Tells everybody who looks what is new, once a second: the same text for all. */
export class NewsRoom implements Disposable {
  readonly #projection: Projection;
  readonly #simulations: Simulations;
  readonly #readers = new Set<Reader>();
  readonly #timer: NodeJS.Timeout;
  readonly #subscription: Disposable;
  #lines: ActivityRow[] = [];
  #recent: readonly ReadonlySet<string>[] = [];
  /** What a new reader is told of it; `null`: nobody came since it changed. */
  #recentText: string | null = null;
  #beats = 0;

  constructor(projection: Projection, simulations: Simulations) {
    this.#projection = projection;
    this.#simulations = simulations;
    this.#subscription = projection.subscribe({ onActivity: (rows) => this.#note(rows) });
    this.#timer = setInterval(() => this.#tell(), EVERY_MS);
  }

  /** Whether there was room for one more. */
  add(reader: Reader): boolean {
    const { response, person } = reader;
    const own = this.#readers.values().filter((each) => each.person === person);
    if (this.#readers.size >= MOST_READERS || own.toArray().length >= MOST_READERS_OF_A_PERSON) return false;
    this.#readers.add(reader);
    response.on('close', () => this.#readers.delete(reader));
    response.write('retry: 3000\n\n');
    response.write(eventText('progress', this.#projection.progress()));
    this.#recentText ??= this.#tellRecent();
    if (this.#recentText !== '') response.write(this.#recentText);
    return true;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    for (const { response } of this.#readers) response.end();
  }

  #tellRecent(): string {
    const recent = new Set(this.#recent.flatMap((keys) => [...keys]));
    return recent.size === 0 ? '' : eventText('nodes', newsOf(this.#projection.nodesNow(), recent));
  }

  #note(rows: readonly ActivityRow[]): void {
    if (this.#readers.size > 0) this.#lines = [...this.#lines, ...rows].slice(-MOST_LINES);
  }

  #tell(): void {
    const changed = this.#projection.fleet.takeChanged();
    this.#recent = [...this.#recent, changed].slice(-TOLD_AGAIN);
    this.#recentText = null;
    for (const { response, isSignedIn } of this.#readers) if (!isSignedIn()) response.end();
    const lines = this.#lines;
    this.#lines = [];
    const isSimulated = this.#simulations.takeChanged();
    if (this.#readers.size === 0) return;
    this.#beats += 1;
    const texts = [
      ...(changed.size > 0 ? [eventText('nodes', newsOf(this.#projection.nodesNow(), changed))] : []),
      ...(lines.length > 0
        ? [
            eventText('activity', {
              activity: lines.map((row) => toldActivity(this.#projection.store.db, row)),
            }),
          ]
        : []),
      ...(isSimulated ? [eventText('simulations', this.#simulations.told())] : []),
      ...(this.#beats % BEAT_EVERY === 0 ? [eventText('progress', this.#projection.progress())] : []),
    ];
    if (texts.length > 0) this.#send(texts.join(''));
  }

  #send(text: string): void {
    for (const { response } of this.#readers)
      if (response.writableLength > MOST_WAITING_BYTES) response.destroy();
      else if (!response.writableEnded) response.write(text);
  }
}

const eventText = (event: string, data: unknown): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
