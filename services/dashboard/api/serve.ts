import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import {
  type HttpBounds,
  type HttpServer,
  openHttpServer,
  type Peer,
} from '../../../packages/process/http-server.ts';
import type { PeopleHistory } from '../../../packages/read-model/history.ts';
import {
  type Access,
  type AccessSettings,
  type Asking,
  type Identified,
  mayDo,
  personKey,
  SECURITY_HEADERS,
  trustedProxyList,
} from '../access/access.ts';
import type { ActionDesk } from '../actions/desk.ts';
import type { AnswerRoom, LogReaders } from '../bounds.ts';
import type { Readings } from '../readings.ts';
import { ACTION_PATHS, act, mayAct } from './act.ts';
import {
  type Answer,
  fileAnswer,
  GivenFile,
  inOurWords,
  jsonAnswer,
  problemText,
  Refused,
  readBody,
  refusal,
} from './answer.ts';
import type { NewsRoom } from './news.ts';
import { type PageFiles, pageFile, takesPacked } from './page-files.ts';
import { askAboutPolicies, POLICY_PATHS, type PolicyNeeds } from './policies.ts';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';

/** What requests are answered from. */
interface Served extends PolicyNeeds {
  readonly logReaders: LogReaders;
  readonly searches: LogReaders;
  readonly readings: Readings;
  readonly history: PeopleHistory;
  readonly news: NewsRoom;
  readonly answerRoom: AnswerRoom;
  /** `null` without `--allow-actions`. */
  readonly desk: ActionDesk | null;
  readonly files: PageFiles;
  readonly version: string;
  readonly logger: Logger;
}

/** @limit Connections and timeouts of the dashboard. */
const BOUNDS: HttpBounds = {
  mostConnections: 400,
  // A browser takes up to six, one of them for what is new. Many people may come by one address that no proxy names.
  mostOfAnAddress: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Longer than an answer may take to begin; what is new is told more often.
  idleTimeoutMs: 120_000,
  keepAliveMs: 5_000,
  mostHeaderBytes: 16 * 1024,
};
const MOST_URL_LENGTH = 4_096;
/** Smaller answers gain nothing by being packed. */
const PACKED_FROM_BYTES = 1_024;

const ROUTE_OF: ReadonlyMap<string, Route> = new Map(ROUTES.map((route) => [route.path, route]));

/** Listens; what is asked before `serve` is answered with 503. Throws `CONFIG_INVALID` when it cannot listen. */
export const listen = ({ address, trustedProxies }: AccessSettings): Promise<HttpServer> =>
  openHttpServer({
    address,
    advice: 'choose another address with --http-address',
    bounds: BOUNDS,
    tls: null,
    proxies: trustedProxyList(trustedProxies),
    onRefused: () => undefined,
  });

export const serve = (server: HttpServer, served: Served): void =>
  server.serve((request, response, peer) => void respond(request, response, { ...served, peer }));

/** One request is answered from these. */
interface Around extends Served {
  readonly peer: Peer;
}

async function respond(request: IncomingMessage, response: ServerResponse, served: Around): Promise<void> {
  try {
    const asking = askingOf(request, served.peer);
    const url = urlOf(request);
    if (url?.pathname === '/api/events' && asking.method === 'GET') {
      const person = whoAsks(asking, served);
      if ('status' in person) return await send(request, response, person, served);
      return follow(response, served, { asking, person });
    }
    await send(
      request,
      response,
      url === null ? refusal(400, 'the address is not one') : await answer(request, url, served),
      served,
    );
  } catch (thrown) {
    if (!hasGone(request)) await tellFailure(thrown, { request, response, served });
  }
}

/** In the middle of a sentence, as anybody can: nobody is there any more to be answered. */
const hasGone = ({ destroyed, complete }: IncomingMessage): boolean => destroyed && !complete;

async function tellFailure(
  thrown: unknown,
  {
    request,
    response,
    served,
  }: { readonly request: IncomingMessage; readonly response: ServerResponse; readonly served: Around },
): Promise<void> {
  served.logger.error({ err: toFleetGcError(thrown) }, 'a request could not be answered');
  if (response.headersSent) response.destroy();
  else
    await send(
      request,
      response,
      refusal(500, 'it could not be answered; the logger output of the dashboard says why'),
      served,
    );
}

