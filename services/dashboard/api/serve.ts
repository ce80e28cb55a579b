import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { listen as listenOn } from '../../../packages/process/listen.ts';
import { http } from '../../../packages/process/node-http.ts';
import type { Address } from '../../../packages/process/options/options.ts';
import { type Asking, type Identified, mayDo, personKey } from '../access/access.ts';
import { SECURITY_HEADERS } from '../access/headers.ts';
import type { ActionDesk } from '../actions/desk.ts';
import type { PeopleHistory } from '../readers/history.ts';
import type { Readings } from '../readings.ts';
import { ACTION_PATHS, act, mayAct } from './act.ts';
import { type Answer, fileAnswer, jsonAnswer, refusal, textAnswer } from './answer.ts';
import { GivenFile } from './given-file.ts';
import type { LogReaders } from './log-readers.ts';
import type { NewsRoom } from './news.ts';
import { type PageFiles, pageFile } from './page-files.ts';
import { askAboutPolicies, POLICY_PATHS, type PolicyNeeds } from './policy-requests.ts';
import { inOurWords, problemText } from './problem-text.ts';
import { Refused } from './refused.ts';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';
import { signIn, signOut } from './sign-in.ts';

/** What requests are answered from. */
export interface Served extends PolicyNeeds {
  readonly logReaders: LogReaders;
  readonly searches: LogReaders;
  readonly readings: Readings;
  readonly history: PeopleHistory;
  readonly news: NewsRoom;
  /** `null` without `--allow-actions`. */
  readonly desk: ActionDesk | null;
  readonly files: PageFiles;
  readonly version: string;
  readonly logger: Logger;
}

const REQUEST_TIMEOUT_MS = 30_000;
const MOST_CONNECTIONS = 1_000;
const MOST_HEADER_BYTES = 16 * 1024;
const MOST_URL_LENGTH = 4_096;
/** Smaller answers gain nothing by being packed. */
const PACKED_FROM_BYTES = 1_024;

const ROUTE_OF: ReadonlyMap<string, Route> = new Map(ROUTES.map((route) => [route.path, route]));

/** Listens; what is asked before `served` is settled is answered with 503. Throws `CONFIG_INVALID` when it cannot listen. */
export async function listen(address: Address): Promise<Listening> {
  const server = http.createServer({
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    maxHeaderSize: MOST_HEADER_BYTES,
  });
  server.maxConnections = MOST_CONNECTIONS;
  const bound = await listenOn(server, address, 'choose another address with --http-address');
  return new Listening(server, bound);
}

export class Listening implements AsyncDisposable {
  /** With the port that the system gave where 0 was asked for. */
  readonly address: Address;
  readonly #server: Server;

  constructor(server: Server, address: Address) {
    this.#server = server;
    this.address = address;
  }

