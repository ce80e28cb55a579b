import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import * as https from 'node:https';
import { type BlockList, isIP, BlockList as List, type LookupFunction } from 'node:net';
import { FleetGcError } from '../../packages/process/errors.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import { http } from '../../packages/process/node-http.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import type { Sent } from './message.ts';

/** What a receiver said; `null` fields where there was no answer. */
type Answer =
  | { readonly kind: 'answer'; readonly status: number; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'none'; readonly why: string }
  /** The name leads where no notice may go. */
  | { readonly kind: 'refused-address'; readonly why: string };

interface Posting {
  readonly target: Target;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** From the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Addresses of a name; as the system resolves them when not given. */
  readonly resolve?: Resolve;
}

type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const bySystem: Resolve = (host) => lookup(host, { all: true });

/** Of what a receiver answers nothing but the status counts; so much of it is read. */
const MOST_ANSWER_BYTES = 65_536;

class RefusedAddress extends Error {}

/** A connection of its own for each message: whoever hangs holds nothing but it. Redirects are answers as others. Never rejects. */
export async function post(posting: Posting, signal: AbortSignal): Promise<Answer> {
  const { timeoutMs, target } = posting;
  using within = new LinkedController(signal);
  const deadline = setTimeout(
    () => within.abort(new Error(`no answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  try {
    const response = await answered(posting, within.signal);
    const { statusCode = 0, headers } = response;
    await readAway(response);
    return { kind: 'answer', status: statusCode, headers };
  } catch (error) {
    if (error instanceof RefusedAddress) return { kind: 'refused-address', why: error.message };
    const { reason } = within.signal;
    const why = within.signal.aborted && reason instanceof Error ? reason.message : textOf(error);
    return { kind: 'none', why: `${target.shown}: ${why}` };
  } finally {
    clearTimeout(deadline);
  }
}

const textOf = (error: unknown): string =>
  error instanceof Error ? ('code' in error ? String(error.code) : error.message) : String(error);

function answered(
  { target, body, headers, resolve: resolveName = bySystem }: Posting,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { url, ca } = target;
  const host = hostOf(url);
  // Of an address there is nothing to look up, so nobody would ask.
  if (isIP(host) !== 0 && isRefusedAddress(host)) return Promise.reject(refusal(host, host));
  const options: RequestOptions & https.RequestOptions = {
    method: 'POST',
    agent: false,
    signal,
    lookup: checkedLookup(resolveName),
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    ...(ca !== null && { ca }),
  };
  const { request: begin } = url.protocol === 'https:' ? https : http;
  const sent: ClientRequest = begin(url, options, resolve);
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

const refusal = (host: string, address: string): RefusedAddress =>
  new RefusedAddress(
    `${host} leads to ${address}, which is link-local or tells the credentials of machines; notices never go there`,
  );

/**
 * A name is resolved once for each connection, and the connection is made to what was checked: between a check and a second look at a
 * name somebody could change it. One address that is refused refuses all, since nobody of good will has both.
 */
const checkedLookup =
  (resolve: Resolve): LookupFunction =>
  (hostname, { all }, callback) => {
    const found = (addresses: readonly LookupAddress[]): void => {
      const [first] = addresses;
      if (all === true || first === undefined) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    };
    void checked(hostname, resolve).then(found, (error: Error) => callback(error, []));
  };

async function checked(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(host);
  const refused = addresses.find(({ address }) => isRefusedAddress(address));
  if (refused !== undefined) throw refusal(host, refused.address);
  return addresses;
}

async function readAway(response: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += Buffer.from(chunk).length;
      if (bytes > MOST_ANSWER_BYTES) break;
    }
  } catch {
    // The status says what became of the message, however the rest of the answer ends.
  }
}

/**
 * This message can never be taken, however often it comes. With 400 receivers also answer a signature or a clock that is wrong, which
 * people put right.
 */
const NEVER: ReadonlySet<number> = new Set([413, 415, 422]);
/** It has too much to do, or a proxy says that it is not there. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** What an answer means for the message; `nowMs` is in epoch milliseconds. */
export function sentBy(answer: Answer, shown: string, nowMs: number): Sent {
  switch (answer.kind) {
    case 'none':
      return { kind: 'away', why: answer.why, retryAfterMs: null };
    case 'refused-address':
      return { kind: 'failed', why: answer.why, retryAfterMs: null };
    case 'answer':
      return ofStatus(answer, shown, nowMs);
  }
}

function ofStatus(
  { status, headers }: Extract<Answer, { readonly kind: 'answer' }>,
  shown: string,
  nowMs: number,
): Sent {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  const why = `${shown} answered with status ${status}${redirect}`;
  if (NEVER.has(status)) return { kind: 'refused', why };
  const retryAfterMs = retryAfterOf(headers['retry-after'], nowMs);
  return { kind: NOT_NOW.has(status) ? 'away' : 'failed', why, retryAfterMs };
}

/** In seconds, or as a time. */
function retryAfterOf(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

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
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

export function readSecretFile(name: string, setting: string, path: string): string {
  const file = readTextFile(path);
  if (!file.ok) throw unusable(name, `${setting} ${path} cannot be read: ${file.reason}`);
  return file.text;
}

export const unusable = (name: string, why: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `receiver ${name}: ${why}`);

/*
 * What a receiver may never be, whatever its name resolves to: link-local addresses, and those at which clouds tell whoever asks the
 * credentials of a machine. Loopback and private networks are where receivers of one's own live, and stay allowed.
 */

const LINK_LOCAL_4: readonly [string, number] = ['169.254.0.0', 16];
const LINK_LOCAL_6: readonly [string, number] = ['fe80::', 10];
/** Metadata of clouds outside of 169.254.0.0/16. */
const METADATA_4 = ['100.100.100.200', '168.63.129.16', '192.0.0.192'];
const METADATA_6 = ['fd00:ec2::254', 'fd20:ce::254'];

const refused4 = blockList((list) => {
  list.addSubnet(...LINK_LOCAL_4, 'ipv4');
  for (const address of METADATA_4) list.addAddress(address, 'ipv4');
});
const refused6 = blockList((list) => {
  list.addSubnet(...LINK_LOCAL_6, 'ipv6');
  for (const address of METADATA_6) list.addAddress(address, 'ipv6');
});

function blockList(fill: (list: BlockList) => void): BlockList {
  const list = new List();
  fill(list);
  return list;
}

/** Whether no connection may be made to this address. What is no address is refused too. */
export function isRefusedAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return refused4.check(address, 'ipv4');
    case 6:
      return isRefused6(address);
    default:
      return true;
  }
}

function isRefused6(address: string): boolean {
  const groups = groupsOf(address);
  if (groups === null || refused6.check(withoutZone(address), 'ipv6')) return true;
  return ipv4Within(groups).some((inner) => refused4.check(inner, 'ipv4'));
}

const withoutZone = (address: string): string => address.replace(/%.*$/, '');

/** The eight groups of an address, however it is written; `null` where it has none. */
function groupsOf(address: string): readonly number[] | null {
  const url = URL.parse(`http://[${withoutZone(address)}]/`);
  if (url === null) return null;
  const [front = '', back] = url.hostname.slice(1, -1).split('::');
  const first = numbers(front);
  if (back === undefined) return first;
  const last = numbers(back);
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

const numbers = (text: string): readonly number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

/** Addresses of IPv4 that routers and systems find in one of IPv6: mapped, compatible, translated (NAT64), and 6to4. */
function ipv4Within(groups: readonly number[]): readonly string[] {
  const [a = 0, b = 0, c = 0] = groups;
  const last = dotted(groups[6] ?? 0, groups[7] ?? 0);
  const leading = groups.slice(0, 5);
  const isMappedOrCompatible = leading.every((group) => group === 0);
  const isTranslated = a === 0x64 && b === 0xff9b;
  return [...(isMappedOrCompatible || isTranslated ? [last] : []), ...(a === 0x2002 ? [dotted(b, c)] : [])];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');
