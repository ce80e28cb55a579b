import { createHmac, timingSafeEqual } from 'node:crypto';
import { HOUR_MS } from '../../../packages/process/durations.ts';
import type { TokenHolder } from './people.ts';

const COOKIE = 'fleetgc_session';
/** A working day. */
const LIFETIME_MS = 12 * HOUR_MS;
const MOST_COOKIE_LENGTH = 4096;

/**
 * A browser that showed a token is known by this cookie. It is signed with the hash of the token: every replica can check it, and it ends
 * when the token is taken out of the file.
 */
export function sessionCookie(holder: TokenHolder, nowMs: number, isSecure: boolean): string {
  const untilMs = nowMs + LIFETIME_MS;
  const value = `${holder.name}~${untilMs}~${signatureOf(holder, untilMs).toString('base64url')}`;
  return `${COOKIE}=${value}; Path=/; Max-Age=${LIFETIME_MS / 1000}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

export const ENDED_SESSION = `${COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`;

/** Whose session a header of cookies tells of. */
export function holderOfCookie(
  holders: readonly TokenHolder[],
  header: string | undefined,
  nowMs: number,
): TokenHolder | null {
  if (header === undefined || header.length > MOST_COOKIE_LENGTH) return null;
  const value = header
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
  const [name, until, signature, ...more] = value?.split('~') ?? [];
  if (name === undefined || until === undefined || signature === undefined || more.length > 0) return null;
  const holder = holders.find((each) => each.name === name);
  const untilMs = Number(until);
  if (holder === undefined || !Number.isSafeInteger(untilMs) || untilMs <= nowMs) return null;
  const expected = signatureOf(holder, untilMs);
  const given = Buffer.from(signature, 'base64url');
  return given.length === expected.length && timingSafeEqual(given, expected) ? holder : null;
}

const signatureOf = ({ name, tokenSha256 }: TokenHolder, untilMs: number): Buffer =>
  createHmac('sha256', tokenSha256).update(`fleetgc dashboard session ${name} ${untilMs}`).digest();
