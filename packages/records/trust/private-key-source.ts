import { type Command, commandOutput } from '../../process/command-output.ts';
import { FleetGcError } from '../../process/errors.ts';
import { readKeyFile } from './key-file.ts';
import { readSigningKey, type SigningKey } from './key-pair.ts';

/** Where a private key is from. */
export type PrivateKeySource =
  | { readonly kind: 'file'; readonly path: string }
  /** Which writes it to stdout. */
  | { readonly kind: 'command'; readonly command: Command };

/** One that asks a service elsewhere may have to log in first. */
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