const askingOf = ({ method = 'GET', headers }: IncomingMessage, { remoteAddress }: Peer): Asking => ({
  method,
  headers,
  remoteAddress,
});

function urlOf({ url = '/' }: IncomingMessage): URL | null {
  if (url.length > MOST_URL_LENGTH || !url.startsWith('/')) return null;
  return URL.parse(`http://page${url.replace(/^\/+/, '/')}`);
}

async function answer(request: IncomingMessage, url: URL, served: Around): Promise<Answer> {
  const asking = askingOf(request, served.peer);
  const objection = served.access.objection(asking);
  if (objection !== null) return refusal(403, objection);
  if (asking.method !== 'GET' && asking.method !== 'HEAD') return await change(request, url, served);
  return pageFile(served.files, url.pathname, asking.headers) ?? (await answerRoute(asking, url, served));
}

async function change(request: IncomingMessage, url: URL, served: Around): Promise<Answer> {
  const { pathname } = url;
  const asking = askingOf(request, served.peer);
  if (request.method === 'POST' && pathname === '/sign-in') return await signIn(request, served);
  if (request.method === 'POST' && pathname === '/sign-out') return signOut(asking, served);
  if (pathname.startsWith(ACTION_PATHS))
    return await act(request, asking, { name: pathname.slice(ACTION_PATHS.length), needs: served });
  if (pathname.startsWith(POLICY_PATHS))
    return await askAboutPolicies(request, asking, { url, needs: served });
  return refusal(405, 'only GET and HEAD');
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
  const key = personKey(person);
  const asked = { ...served, session, person: key };
  const value = await route.read(Object.fromEntries(url.searchParams), asked);
  if (value instanceof Refused) return refusal(value.status, value.problem);
  if (value instanceof GivenFile) return { ...fileAnswer(value), person: key };
  if (value === null) return refusal(404, 'nothing of that name is known here');
  return { ...jsonAnswer(200, value), person: key };
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

const UNCOUNTED: Disposable = { [Symbol.dispose]: () => undefined };
const TOO_MUCH_WAITS = refusal(503, 'too many of your earlier responses have not been read; read them first');

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answered: Answer,
  { answerRoom }: Pick<Served, 'answerRoom'>,
): Promise<void> {
  const held =
    answered.person === undefined ? UNCOUNTED : answerRoom.begin(answered.person, answered.body.length);
  if (held === null) {
    await send(request, response, TOO_MUCH_WAITS, { answerRoom });
    return;
  }
  if (response.closed) held[Symbol.dispose]();
  else response.once('close', () => held[Symbol.dispose]());
  const { status, headers, body } = answered;
  const isPackable =
    headers['content-encoding'] === undefined &&
    body.length >= PACKED_FROM_BYTES &&
    takesPacked(request.headers);
  const sent = isPackable ? await packed(body, { level: 4 }) : body;
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    ...headers,
    vary: 'accept-encoding',
    ...(isPackable && { 'content-encoding': 'gzip' }),
    ...(status !== 304 && { 'content-length': String(sent.length) }),
  });
  response.end(request.method === 'HEAD' || status === 304 ? undefined : sent);
}

const MOST_BODY_BYTES = 4_096;

interface SignInNeeds {
  readonly access: Access;
  readonly now: () => number;
}

/** A browser shows a token once, and is known by a cookie from then on. */
async function signIn(request: IncomingMessage, { access, now }: SignInNeeds): Promise<Answer> {
  if (!/^text\/plain\b/.test(request.headers['content-type'] ?? ''))
    return refusal(415, 'the token is sent as text/plain');
  const token = await readBody(request, MOST_BODY_BYTES);
  if (token === null) return refusal(413, 'a token is not that long');
  const signedIn = access.signIn(token.trim(), now());
  if (signedIn === null) return refusal(401, 'nobody has this token');
  const { name: user, role } = signedIn.person;
  return withCookie(jsonAnswer(200, { user, role }), signedIn.cookie);
}

/** Whoever has a copy of the cookie is out as well. */
const signOut = (asking: Asking, { access, now }: SignInNeeds): Answer =>
  withCookie(jsonAnswer(200, {}), access.signOut(asking, now()));

const withCookie = (answer: Answer, cookie: string): Answer => ({
  ...answer,
  headers: { ...answer.headers, 'set-cookie': cookie },
});
