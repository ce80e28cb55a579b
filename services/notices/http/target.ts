import { isIP } from 'node:net';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { readTextFile } from '../../../packages/process/options/named-file.ts';
import { isRefusedAddress } from './addresses.ts';

/** Where messages of a receiver go. */
export interface Target {
  readonly url: URL;
  /** What logs and people are told of it: the path may be a secret. */
  readonly shown: string;
  /** Certificates in PEM; `null`: those of the system. */
  readonly ca: string | null;
}

interface WrittenTarget {
  readonly name: string;
  readonly url?: string | undefined;
  readonly urlFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Throws `CONFIG_INVALID`. */
export function readTarget({ name, url: written, urlFile, caFile }: WrittenTarget): Target {
  const text = written ?? readSecretFile(name, 'urlFile', urlFile ?? '').trim();
  const url = URL.parse(text);
  const why = url === null ? 'is no address such as https://hooks.example/fleetgc' : objectionTo(url);
  const setting = written === undefined ? 'the address in its urlFile' : 'its url';
  if (url === null || why !== null) throw unusable(name, `${setting} ${why}`);
  const ca = caFile === undefined ? null : readSecretFile(name, 'caFile', caFile);
  if (ca !== null && url.protocol !== 'https:') throw unusable(name, 'caFile has no effect without https');
  return { url, shown: url.host, ca };
}

function objectionTo(url: URL): string | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username !== '' || url.password !== '')
    return 'must have no user and no password; a secret belongs into a file';
  if (url.hash !== '') return 'must have no part behind #';
  const host = hostOf(url);
  return isIP(host) !== 0 && isRefusedAddress(host)
    ? 'is link-local or tells the credentials of machines, and notices never go there'
    : null;
}

/** Without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

export function readSecretFile(name: string, setting: string, path: string): string {
  const file = readTextFile(path);
  if (!file.ok) throw unusable(name, `${setting} ${path} cannot be read: ${file.reason}`);
  return file.text;
}

export const unusable = (name: string, why: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `receiver ${name}: ${why}`);