  serve(served: Served): void {
    this.#server.on('request', (request, response) => void respond(request, response, served));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

async function respond(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  try {
    const asking = askingOf(request);
    const url = urlOf(request);
    if (url?.pathname === '/api/events' && asking.method === 'GET') {
      const person = whoAsks(asking, served);
      if ('status' in person) return await send(request, response, person);
      return follow(response, served, { asking, person });
    }
    await send(
      request,
      response,
      url === null ? refusal(400, 'the address is not one') : await answer(request, url, served),
    );
  } catch (thrown) {
    if (!hasGone(request)) await tellFailure(thrown, { request, response, logger: served.logger });
  }
}

/** In the middle of a sentence, as anybody can: nobody is there any more to be answered. */
const hasGone = ({ destroyed, complete }: IncomingMessage): boolean => destroyed && !complete;

async function tellFailure(
  thrown: unknown,
  {
    request,
    response,
    logger,
  }: { readonly request: IncomingMessage; readonly response: ServerResponse; readonly logger: Logger },
): Promise<void> {
  logger.error({ err: toFleetGcError(thrown) }, 'a request could not be answered');
  if (response.headersSent) response.destroy();
  else
    await send(
      request,
      response,
      refusal(500, 'it could not be answered; the logger output of the dashboard says why'),
    );
}

const askingOf = ({ method = 'GET', headers, socket }: IncomingMessage): Asking => ({
  method,
  headers,
  remoteAddress: socket.remoteAddress ?? '',
});

function urlOf({ url = '/' }: IncomingMessage): URL | null {
  if (url.length > MOST_URL_LENGTH || !url.startsWith('/')) return null;
  return URL.parse(`http://page${url.replace(/^\/+/, '/')}`);
}

async function answer(request: IncomingMessage, url: URL, served: Served): Promise<Answer> {
  const asking = askingOf(request);
  const isReading = asking.method === 'GET' || asking.method === 'HEAD';
  // Probes come by whatever address the platform uses, and learn nothing.
  const probed = isReading ? PROBES[url.pathname]?.(served) : undefined;
  if (probed !== undefined) return probed;
  const objection = served.access.objection(asking);
  if (objection !== null) return refusal(403, objection);
  if (!isReading) return await change(request, url, served);
  return (
    pageFile(served.files, url.pathname, asking.headers['if-none-match']) ??
    (await answerRoute(asking, url, served))
  );
}

const PROBES: Readonly<Record<string, (served: Served) => Answer>> = {
  '/livez': () => textAnswer(200, 'ok'),
  '/readyz': readiness,
};

async function change(request: IncomingMessage, url: URL, served: Served): Promise<Answer> {
  const { pathname } = url;
  if (request.method === 'POST' && pathname === '/sign-in') return await signIn(request, served);
  if (request.method === 'POST' && pathname === '/sign-out') return signOut(askingOf(request), served);
  if (pathname.startsWith(ACTION_PATHS))
    return await act(request, askingOf(request), {
      name: pathname.slice(ACTION_PATHS.length),
      needs: served,
    });
  if (pathname.startsWith(POLICY_PATHS))
    return await askAboutPolicies(request, askingOf(request), { url, needs: served });
  return refusal(405, 'only GET and HEAD');
}

function readiness({ projection }: Served): Answer {
  const { isCaughtUp, problem } = projection.progress();
  if (problem !== null) return textAnswer(503, `not ready: ${problem}`);
  return isCaughtUp ? textAnswer(200, 'ready') : textAnswer(503, 'not ready: what is newest is not read yet');
}

/** Who asks; or why nobody gets an answer of any route. */
function whoAsks(asking: Asking, { access, now }: Served): Identified | Answer {
  const objection = access.objectionToAsking(asking);
  if (objection !== null) return refusal(403, objection);
  return access.identify(asking, now()) ?? refusal(401, 'sign in first');
}

async function answerRoute(asking: Asking, url: URL, served: Served): Promise<Answer> {
  const { desk, version } = served;
  const route = ROUTE_OF.get(url.pathname);
  const person = whoAsks(asking, served);
  if ('status' in person) return person;
  if (route === undefined) return refusal(404, 'there is nothing of this address');
  if (!mayDo(person.role, route.role)) return refusal(403, `this needs the role ${route.role}`);
  const given = route.params.safeParse(Object.fromEntries(url.searchParams), { error: inOurWords });
  if (!given.success) return refusal(400, problemText(given.error));
  const { name: user, role, by } = person;
  const session = { user, role, by, version, actions: mayAct(person, desk) };
  const asked = { ...served, session, person: personKey(person) };
  const value = await route.read(Object.fromEntries(url.searchParams), asked);
  if (value instanceof Refused) return refusal(value.status, value.problem);
  if (value instanceof GivenFile) return fileAnswer(value);
  return value === null ? refusal(404, 'nothing of that name is known here') : jsonAnswer(200, value);
}

function follow(
  response: ServerResponse,
  { news, access, now }: Served,
  { asking, person }: { readonly asking: Asking; readonly person: Identified },
): void {
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const isSignedIn = (): boolean => access.identify(asking, now()) !== null;
  if (!news.add({ response, person: personKey(person), isSignedIn }))
    response.end('event: full\ndata: {}\n\n');
}

const packed = promisify(gzip);

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
): Promise<void> {
  const isPacked =
    body.length >= PACKED_FROM_BYTES && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const sent = isPacked ? await packed(body, { level: 4 }) : body;
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    ...headers,
    vary: 'accept-encoding',
    ...(isPacked && { 'content-encoding': 'gzip' }),
    ...(status !== 304 && { 'content-length': String(sent.length) }),
  });
  response.end(request.method === 'HEAD' || status === 304 ? undefined : sent);
}
