import { readFileSync, statSync } from 'node:fs';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { unreadableReason } from '../../process/options/named-file.ts';
import { exceededYamlBound } from '../../process/options/yaml.ts';
import { printableJson } from '../../text/printable.ts';
import { keyIdOf } from './key-pair.ts';

/** Sixteen roots take 3 KiB. */
const MAX_BYTES = 65_536;
const WRITTEN_BY_OTHERS = 0o002;

/** Whom a process believes. Throws `CONFIG_INVALID`, with what to do. */
export function readTrustRoots(path: string): TrustRoots {
  const value = valueIn(path);
  if (value === null) throw unusable(path, 'it names no root: there is nothing in it, or only comments');
  const parsed = TrustRoots.safeParse(value);
  if (!parsed.success) throw unusable(path, z.prettifyError(parsed.error).replaceAll('\n', ' '));
  const ids = parsed.data.roots.map(({ publicKey }) => keyIdOf(publicKey));
  if (new Set(ids).size < ids.length) throw unusable(path, 'the same root stands there twice');
  return parsed.data;
}

function valueIn(path: string): unknown {
  try {
    const stat = statSync(path);
    if (!stat.isFile()) throw new TypeError('it is no file');
    if (stat.size > MAX_BYTES) throw new TypeError(`it has more than ${MAX_BYTES} bytes`);
    if ((stat.mode & WRITTEN_BY_OTHERS) !== 0)
      throw new TypeError(
        `every user of this machine may change it, and with it whom this process believes; "chmod o-w ${path}" mends that`,
      );
    const text = readFileSync(path, 'utf8');
    const exceeded = exceededYamlBound(text);
    if (exceeded !== null) throw new TypeError(exceeded);
    return parse(text, { maxAliasCount: 0, stringKeys: true, prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    // The parser's own message quotes what it read, which may be a key that somebody put in the wrong place.
    throw unusable(path, error instanceof YAMLParseError ? 'it is no valid YAML' : whyUnread(error));
  }
}

/** What the system says of a file, in words. */
const whyUnread = (error: unknown): string =>
  error instanceof Error && 'syscall' in error ? unreadableReason(error) : toFleetGcError(error).message;

const unusable = (path: string, why: string): FleetGcError =>
  new FleetGcError(
    'CONFIG_INVALID',
    `the file of roots ${path} cannot be used: ${why}. "fleetgc keys roots" writes such a file`,
  );

/** The text of such a file. */
export const trustRootsText = ({ fleet, roots }: TrustRoots): string =>
  [
    '# Whom FleetGC believes: these keys say which other keys may sign what.',
    `fleet: ${fleet}`,
    'roots:',
    ...roots.flatMap(({ name, publicKey }) => [
      `  - name: ${printableJson(JSON.stringify(name))}`,
      `    publicKey: ${JSON.stringify(publicKey)}`,
    ]),
    '',
  ].join('\n');
