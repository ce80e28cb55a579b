import type { Logger } from 'pino';
import type { TopicId } from '../../../schemas/events/topics.ts';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import { toFleetGcError } from '../../process/errors.ts';
import type { Metrics } from '../../process/metrics.ts';
import type { SigningKey } from './key-pair.ts';
import type { KeySource } from './key-source.ts';
import { ownKeyProblems } from './private-key.ts';
import { objectionToSubject } from './trust.ts';

/** What a process signs with, and how it comes by the next key. */
export interface Signing {
  /** As it was read when the process began. */
  readonly key: SigningKey;
  readonly role: KeyRole;
  /** For whom alone it signs, by record key on this topic; `null`: for whoever it has to. */
  readonly subject: { readonly topic: TopicId; readonly recordKey: string } | null;
  /** Reads the key that lies there now. Throws `KEY_UNUSABLE`. */
  readonly read: (signal: AbortSignal) => Promise<SigningKey>;
  readonly everyMs: number;
  /** Calls the listener when somebody asks for it to be read at once, until the returned function is called. */
  readonly onReload: (listener: () => void) => () => void;
}

/**
 * Nodes and services read who vouches for a key at their own pace. Whoever has not read for so long holds anyway, so that
 * nobody meets a key that it does not know yet.
 * @limit Wait before a renewed key signs, until all processes know its certificate.
 */
const KNOWN_BY_ALL_MS = 30_000;

interface RenewedKeySettings {
  readonly signing: Signing;
  readonly keys: Pick<KeySource, 'ring' | 'problem' | 'onChange'>;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  /** Resolves after `ms`, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
}

/**
 * The key that a process signs with. Another one takes its place as soon as it can be read and a root vouches for it in the
 * role that is needed: at no moment something is signed by a key that nobody believes, where there is one that is believed.
 */
export class RenewedKey implements AsyncDisposable {
  readonly #settings: RenewedKeySettings;
  readonly #closing = new AbortController();
  readonly #finished: Promise<void>;
  readonly #forgetReload: () => void;
  #key: SigningKey;
  /** Read, and not believed yet. */
  #next: SigningKey | null = null;
  /** Believed by now, and to sign when all know it. */
  #coming: SigningKey | null = null;
  #unreadable: string | null = null;
  #told: string | null = null;
  #reading: Promise<void> | null = null;

  constructor(settings: RenewedKeySettings) {
    const { signing, keys } = settings;
    this.#settings = settings;
    this.#key = signing.key;
    keys.onChange(() => this.#settle());
    this.#forgetReload = signing.onReload(() => void this.readAgain());
    this.#finished = this.#readEvery(signing.everyMs);
  }

  /** The one of this moment. */
  key(): SigningKey {
    return this.#key;
  }

  /** Why nobody believes what is signed here, in a sentence; `null` when it is believed. */
  problem(): string | null {
    return this.#objectionTo(this.#key);
  }

  /** Why another key is not used though it should be, in a sentence; `null` where there is none. */
  pending(): string | null {
    if (this.#unreadable !== null)
      return `${this.#unreadable}. ${this.#key.keyId}, which was read before, goes on signing`;
    if (this.#next === null) return null;
    const objection = this.#objectionToNext(this.#next);
    return objection === null
      ? null
      : `${this.#next.keyId} is to sign from now on, and cannot: ${objection}. ${this.#key.keyId} goes on signing`;
  }

  /** Reads it now; resolves when it was read. */
  readAgain(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forgetReload();
    this.#closing.abort();
    await this.#finished;
    await this.#reading;
  }

  async #readEvery(ms: number): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#settings.wait(ms, signal);
      if (!signal.aborted) await this.readAgain();
    }
  }

  async #read(): Promise<void> {
    const { signal } = this.#closing;
    try {
      const key = await this.#settings.signing.read(signal);
      this.#unreadable = null;
      this.#next = key.keyId === this.#key.keyId ? null : key;
      if (this.#coming?.keyId !== this.#next?.keyId) this.#coming = null;
    } catch (error) {
      if (signal.aborted) return;
      this.#unreadable = toFleetGcError(error).message;
    }
    this.#settle();
  }

  #settle(): void {
    const next = this.#next;
    if (next === null || this.#objectionToNext(next) !== null) this.#coming = null;
    else if (this.problem() !== null) this.#take(next);
    else if (this.#coming === null) {
      this.#coming = next;
      void this.#takeLater(next);
    }
    this.#tell(this.pending());
  }

  async #takeLater(next: SigningKey): Promise<void> {
    const { signal } = this.#closing;
    await this.#settings.wait(KNOWN_BY_ALL_MS, signal);
    if (!signal.aborted && this.#coming === next && this.#objectionToNext(next) === null) this.#take(next);
  }

  #take(next: SigningKey): void {
    const { keyId } = next;
    this.#settings.logger.info({ keyId, before: this.#key.keyId }, 'another key signs from now on');
    this.#key = next;
    this.#next = null;
    this.#coming = null;
  }

  #tell(pending: string | null): void {
    if (pending !== null && pending !== this.#told) this.#settings.logger.warn(pending);
    this.#told = pending;
  }

  /** Where what we sign is believed now, it is to be believed everywhere afterwards too. */
  #objectionToNext(next: SigningKey): string | null {
    return this.#objectionTo(next) ?? (this.problem() === null ? this.#lossBy(next) : null);
  }

  /** For which names no process would trust this key, although it trusts the present one, in a sentence. */
  #lossBy(next: SigningKey): string | null {
    if (this.#settings.signing.subject !== null) return null;
    const ring = this.#settings.keys.ring();
    const [of, before] = [ring.find(next.keyId)?.clusters ?? [], ring.find(this.#key.keyId)?.clusters ?? []];
    if (of.length === 0) return null;
    if (before.length === 0) return `it is for the clusters ${of.join(', ')} alone`;
    const lost = before.filter((cluster) => !of.includes(cluster));
    return lost.length === 0 ? null : `it is not for ${lost.join(', ')}`;
  }

  #objectionTo(key: SigningKey): string | null {
    const { keys, signing, nowMs } = this.#settings;
    const unknown = keys.problem();
    if (unknown !== null) return unknown;
    const ring = keys.ring();
    const { role, subject } = signing;
    const [problem] = ownKeyProblems(ring, { key, role }, nowMs());
    if (problem !== undefined) return problem;
    const certified = ring.find(key.keyId);
    if (certified === undefined || subject === null) return null;
    const objection = objectionToSubject(subject.topic, certified, subject.recordKey);
    return objection && `${key.keyId} ${objection}, not for ${subject.recordKey}`;
  }
}

/** Names of keys are no secrets, and a process signs with few of them. */
export function watchRenewedKey(metrics: Metrics, renewed: RenewedKey, keys: Pick<KeySource, 'ring'>): void {
  metrics.gauge('signing_key_info', 'Always 1; says which key signs.', ['key_id'], () => [
    [{ key_id: renewed.key().keyId }, 1],
  ]);
  metrics.gauge('signing_key_believed', 'Whether what this process signs is believed.', [], () => [
    [{}, Number(renewed.problem() === null)],
  ]);
  metrics.gauge(
    'signing_key_pending',
    'Whether another key should sign and cannot, because it is not certified or cannot be read.',
    [],
    () => [[{}, Number(renewed.pending() !== null)]],
  );
  metrics.gauge('signing_key_end_timestamp_seconds', 'When the key that signs ends, Unix time.', [], () => {
    const certified = keys.ring().find(renewed.key().keyId);
    return certified === undefined ? [] : [[{}, certified.notAfterMs / 1000]];
  });
}
