import type { CommandFailure } from '../process/command-output.ts';
import { jsonOf } from './status.ts';

/** What a plugin is told. */
interface Told {
  readonly args?: readonly string[] | null | undefined;
  readonly env?: readonly { readonly value: string }[] | null | undefined;
}

const MOST_SAID = 500;
/** What is shorter guards nothing. */
const LEAST_SECRET_LENGTH = 4;
const HIDDEN = '…';

/**
 * What a plugin says on stderr is for people. Without what it was told and what it wrote to stdout: a password may be among the one,
 * and a token in the other.
 */
export function saidOnStderr(plugin: Told, output: CommandFailure): string {
  const { stdout, stderr } = output;
  if (stderr.includes('PRIVATE KEY'))
    return '. What it wrote to stderr may hold a key, and is not shown: run it yourself';
  const secrets = [...toldTo(plugin), ...piecesOf(stdout)]
    .filter((text) => text.length >= LEAST_SECRET_LENGTH)
    .toSorted((one, other) => other.length - one.length);
  const shown = secrets
    .reduce((text, secret) => text.replaceAll(secret, HIDDEN), stderr)
    .replaceAll(TOKEN_LIKE, HIDDEN)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return shown === '' ? '' : `. It wrote to stderr: ${shown.slice(0, MOST_SAID).toWellFormed()}`;
}

/** So long a run of such signs is no word. */
const TOKEN_LIKE = /[\w.~+/=%-]{64,}/g;

/** Options are said to everybody; what they are set to is not. */
const toldTo = ({ args, env }: Told): readonly string[] => [
  ...(args ?? []).flatMap((arg) => (arg.startsWith('-') ? arg.split('=').slice(1) : [arg])),
  ...(env ?? []).map(({ value }) => value),
];

const piecesOf = (stdout: string): readonly string[] => [
  ...stdout.split(/["\s]+/),
  ...textsIn(jsonOf(stdout)),
];

/** An ExecCredential has its texts three levels deep; `piecesOf` has found what stands deeper as it was written. */
const MAX_DEPTH = 10;

const textsIn = (value: unknown, depth = 0): readonly string[] => {
  if (typeof value === 'string') return value.split('\n');
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return [];
  return Object.values(value).flatMap((part) => textsIn(part, depth + 1));
};
