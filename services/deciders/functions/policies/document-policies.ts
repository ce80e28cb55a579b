import {
  objectionToDocument,
  type PolicyDocument,
  readPolicyDocument,
} from '../../../../packages/policy/policy-document.ts';
import { createPolicyKnowledge } from '../../../../packages/policy/policy-knowledge.ts';
import { createPolicyReading } from '../../../../packages/policy/policy-reading.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { KeyRing } from '../../../../packages/records/trust/key-ring.ts';
import { type Telling, type TrustChoice, trustOf } from '../../../../packages/records/trust/process-trust.ts';
import { SeenGenerations } from '../../../../packages/records/trust/seen-generations.ts';
import { VerifiedSignatures } from '../../../../packages/records/trust/signature.ts';
import { RequiredTrust, TRUST_OFF, type Trust } from '../../../../packages/records/trust/trust.ts';
import { timeText } from '../../../../packages/text/time-text.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import type { DocumentSource, Look } from './document-source.ts';
import type { FunctionPolicies } from './function-policies.ts';

export interface DocumentPoliciesSettings {
  readonly source: DocumentSource;
  /** Whose documents, policies and facts count. */
  readonly choice: TrustChoice;
  /** How old a document may become that somebody relies on. */
  readonly maxAgeMs: number;
  readonly telling: Telling;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
}

/** By both clocks of this machine. */
interface Moment {
  readonly epochMs: number;
  readonly steadyMs: number;
}

/** @limit Clock skew of the writer of a policy document. */
const MOST_AHEAD_MS = 600_000;
/** What is broken may be mended at any moment, and callers ask all the time. */
const AGAIN_AFTER_MS = 1_000;

/**
 * Policies and keys of a document. Each of its records is judged as if it came from the event log; in the place of that, which tells what
 * is newest, stands the signature of an operator over the whole and its time. What is older than what was read before does not come back.
 */
export class DocumentPolicies implements FunctionPolicies {
  readonly current: FunctionPolicies['current'];
  /** Whose messages count, by the keys of the document. */
  readonly trust: Trust;
  readonly #settings: DocumentPoliciesSettings;
  readonly #seen = new SeenGenerations();
  readonly #verified = new VerifiedSignatures();
  readonly #listeners: (() => void)[] = [];
  readonly #knowledge: ReturnType<typeof createPolicyKnowledge>;
  #ring: KeyRing | null = null;
  /** When what counts was written; `null` before anything counts. */
  #exportedAtMs: number | null = null;
  /** When it began to count. */
  #adopted: Moment | null = null;
  /** What is there cannot be read, so that nobody knows what it says. */
  #broken: string | null = 'the document of policies is not read yet';
  /** What is there does not count, and what counted before still does. */
  #notice: string | null = null;
  /** Nobody can tell what is there now. */
  #outOfReach: string | null = null;
  #looked: Moment | null = null;
  #looking: Promise<void> | null = null;

  constructor(settings: DocumentPoliciesSettings) {
    const { choice, telling } = settings;
    this.#settings = settings;
    this.#knowledge = createPolicyKnowledge({ logger: telling.logger, seen: this.#seen }, () => undefined);
    const current =
      <Kind extends SubjectKind>(kind: Kind) =>
      (): PolicySetOf<Kind> => {
        const problem = this.problem();
        if (problem !== null) throw new FleetGcError('POLICIES_UNREADABLE', problem);
        const set: PolicySetOf<Kind> = this.#knowledge.sets()[kind];
        return set;
      };
    this.current = { node: current('node'), cluster: current('cluster') };
    this.trust =
      choice.kind === 'off'
        ? TRUST_OFF
        : trustOf(
            choice,
            this.#required(() => this.ring()),
            telling,
          );
  }

