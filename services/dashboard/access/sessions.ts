import { createHmac, timingSafeEqual } from 'node:crypto';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import {
  type TokenHolder as HolderOf,
  readTokenFile,
  readTokenLines,
} from '../../../packages/process/token-file.ts';
import { DashboardRole } from '../../../schemas/reports/dashboard.ts';

/** Somebody who may look. */
export interface Person {
  readonly name: string;
  readonly role: DashboardRole;
}

export type TokenHolder = HolderOf<DashboardRole>;

/** `ROLE NAME TOKEN` on each line; `#` begins a comment. Throws `CONFIG_INVALID`. */
export const readTokens = (path: string, text: string): readonly TokenHolder[] =>
  readTokenLines(path, text, DashboardRole.options);

/** The same of a file that none but its user and group can open. Throws `CONFIG_INVALID`. */
export const readPeople = (path: string): readonly TokenHolder[] =>
  readTokenFile(path, DashboardRole.options);

const COOKIE = 'fleetgc_session';
/** A browser takes a cookie of such a name by TLS alone, and gives it to no other name or path of the host. */
const SECURE_COOKIE = `__Host-${COOKIE}`;
/**
 * A working day.
 * @limit Lifetime of a session of the dashboard.
 */
const LIFETIME_MS = 12 * HOUR_MS;
const MOST_COOKIE_LENGTH = 4096;

interface Session {
  readonly holder: TokenHolder;
  /** Epoch milliseconds. */
  readonly beganMs: number;
}

/**
 * A browser that showed a token is known by a cookie. It is signed with the hash of the token: every replica can check it, and it ends
 * when the token is taken out of the file. What has ended is remembered by this process alone, so that what began before it does not
 * count either.
 */
export class Sessions {
  readonly #isSecure: boolean;
  readonly #startedMs: number;
  /** By name, up to when the sessions of somebody that began have ended. */
  readonly #endedMs = new Map<string, number>();

  constructor({ isSecure, startedMs }: { readonly isSecure: boolean; readonly startedMs: number }) {
    this.#isSecure = isSecure;
    this.#startedMs = startedMs;
  }

  /** The cookie of a new session. */
  begin(holder: TokenHolder, nowMs: number): string {
    const beganMs = Math.max(nowMs, this.#firstMs(holder));
    const value = `${holder.name}~${beganMs}~${signatureOf(holder, beganMs).toString('base64url')}`;
    return this.#cookie(value, LIFETIME_MS / 1_000);
  }

  /** Whose session a header of cookies tells of. */
  holderOf(holders: readonly TokenHolder[], header: string | undefined, nowMs: number): TokenHolder | null {
    return this.#sessionOf(holders, header, nowMs)?.holder ?? null;
  }

  /** Ends every session of whoever has this one, also in other browsers. The cookie that takes the place of theirs. */
  end(holders: readonly TokenHolder[], header: string | undefined, nowMs: number): string {
    const session = this.#sessionOf(holders, header, nowMs);
    if (session !== null) this.#endedMs.set(session.holder.name, Math.max(nowMs, session.beganMs));
    return this.#cookie('', 0);
  }

  #sessionOf(holders: readonly TokenHolder[], header: string | undefined, nowMs: number): Session | null {
    const [name, began, signature, ...more] = this.#valueIn(header)?.split('~') ?? [];
    if (name === undefined || began === undefined || signature === undefined || more.length > 0) return null;
    const holder = holders.find((each) => each.name === name);
    const beganMs = Number(began);
    if (holder === undefined || !Number.isSafeInteger(beganMs)) return null;
    if (beganMs < this.#firstMs(holder) || beganMs + LIFETIME_MS <= nowMs) return null;
    const expected = signatureOf(holder, beganMs);
    const given = Buffer.from(signature, 'base64url');
    return given.length === expected.length && timingSafeEqual(given, expected) ? { holder, beganMs } : null;
  }

  /** What began before has ended. */
  #firstMs({ name }: TokenHolder): number {
    return Math.max(this.#startedMs, (this.#endedMs.get(name) ?? Number.NEGATIVE_INFINITY) + 1);
  }

  #valueIn(header: string | undefined): string | undefined {
    if (header === undefined || header.length > MOST_COOKIE_LENGTH) return undefined;
    return header
      .split(';')
      .map((part) => part.trim())
      .find((part) => part.startsWith(`${this.#name}=`))
      ?.slice(this.#name.length + 1);
  }

  #cookie(value: string, seconds: number): string {
    const secure = this.#isSecure ? '; Secure' : '';
    return `${this.#name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  get #name(): string {
    return this.#isSecure ? SECURE_COOKIE : COOKIE;
  }
}

const signatureOf = ({ name, tokenSha256 }: TokenHolder, beganMs: number): Buffer =>
  createHmac('sha256', tokenSha256).update(`fleetgc dashboard session of ${name} since ${beganMs}`).digest();
