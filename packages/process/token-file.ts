import { createHash, timingSafeEqual } from 'node:crypto';
import { FleetGcError } from './errors.ts';
import { MAX_TEXT_BYTES, readPrivateFile } from './options/named-file.ts';

/** Somebody who has a token; of that only its hash is kept. */
export interface TokenHolder<Role extends string> {
  readonly name: string;
  readonly role: Role;
  readonly tokenSha256: Buffer;
}

/** Shorter ones can be guessed. */
const LEAST_TOKEN_LENGTH = 32;
const MOST_TOKEN_LENGTH = 512;
const LINE = /^(?<role>\S+)\s+(?<name>[A-Za-z0-9][A-Za-z0-9._@-]{0,63})\s+(?<token>[\x21-\x7e]+)$/;

/** Who has which token, by a file that none but its user and group can open, as it is with a private key. Throws `CONFIG_INVALID`. */
export function readTokenFile<Role extends string>(
  path: string,
  roles: readonly Role[],
): readonly TokenHolder<Role>[] {
  const file = readPrivateFile(path, MAX_TEXT_BYTES);
  if (!file.ok) throw invalid(path, file.reason);
  return readTokenLines(path, file.text, roles);
}

/** `ROLE NAME TOKEN` on each line; `#` begins a comment. Throws `CONFIG_INVALID`. */
export function readTokenLines<Role extends string>(
  path: string,
  text: string,
  roles: readonly Role[],
): readonly TokenHolder<Role>[] {
  const holders = text.split('\n').flatMap((line, index) => {
    const written = line.trim();
    return written === '' || written.startsWith('#')
      ? []
      : [holderOf(written, `${path}:${index + 1}`, roles)];
  });
  const names = holders.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(path, `${twice} has two tokens; each name may stand there once`);
  if (holders.length === 0) throw invalid(path, 'it has no token; a line is ROLE NAME TOKEN');
  return holders;
}

function holderOf<Role extends string>(
  line: string,
  place: string,
  roles: readonly Role[],
): TokenHolder<Role> {
  const { role, name, token } = LINE.exec(line)?.groups ?? {};
  if (role === undefined || name === undefined || token === undefined)
    throw invalid(place, 'a line is ROLE NAME TOKEN, separated by spaces');
  const known = roles.find((each) => each === role);
  if (known === undefined) throw invalid(place, `the role is ${roles.join(' or ')}`);
  if (token.length < LEAST_TOKEN_LENGTH || token.length > MOST_TOKEN_LENGTH)
    throw invalid(place, `a token has ${LEAST_TOKEN_LENGTH} to ${MOST_TOKEN_LENGTH} characters`);
  return { name, role: known, tokenSha256: sha256(token) };
}

const invalid = (place: string, what: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `--token-file ${place}: ${what}`);

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Who has this token. How long it takes tells nothing of the token. */
export function holderOfToken<Role extends string>(
  holders: readonly TokenHolder<Role>[],
  token: string,
): TokenHolder<Role> | null {
  if (token.length > MOST_TOKEN_LENGTH) return null;
  const hash = sha256(token);
  return holders.filter(({ tokenSha256 }) => timingSafeEqual(tokenSha256, hash))[0] ?? null;
}
