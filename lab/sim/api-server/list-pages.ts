import type { ApiObject } from './objects.ts';

/** A list as it was when its first page was asked for. */
interface Snapshot {
  readonly objects: readonly ApiObject[];
  readonly resourceVersion: string;
}

interface ListPage extends Snapshot {
  /** Empty at the end of the list. */
  readonly next: string;
  readonly left: number;
}

/** Further pages of older lists are refused as expired. */
const MAX_SNAPSHOTS = 100;
const TOKEN = /^page-(\d{1,15})-(\d{1,15})$/;

/** The pages of a list belong together, whatever happens between them. */
export class ListPages {
  readonly #snapshots = new Map<number, Snapshot>();
  #lastId = 0;

  first(snapshot: Snapshot, limit: number): ListPage {
    const id = ++this.#lastId;
    const page = pageOf(snapshot, { id, from: 0, limit });
    if (page.left > 0) this.#keep(id, snapshot);
    return page;
  }

  /** `limit`: 0 for all that is left. */
  further(token: string, limit: number): ListPage | 'expired' | 'unknown' {
    const [, id, from] = TOKEN.exec(token) ?? [];
    if (id === undefined || from === undefined) return 'unknown';
    const snapshot = this.#snapshots.get(Number(id));
    return snapshot === undefined
      ? 'expired'
      : pageOf(snapshot, { id: Number(id), from: Number(from), limit });
  }

  #keep(id: number, snapshot: Snapshot): void {
    this.#snapshots.set(id, snapshot);
    for (const oldest of this.#snapshots.keys())
      if (this.#snapshots.size > MAX_SNAPSHOTS) this.#snapshots.delete(oldest);
  }
}

function pageOf(
  { objects, resourceVersion }: Snapshot,
  { id, from, limit }: { readonly id: number; readonly from: number; readonly limit: number },
): ListPage {
  const end = limit === 0 ? objects.length : Math.min(from + limit, objects.length);
  const left = objects.length - end;
  const next = left === 0 ? '' : `page-${id}-${end}`;
  return { objects: objects.slice(from, end), resourceVersion, next, left };
}
