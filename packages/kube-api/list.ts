import { z } from 'zod';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import type { ApiAnswer, ApiConnection } from './connection.ts';
import {
  AS_METADATA,
  type ObjectForm,
  type ObjectMetadata,
  readMetadata,
  unnameableVersion,
} from './metadata.ts';
import { type ApiResource, collectionPath } from './resources.ts';
import {
  jsonOf,
  type NotNow,
  notNowIn,
  refusalText,
  retryAfterMs,
  statusOf,
  withMissingRight,
} from './status.ts';

/** @limit Objects of one page of a list. */
const PAGE_OBJECTS = 500;
/** Most objects have 2 to 20 KiB, one has 1.5 MiB at most, or six times that as JSON. */
const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** Of a page that has more a tenth is asked for, until it has not: whoever may write some objects could have none of their kind read. */
const SMALLER_BY = 10;
/** One after the other. A server may tell some, where what it looked at was none of what was asked for. */
const MAX_EMPTY_PAGES = 1_000;

const Page = z.object({
  metadata: z.object({ resourceVersion: z.string().max(128).default(''), continue: z.string().default('') }),
  /** Some servers write `null` for none; an answer without them is no list, and says of nothing that it is gone. */
  items: z.array(z.unknown()).nullable(),
});

/** The end of a list that was read whole. */
export interface ListEnd {
  /** A watch goes on from here. */
  readonly resourceVersion: string;
}

/** Why a list is not whole. Nothing may be concluded from its pages. */
export type ListProblem = 'expired' | 'refused' | 'unreadable';

export type ListOutcome =
  | { readonly kind: 'complete'; readonly end: ListEnd }
  | {
      readonly kind: 'incomplete';
      readonly problem: ListProblem;
      readonly message: string;
      /** So long the server asks to wait; `null` where it says nothing. */
      readonly afterMs: number | null;
    };

/** What is listed, and in which form. */
export interface Listed<Seen extends ObjectMetadata> {
  readonly resource: ApiResource;
  readonly form: ObjectForm<Seen>;
}

/**
 * A consistent list in pages, of which each is given to `onPage`. The resourceVersion stays unset, so the first page is as new as
 * etcd, and the further ones belong to it. Rejects with what the connection rejects with.
 */
export async function listObjects<Seen extends ObjectMetadata>(
  connection: ApiConnection,
  what: Listed<Seen>,
  onPage: (objects: readonly Seen[]) => void,
  signal: AbortSignal,
): Promise<ListOutcome> {
  const pages = new PagesSoFar();
  let next = '';
  let resourceVersion = '';
  let limit = PAGE_OBJECTS;
  do {
    const page = await readFittingPage(connection, what, { next, limit }, signal);
    if (page.kind === 'incomplete') return page;
    onPage(page.objects);
    const endless = pages.endlessWith(next, page);
    if (endless !== null) return incomplete('unreadable', endless);
    ({ next, limit, resourceVersion } = page);
  } while (next !== '');
  return resourceVersion === ''
    ? incomplete('unreadable', 'the list has no resourceVersion')
    : { kind: 'complete', end: { resourceVersion } };
}

/** A server that turns in a circle, or that finds no end, would keep us for ever. */
class PagesSoFar {
  readonly #begun = new Set<string>();
  #empty = 0;

