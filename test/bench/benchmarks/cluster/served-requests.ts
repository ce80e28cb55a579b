import type { ApiArena } from './api-arena.ts';

/** Requests about these resources, by verb and resource, as the API server counts them itself. */
export type ServedRequests = ReadonlyMap<string, number>;

/** What a collector asks for while it follows and lets go what the benchmark made; all else the API server asks itself. */
const RESOURCES: ReadonlySet<string> = new Set(['configmaps', 'namespaces']);
/** What the benchmark itself does, and what costs no request for each object. */
const LEFT_OUT: ReadonlySet<string> = new Set(['LIST', 'WATCH', 'POST']);
const LINE = /^apiserver_request_total\{(.*)\} (\S+)$/;

export async function servedRequests({ ask }: Pick<ApiArena, 'ask'>): Promise<ServedRequests> {
  const text = await ask({ method: 'GET', path: '/metrics', accept: 'text/plain' });
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, labels = '', count = ''] = LINE.exec(line) ?? [];
    const { verb = '', resource = '' } = labelsOf(labels);
    if (!RESOURCES.has(resource) || LEFT_OUT.has(verb)) continue;
    const name = `${verb} ${resource}`;
    counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

/** What came between the two. */
export const servedBetween = (before: ServedRequests, after: ServedRequests): ServedRequests =>
  new Map(
    [...after].flatMap(([name, count]) => {
      const more = count - (before.get(name) ?? 0);
      return more > 0 ? [[name, more] as const] : [];
    }),
  );

export const sumOf = (served: ServedRequests): number =>
  served.values().reduce((sum, count) => sum + count, 0);

/** `DELETE configmaps 1000, GET configmaps 12` */
export const requestsText = (served: ServedRequests): string =>
  [...served]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

const labelsOf = (text: string): { readonly verb?: string; readonly resource?: string } =>
  Object.fromEntries(text.matchAll(/(\w+)="([^"]*)"/g).map(([, name, value]) => [name, value]));
