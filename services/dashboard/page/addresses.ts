import { useEffect, useState } from 'preact/hooks';

/** What is shown, as its address says. */
export type View =
  | { readonly view: 'fleet'; readonly query: URLSearchParams }
  | { readonly view: 'node'; readonly cluster: string; readonly node: string }
  | { readonly view: 'live'; readonly query: URLSearchParams }
  | { readonly view: 'search'; readonly query: URLSearchParams };

export function viewOf(address: URL): View {
  const [view, cluster, node] = address.pathname.split('/').slice(1);
  const query = address.searchParams;
  if (view === 'node' && cluster && node)
    return { view, cluster: decodeURIComponent(cluster), node: decodeURIComponent(node) };
  return view === 'live' || view === 'search' ? { view, query } : { view: 'fleet', query };
}

export const nodeAddress = (cluster: string, node: string): string =>
  `/node/${encodeURIComponent(cluster)}/${encodeURIComponent(node)}`;

/** By `<cluster>/<node>`. */
export function addressOfKey(key: string): string {
  const [cluster = '', node = ''] = key.split('/');
  return nodeAddress(cluster, node);
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
  if (!isPlain || link === null || link.origin !== location.origin || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
  document.querySelector('main')?.focus();
  scrollTo(0, 0);
}
