import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { type ObjectForm, statusBody, told, typeOf } from './answers.ts';
import { apiVersionOf, type Change, isIn, type ObjectStore } from './objects.ts';

export interface WatchRequest {
  readonly kind: ApiKind;
  /** `null` for all namespaces. */
  readonly namespace: string | null;
  readonly form: ObjectForm;
  /** What happened after this version is told. */
  readonly from: number;
  readonly hasBookmarks: boolean;
  readonly timeoutMs: number;
}

interface Watching {
  readonly store: ObjectStore;
  readonly write: (line: string) => void;
  readonly wait: Sleep;
}

const BOOKMARK_EVERY_MS = 60_000;
/** The last one comes so long before the end. None comes where nothing has happened at all. */
const LAST_BOOKMARK_BEFORE_MS = 2_000;

/** Tells what happens, in its order, until its time is over or the signal aborts. */
export async function watch(
  request: WatchRequest,
  { store, write, wait }: Watching,
  signal: AbortSignal,
): Promise<void> {
  const tell = (type: string, object: object): void => write(`${JSON.stringify({ type, object })}\n`);
  const before = store.changesAfter(request.from);
  if (before === null) return tell('ERROR', statusBody('Expired', 'the resourceVersion is too old'));
  const told = (change: Change): void => {
    if (isAbout(change, request)) tell(change.type, toldChange(change, request));
  };
  for (const change of before) told(change);
  using _listening = store.onChange(told);
  for (const pauseMs of pausesOf(request.timeoutMs)) {
    await wait(pauseMs, signal);
    if (signal.aborted) return;
    if (request.hasBookmarks && store.version > request.from)
      tell('BOOKMARK', bookmark(request, store.version));
  }
  await wait(Math.min(LAST_BOOKMARK_BEFORE_MS, request.timeoutMs), signal);
}

const isAbout = ({ kind, object }: Change, asked: WatchRequest): boolean =>
  kind === asked.kind && isIn(object, asked.namespace);

const toldChange = ({ object }: Change, { form }: WatchRequest): object => told(object, form);

const bookmark = ({ kind, form }: WatchRequest, version: number): object => ({
  ...typeOf({ apiVersion: apiVersionOf(kind), kind: kind.kind }, form),
  metadata: { resourceVersion: String(version) },
});

/** How long it is until each bookmark. */
function pausesOf(timeoutMs: number): readonly number[] {
  const pauses: number[] = [];
  let left = timeoutMs - LAST_BOOKMARK_BEFORE_MS;
  for (; left > BOOKMARK_EVERY_MS; left -= BOOKMARK_EVERY_MS) pauses.push(BOOKMARK_EVERY_MS);
  return left > 0 ? [...pauses, left] : pauses;
}
