import { createHash, timingSafeEqual } from 'node:crypto';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { DashboardRole } from '../../../schemas/reports/dashboard.ts';

/** Somebody who may look. */
export interface Person {
  readonly name: string;
  readonly role: DashboardRole;
}

/** Somebody who has a token; of that only its hash is kept. */
export interface TokenHolder extends Person {
  readonly tokenSha256: Buffer;
}

/** Shorter ones can be guessed. */
const LEAST_TOKEN_LENGTH = 32;
const MOST_TOKEN_LENGTH = 512;
const LINE = /^(?<role>\S+)\s+(?<name>[A-Za-z0-9][A-Za-z0-9._@-]{0,63})\s+(?<token>[\x21-\x7e]+)$/;

/** Reads the file of tokens: `ROLE NAME TOKEN` on each line; `#` begins a comment. Throws `CONFIG_INVALID`. */
export function readTokens(path: string, text: string): readonly TokenHolder[] {
  const holders = text.split('\n').flatMap((line, index) => {
    const written = line.trim();
    return written === '' || written.startsWith('#') ? [] : [holderOf(written, `${path}:${index + 1}`)];
  });
  const names = holders.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(path, `${twice} has two tokens; each name may stand there once`);
  if (holders.length === 0) throw invalid(path, 'it has no token; a line is ROLE NAME TOKEN');
  return holders;
}

function holderOf(line: string, place: string): TokenHolder {
  const { role, name, token } = LINE.exec(line)?.groups ?? {};
  if (role === undefined || name === undefined || token === undefined)
    throw invalid(place, 'a line is ROLE NAME TOKEN, separated by spaces');
  const known = DashboardRole.safeParse(role);
  if (!known.success) throw invalid(place, 'the role is viewer or operator');
  if (token.length < LEAST_TOKEN_LENGTH || token.length > MOST_TOKEN_LENGTH)
    throw invalid(place, `a token has ${LEAST_TOKEN_LENGTH} to ${MOST_TOKEN_LENGTH} characters`);
  return { name, role: known.data, tokenSha256: sha256(token) };
}

const invalid = (place: string, what: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `--token-file ${place}: ${what}`);

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Who has this token. How long it takes tells nothing of the token. */
export function holderOfToken(holders: readonly TokenHolder[], token: string): TokenHolder | null {
  if (token.length > MOST_TOKEN_LENGTH) return null;
  const hash = sha256(token);
  return holders.filter(({ tokenSha256 }) => timingSafeEqual(tokenSha256, hash))[0] ?? null;
}
