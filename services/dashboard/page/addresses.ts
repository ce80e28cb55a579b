import { useEffect, useState } from 'preact/hooks';

/** What is shown, as its address says. */
export type View =
  | { readonly view: 'fleet'; readonly query: URLSearchParams }
  | { readonly view: 'node'; readonly cluster: string; readonly node: string }
  | { readonly view: 'live'; readonly query: URLSearchParams }
  | { readonly view: 'object'; readonly kind: string; readonly id: string; readonly query: URLSearchParams }
  | { readonly view: 'images'; readonly query: URLSearchParams }
  | { readonly view: 'report'; readonly query: URLSearchParams }
  | { readonly view: 'clusters'; readonly query: URLSearchParams }
  | { readonly view: 'cluster'; readonly cluster: string; readonly query: URLSearchParams }
  | { readonly view: 'cluster-object'; readonly cluster: string; readonly uid: string }
  | { readonly view: 'policies'; readonly name: string | null; readonly query: URLSearchParams }
  | { readonly view: 'search'; readonly query: URLSearchParams }
  | { readonly view: 'dead-letters'; readonly query: URLSearchParams }
  | { readonly view: 'history'; readonly query: URLSearchParams };

/** Views that have nothing but filters in their addresses. */
const FILTERED = ['live', 'search', 'images', 'report', 'dead-letters', 'history'] as const;

export function viewOf(address: URL): View {
  const [view, first, second] = address.pathname.split('/').slice(1).map(decoded);
  const query = address.searchParams;
  if (view === 'node' && first && second) return { view, cluster: first, node: second };
  if (view === 'policies') return { view, name: first || null, query };
  if (view === 'object' && first && second) return { view, kind: first, id: second, query };
  if (view === 'clusters') return clusterView(query, first, second);
  const filtered = FILTERED.find((each) => each === view);
  return filtered === undefined ? { view: 'fleet', query } : { view: filtered, query };
}

/** An address may hold anything. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Of an object, and where its life is told: `node` is `<cluster>/<node>`. */
export const objectAddress = (kind: string, id: string, node: string | null = null): string =>
  `/object/${encodeURIComponent(kind)}/${encodeURIComponent(id)}${node === null ? '' : `?${new URLSearchParams({ node })}`}`;

function clusterView(query: URLSearchParams, cluster: string | undefined, of: string | undefined): View {
  if (!cluster) return { view: 'clusters', query };
  const uid = query.get('uid');
  return of === 'object' && uid !== null
    ? { view: 'cluster-object', cluster, uid }
    : { view: 'cluster', cluster, query };
}

export const clusterAddress = (cluster: string): string => `/clusters/${encodeURIComponent(cluster)}`;

/** Of an object of a cluster, and its owner graph. */
export const clusterObjectAddress = (cluster: string, uid: string): string =>
  `${clusterAddress(cluster)}/object?${new URLSearchParams({ uid })}`;

export const nodeAddress = (cluster: string, node: string): string =>
  `/node/${encodeURIComponent(cluster)}/${encodeURIComponent(node)}`;

/** Of both kinds there may be one of a name. */
export const policyAddress = (subject: 'node' | 'cluster', name: string): string =>
  `/policies/${encodeURIComponent(name)}${subject === 'cluster' ? '?subject=cluster' : ''}`;

/** By `<cluster>/<node>`. */
export function addressOfKey(key: string): string {
  const [cluster = '', node = ''] = key.split('/');
  return nodeAddress(cluster, node);
}

/** The same with other filters; `null` takes one away. */
export function addressWith(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | null>>,
): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === '') changed.delete(name);
    else changed.set(name, value);
  return changed.size === 0 ? path : `${path}?${changed}`;
}

const CHANGED = 'fleetgc-address';

/** Shows another view without loading the page anew. */
export function go(address: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  dispatchEvent(new Event(CHANGED));
}

export function useView(): View {
  const [view, setView] = useState(() => viewOf(new URL(location.href)));
  useEffect(() => {
    const look = (): void => setView(viewOf(new URL(location.href)));
    const events = ['popstate', CHANGED];
    for (const event of events) addEventListener(event, look);
    return () => {
      for (const event of events) removeEventListener(event, look);
    };
  }, []);
  return view;
}

/** Links stay links: a new tab, a copied address, and a page that is read without this work as anywhere. */
export function onLink(event: MouseEvent): void {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!isPlain || link === null || link.origin !== location.origin) return;
  // A file is no view.
  if (link.hash !== '' || link.hasAttribute('download')) return;
  event.preventDefault();
  go(link.pathname + link.search);
  document.querySelector('main')?.focus();
  scrollTo(0, 0);
}