  /** Why the list has no end, in a sentence; `null` where it may have one. */
  endlessWith(begun: string, { next, isEmpty }: Pick<ReadPage<unknown>, 'next' | 'isEmpty'>): string | null {
    this.#begun.add(begun);
    this.#empty = isEmpty ? this.#empty + 1 : 0;
    if (next === '') return null;
    if (this.#begun.has(next)) return 'a page of the list was told twice';
    return this.#empty > MAX_EMPTY_PAGES ? 'the list goes on, and tells nothing' : null;
  }
}

/** Where objects of a kind stand now; `unknown` where the server does not tell. */
export type Standing =
  | { readonly why: 'told'; readonly resourceVersion: string }
  | { readonly why: 'unknown' }
  | NotNow;

/** For little. Rejects with what the connection rejects with. */
export async function readStanding(
  connection: ApiConnection,
  { resource, form }: Pick<Listed<ObjectMetadata>, 'resource' | 'form'>,
  signal: AbortSignal,
): Promise<Standing> {
  const path = collectionPath(resource, { limit: '1' });
  const answer = await connection.call({ method: 'GET', path, accept: form.acceptList }, signal);
  const page = Page.safeParse(answer.status === 200 ? jsonOf(answer.body) : null);
  const resourceVersion = page.data?.metadata.resourceVersion ?? '';
  if (resourceVersion !== '') return { why: 'told', resourceVersion };
  return notNowIn(answer) ?? { why: 'unknown' };
}

interface AskedPage {
  /** Where the page begins; empty for the first one. */
  readonly next: string;
  readonly limit: number;
}

interface ReadPage<Seen> extends AskedPage {
  readonly kind: 'page';
  readonly objects: readonly Seen[];
  /** Also of what is passed over nothing was told. */
  readonly isEmpty: boolean;
  readonly resourceVersion: string;
}
type Incomplete = Extract<ListOutcome, { kind: 'incomplete' }>;

const incomplete = (problem: ListProblem, message: string, afterMs: number | null = null): Incomplete => ({
  kind: 'incomplete',
  problem,
  message,
  afterMs,
});

/** The page, or the beginning of it that is not too large. */
async function readFittingPage<Seen extends ObjectMetadata>(
  connection: ApiConnection,
  what: Listed<Seen>,
  asked: AskedPage,
  signal: AbortSignal,
): Promise<ReadPage<Seen> | Incomplete> {
  try {
    return await readPage(connection, what, asked, signal);
  } catch (thrown) {
    if (asked.limit === 1 || toFleetGcError(thrown).code !== 'API_ANSWER_TOO_LARGE') throw thrown;
    const limit = Math.max(1, Math.floor(asked.limit / SMALLER_BY));
    return await readFittingPage(connection, what, { ...asked, limit }, signal);
  }
}

async function readPage<Seen extends ObjectMetadata>(
  connection: ApiConnection,
  { resource, form }: Listed<Seen>,
  { next, limit }: AskedPage,
  signal: AbortSignal,
): Promise<ReadPage<Seen> | Incomplete> {
  const query = { limit: String(limit), ...(next !== '' && { continue: next }) };
  const path = collectionPath(resource, query);
  // Some servers know no limit: then it is as large as any answer may be.
  const bounded = limit > 1 && { mostAnswerBytes: MAX_PAGE_BYTES };
  const answer = await connection.call({ method: 'GET', path, accept: form.acceptList, ...bounded }, signal);
  if (answer.status === 410) return incomplete('expired', refusalText(answer));
  if (answer.status !== 200)
    return incomplete('refused', withMissingRight(refusalText(answer), resource), retryAfterMs(answer));
  const parsed = Page.safeParse(jsonOf(answer.body));
  if (!parsed.success)
    return incomplete(
      'unreadable',
      `a page is no list: ${z.prettifyError(parsed.error).replaceAll('\n', ' ').slice(0, 300)}`,
    );
  const items = parsed.data.items ?? [];
  const objects = readItems(items, form);
  if (objects === null) return incomplete('unreadable', 'an entry of the list is no object');
  const { resourceVersion, continue: continues } = parsed.data.metadata;
  return { kind: 'page', objects, isEmpty: items.length === 0, next: continues, resourceVersion, limit };
}

/** `null` where one of them is no object. */
function readItems<Seen extends ObjectMetadata>(
  items: readonly unknown[],
  form: ObjectForm<Seen>,
): readonly Seen[] | null {
  const objects: Seen[] = [];
  for (const item of items) {
    const object = form.read(item);
    if (object !== null) objects.push(object);
    else if (unnameableVersion(item) === null) return null;
  }
  return objects;
}

/** The uid of the namespace `kube-system`, by which a cluster is known. Throws `API_REFUSED`, which says what to do. */
export async function readClusterInstance(connection: ApiConnection, signal?: AbortSignal): Promise<string> {
  const path = '/api/v1/namespaces/kube-system';
  const answer = await connection.call({ method: 'GET', path, accept: AS_METADATA }, signal);
  const object = answer.status === 200 ? readMetadata(jsonOf(answer.body)) : null;
  if (object?.name === 'kube-system') return object.uid;
  throw new FleetGcError(
    'API_REFUSED',
    `the namespace kube-system, whose uid names the cluster, cannot be read: ${adviceFor(answer)}`,
  );
}

function adviceFor(answer: ApiAnswer): string {
  const told = refusalText(answer);
  if (answer.status === 401)
    return `${told}. Check the token or certificate: the API server knows nobody by it`;
  if (answer.status === 403)
    return `${told}. Give the account the rights of docs/operating/clusters.md, "Rights"`;
  return statusOf(jsonOf(answer.body)) === null
    ? `${told}. What answers is no API server of Kubernetes: check the address`
    : told;
}
