import { dirname } from 'node:path';
import type { KeyRole } from '../../../schemas/keys/key-statement.ts';
import { writeNewFile } from '../../files/open-file.ts';
import { type Command, commandOutput } from '../../process/command-output.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { readPrivateFile } from '../../process/options/named-file.ts';
import { systemProblem } from '../../process/system-problem.ts';
import { timeText } from '../../text/time-text.ts';
import { readSigningKey, type SigningKey } from './key-pair.ts';
import { type CertifiedKey, type KeyRing, keyText } from './key-ring.ts';
import type { StoredKeys } from './key-source.ts';

/** Where a private key is from. */
export type PrivateKeySource =
  | { readonly kind: 'file'; readonly path: string }
  /** Which writes it to stdout. */
  | { readonly kind: 'command'; readonly command: Command };

/**
 * One that asks a service elsewhere may have to log in first.
 * @limit Timeout of a key command.
 */
const COMMAND_TIMEOUT_MS = 30_000;
/** As much as a file may have. */
const MAX_OUTPUT_BYTES = 16_384;

/** Throws `KEY_UNUSABLE`, with nothing of the key in it. */
export const readPrivateKey = async (source: PrivateKeySource, signal: AbortSignal): Promise<SigningKey> =>
  source.kind === 'file' ? readKeyFile(source.path) : await keyOfCommand(source.command, signal);

async function keyOfCommand(command: Command, signal: AbortSignal): Promise<SigningKey> {
  // What it is told may be a password.
  const [program] = command;
  const limits = { timeoutMs: COMMAND_TIMEOUT_MS, maxBytes: MAX_OUTPUT_BYTES, signal };
  const output = await commandOutput(command, limits);
  if (output.ok) return readSigningKey(output.stdout, `what the command ${program} writes to stdout`);
  throw new FleetGcError(
    'KEY_UNUSABLE',
    `the command ${program} gives no key: ${output.why}${saidBy(output)}`,
  );
}

const MOST_SAID = 500;
/** A shorter line may be on both by chance, such as "ok". */
const TELLING_LINE_LENGTH = 16;

interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** What it says on stderr is for people, unless the key is in it. */
function saidBy({ stdout, stderr }: Said): string {
  const said = [...stderr.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()].slice(0, MOST_SAID).join('');
  if (said === '') return '';
  if (holdsKey({ stdout, stderr })) return '. What it wrote to stderr may hold the key, and is not shown';
  return `. It wrote to stderr: ${said.toWellFormed()}`;
}

/** How the one line of an Ed25519 key in PKCS #8 begins: what is before the key itself is always the same. */
const BEGINNING_OF_KEY = 'MC4CAQAwBQYDK2Vw';

const holdsKey = ({ stdout, stderr }: Said): boolean =>
  stderr.includes('PRIVATE KEY') ||
  stderr.includes(BEGINNING_OF_KEY) ||
  stdout
    .split('\n')
    .map((line) => line.trim())
    .some((line) => line.length >= TELLING_LINE_LENGTH && stderr.includes(line));

/** A PKCS #8 text of an Ed25519 key has 119 bytes; what is before and behind it may be a comment. */
const MAX_BYTES = 16_384;

/** The private key in a file that none but its user and group can open. Throws `KEY_UNUSABLE`. */
export function readKeyFile(path: string): SigningKey {
  const file = readPrivateFile(path, MAX_BYTES);
  if (!file.ok) throw unusable(path, file.reason, file.cause);
  return readSigningKey(file.text, path);
}

/** Writes a new private key for its user alone, and never over another one. Throws `KEY_UNUSABLE`. */
export function writeKeyFile(path: string, privateKeyPem: string): void {
  try {
    writeNewFile(path, privateKeyPem);
  } catch (error) {
    throw unusable(path, unwritableReason(path, error), error);
  }
}

function unwritableReason(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const folder = dirname(path);
  if (code === 'EEXIST') return 'it is there already, and no key is overwritten';
  if (code === 'ENOENT') return `there is no folder ${folder}; "mkdir -m 700 -p ${folder}" makes it`;
  return systemProblem(error, path) ?? toFleetGcError(error).message;
}

const unusable = (path: string, why: string, cause?: unknown): FleetGcError =>
  new FleetGcError('KEY_UNUSABLE', `the key file ${path} cannot be used: ${why}`, { cause });

interface Checking {
  /** A private key that is at hand, and what it is to sign; `null`: whatever its certificate says. */
  readonly own: { readonly key: SigningKey; readonly role: KeyRole | null } | null;
  readonly nowMs: number;
  /** What ends within this time is a problem. */
  readonly soonMs: number;
}

/** Without such a key a fleet that requires signatures does nothing, or nobody can change what it does. */
const NEEDED = ['operator', 'decider'] as const satisfies readonly KeyRole[];

/** What somebody should do something about, a sentence each. */
export function keyProblems({ ring, unreadable }: StoredKeys, checking: Checking): readonly string[] {
  return [
    ...(checking.own === null ? [] : ownKeyProblems(ring, checking.own, checking.nowMs)),
    ...NEEDED.filter(
      (role) => !ring.keys().some((key) => key.role === role && isGood(key, checking.nowMs)),
    ).map((role) => `no key of role ${role} is valid now`),
    ...ring.keys().flatMap((key) => endProblem(ring, key, checking) ?? []),
    ...unreadable.map(
      ({ offset, key, why }) =>
        `gc.keys, offset ${offset} (key ${JSON.stringify(key)}) is no statement of a root of this fleet: ${why}`,
    ),
  ];
}

const isGood = ({ revocation, notAfterMs }: CertifiedKey, nowMs: number): boolean =>
  revocation === null && nowMs < notAfterMs;

/** A key that has ended is no problem once another of its role, for the same clusters and nodes, is valid. */
function endProblem(ring: KeyRing, key: CertifiedKey, { nowMs, soonMs }: Checking): string | null {
  if (key.revocation !== null || key.notAfterMs - nowMs > soonMs) return null;
  const named = `${keyText(key)}, role ${key.role},`;
  if (nowMs < key.notAfterMs)
    return `${named} expires at ${timeText(key.notAfterMs)}; certify it again before then`;
  if (ring.keys().some((other) => isGood(other, nowMs) && reachOf(other) === reachOf(key))) return null;
  return `${named} expired at ${timeText(key.notAfterMs)}: its signatures no longer count. Certify it again, or revoke it if it is not in use`;
}

/** What a key is for: its role, and where it counts. */
const reachOf = ({ role, clusters, nodes }: CertifiedKey): string =>
  JSON.stringify([role, [...clusters].toSorted(), [...nodes].toSorted()]);

/** Why nobody would believe what this key signs. */
export function ownKeyProblems(
  ring: KeyRing,
  { key, role }: NonNullable<Checking['own']>,
  nowMs: number,
): readonly string[] {
  if (ring.isRevoked(key.keyId)) return [`${key.keyId} was revoked: nobody believes what it signs`];
  const certified = ring.find(key.keyId);
  if (certified === undefined)
    return ring.isRoot(key.keyId) && (role === null || role === 'root')
      ? []
      : [`no root vouches for ${key.keyId}: nobody believes what it signs`];
  if (nowMs >= certified.notAfterMs)
    return [`${keyText(certified)} expired at ${timeText(certified.notAfterMs)}`];
  return role === null || role === certified.role
    ? []
    : [`${keyText(certified)} may sign as ${certified.role}, not as ${role}`];
}
