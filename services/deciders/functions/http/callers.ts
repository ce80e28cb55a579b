import type { IncomingMessage } from 'node:http';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import type { Peer, ProxyList, ServerTls } from '../../../../packages/process/http-server.ts';
import { addressText } from '../../../../packages/process/listen.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import { holderOfToken, type TokenHolder } from '../../../../packages/process/token-file.ts';
import { type Refused, refused } from './problem.ts';

/** What a caller has to be, in its line of the file of tokens. */
export const CALLER_ROLES = ['caller'] as const;
export type CallerToken = TokenHolder<(typeof CALLER_ROLES)[number]>;

/** Who may call. */
export interface CallerSettings {
  readonly address: Address;
  readonly tokens: readonly CallerToken[];
  /** `null`: plain HTTP. */
  readonly tls: ServerTls | null;
  /** Whose connections bring the calls of many: behind them calls are counted by the forwarded address. */
  readonly proxies: ProxyList;
  /** Whether facts count with the signature of their node alone, so that whoever brings them can make none up. */
  readonly factsAreSigned: boolean;
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

const needsNothing = ({ tokens, tls }: CallerSettings): boolean =>
  tokens.length === 0 && (tls === null || tls.callerCa === null);

/** Throws `CONFIG_INVALID` where anybody on the network could have decisions made about what they made up. */
export function requireCallers(settings: CallerSettings): void {
  const { address, factsAreSigned } = settings;
  if (!needsNothing(settings) || LOOPBACK.has(address.host) || factsAreSigned) return;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `${addressText(address)} can be reached from other machines, and whoever calls could make facts up: give --token-file or --tls-caller-ca-file, or --trust-facts required, or serve on 127.0.0.1`,
  );
}

/** What is risky and goes on, in sentences for the log. */
export function callerWarnings(settings: CallerSettings): readonly string[] {
  const { address, tokens, tls } = settings;
  if (LOOPBACK.has(address.host)) return [];
  return [
    ...(needsNothing(settings)
      ? [
          'whoever can reach this may call; what they bring counts with the signature of a node or cluster alone',
        ]
      : []),
    ...(tokens.length > 0 && tls === null
      ? ['callers show their tokens without TLS: they can be read on their way; give --tls-certificate-file']
      : []),
  ];
}

/** Why a request is not looked at; `null` when it is. */
export function objectionToCaller(
  request: IncomingMessage,
  peer: Peer,
  settings: CallerSettings,
): Refused | null {
  // A page in a browser on this machine says where it comes from whenever it sends something.
  if (needsNothing(settings))
    return request.headers.origin === undefined
      ? null
      : refused('forbidden', 'pages in a browser may not call');
  return objectionToCertificate(peer, settings) ?? objectionToToken(request, settings);
}

function objectionToCertificate({ isCertified }: Peer, { tls }: CallerSettings): Refused | null {
  if (tls === null || tls.callerCa === null) return null;
  return isCertified
    ? null
    : refused('forbidden', 'it takes a certificate that the authorities of callers signed');
}

function objectionToToken({ headers }: IncomingMessage, { tokens }: CallerSettings): Refused | null {
  if (tokens.length === 0) return null;
  const [, bearer] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? [];
  return bearer !== undefined && holderOfToken(tokens, bearer) !== null
    ? null
    : refused('unauthorized', 'it takes a token: Authorization: Bearer TOKEN');
}