  /** The keys that the roots vouch for, by the document. Throws `KEYS_UNREADABLE` before there is one. */
  ring(): KeyRing {
    if (this.#ring !== null) return this.#ring;
    throw new FleetGcError('KEYS_UNREADABLE', this.#broken ?? 'the document of policies is not read yet');
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  problem(): string | null {
    return this.#broken ?? this.#tooOld() ?? this.#knowledge.problem();
  }

  notice(): string | null {
    return this.#outOfReach ?? this.#notice ?? this.#knowledge.unreadable();
  }

  look(signal: AbortSignal): Promise<void> {
    const { source } = this.#settings;
    const everyMs = this.#broken === null ? source.everyMs : Math.min(source.everyMs, AGAIN_AFTER_MS);
    const isDue = this.#looked === null || this.#sinceMs(this.#looked) >= everyMs;
    if (!isDue && this.#looking === null) return Promise.resolve();
    this.#looking ??= this.#lookOnce(signal).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(signal: AbortSignal): Promise<void> {
    const { source, telling } = this.#settings;
    const look = await source.look(signal);
    this.#looked = this.#moment();
    const told = (): string | null => this.#broken ?? this.#outOfReach ?? this.#notice;
    const before = told();
    this.#take(look);
    const after = told();
    if (after !== null && after !== before) telling.logger.warn({ policies: source.name }, after);
  }

  #take(look: Look): void {
    const { name } = this.#settings.source;
    this.#outOfReach = null;
    switch (look.kind) {
      case 'unchanged':
        return;
      case 'unreachable':
        this.#outOfReach = `the document of policies at ${name} is out of reach: ${look.why}`;
        if (this.#exportedAtMs === null) this.#broken = this.#outOfReach;
        return;
      case 'missing':
        this.#broken = `the document of policies at ${name} cannot be read: ${look.why}`;
        // When it is there again, it is as good as new.
        this.#settings.source.forget();
        return;
      case 'bytes':
        this.#read(look.bytes);
    }
  }

  #read(bytes: Buffer): void {
    const { name } = this.#settings.source;
    const reading = readPolicyDocument(bytes);
    const why = reading.ok ? this.#adopt(reading.document) : reading.why;
    this.#broken = why === null ? null : `the document of policies at ${name} does not count: ${why}`;
  }

  /** Why it does not count, in a sentence. */
  #adopt(document: PolicyDocument): string | null {
    const { exportedAtMs } = document;
    const { nowMs, source, telling } = this.#settings;
    if (this.#exportedAtMs !== null && exportedAtMs < this.#exportedAtMs) {
      this.#notice = `the document of policies at ${source.name} is that of ${timeText(exportedAtMs)}, older than the one that counts; somebody put it back`;
      return null;
    }
    if (exportedAtMs > nowMs() + MOST_AHEAD_MS) {
      // A clock that is behind catches up, and then it counts as it is.
      source.forget();
      return `it was written at ${timeText(exportedAtMs)}, and by the clock of this machine that is not yet`;
    }
    const ring = this.#ringOf(document);
    const objection = this.#objectionToHead(document, ring) ?? this.#objectionToKeys(ring);
    if (objection !== null) {
      // So does one that is ahead, by which a key has expired.
      source.forget();
      return objection;
    }
    const before = this.#ring;
    this.#ring = ring;
    const policies = this.#policiesOf(document);
    if (policies === null) {
      this.#ring = before;
      return 'its records are not in their order';
    }
    this.#seen.saw('keys', ring?.said ?? new Map());
    this.#knowledge.begin();
    this.#knowledge.adopt(policies);
    this.#exportedAtMs = exportedAtMs;
    this.#adopted = this.#moment();
    this.#notice = null;
    telling.logger.info({ policies: source.name, exportedAtMs }, 'a document of policies was read');
    for (const listener of this.#listeners) listener();
    return null;
  }

  /** `null` where no keys count. */
  #ringOf({ keys }: PolicyDocument): KeyRing | null {
    const { choice } = this.#settings;
    if (choice.kind === 'off') return null;
    const ring = new KeyRing(choice.roots, this.#verified);
    for (const record of keys) ring.add(record);
    return ring;
  }

  #policiesOf({ policies }: PolicyDocument) {
    const reading = createPolicyReading(this.trust, this.#seen);
    return policies.every((record) => reading.add(record) === 'added') ? reading : null;
  }

  #objectionToHead(document: PolicyDocument, ring: KeyRing | null): string | null {
    const { choice, nowMs, telling } = this.#settings;
    const objection = ring && objectionToDocument(document, ring, nowMs());
    if (objection === null || choice.kind === 'required') return objection;
    telling.logger.warn(`the document of policies would not count if signatures were required: ${objection}`);
    return null;
  }

  /** What a root took back stays taken back, though a document says no more of it. */
  #objectionToKeys(ring: KeyRing | null): string | null {
    if (ring === null) return null;
    const lost = this.#seen.keys('keys').filter((name) => !ring.stillSays(name, this.#seen.of('keys', name)));
    return lost.length === 0 ? null : `it no longer says what an earlier one said of ${lost.length} keys`;
  }

  #tooOld(): string | null {
    const { maxAgeMs, source } = this.#settings;
    if (this.#exportedAtMs === null || this.#ageMs(this.#exportedAtMs) <= maxAgeMs) return null;
    return `the document of policies at ${source.name} is of ${timeText(this.#exportedAtMs)}, older than --policy-max-age allows: nobody knows what changed since. Export it again`;
  }

  /** A clock that somebody set back makes no document younger: it is as old as it has counted here. */
  #ageMs(exportedAtMs: number): number {
    const { epochMs, steadyMs } = this.#moment();
    return Math.max(epochMs - exportedAtMs, steadyMs - (this.#adopted?.steadyMs ?? steadyMs));
  }

  #moment(): Moment {
    return { epochMs: this.#settings.nowMs(), steadyMs: this.#settings.telling.sources.now() };
  }

  /** Whichever clock says more: one can be set back, the other stands still while a function is frozen between two calls. */
  #sinceMs({ epochMs, steadyMs }: Moment): number {
    const now = this.#moment();
    return Math.max(now.epochMs - epochMs, now.steadyMs - steadyMs);
  }

  #required(ring: () => KeyRing): RequiredTrust {
    const { nowMs } = this.#settings;
    return new RequiredTrust({ ring, problem: () => null, nowMs });
  }
}
