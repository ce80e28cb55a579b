import type { Created } from '../../../../packages/kube-api/metadata.ts';
import type { LiveObject } from '../../../../packages/kube-api/read.ts';
import { type ApiObjectName, hasPath } from '../../../../packages/kube-api/resources.ts';
import { withMissingRight } from '../../../../packages/kube-api/status.ts';
import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import { Proofs } from './proofs.ts';
import { failed, later, maySoonBeKnown, refused, type Stop } from './stop.ts';

export const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  resource: 'customresourcedefinitions',
  namespaced: false,
} as const satisfies ServedKind;

export const definitionName = ({ resource, group }: Pick<ServedKind, 'group' | 'resource'>): string =>
  `${resource}.${group}`;

/** What defines a kind. */
export interface KindDefinition {
  readonly isGoing: boolean;
  /** Epoch milliseconds, in whole seconds; `null` where it does not say. */
  readonly createdAtMs: number | null;
}

/** A kind that was served for so long without a definition has none. Right after its definition went an API server may still serve it. */
const WITHOUT_FOR_MS = 5_000;
/** What was seen longer ago says nothing: a definition may have come and gone since. */
const SEEN_WITHIN_MS = 30_000;
const MOST_WITHOUT = 500;

export const FORBIDDEN = 403;

type ReadDefinition = (place: {
  readonly kind: ServedKind;
  readonly named: ApiObjectName;
}) => Promise<LiveObject<Created>>;

interface Without {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** What was read a moment ago of the definitions of owners that are absent, whoever read it. */
export class KindDefinitions {
  readonly #nowMs: () => number;
  readonly #proofs: Proofs<KindDefinition | 'none'>;
  readonly #asking = new Map<string, Promise<unknown>>();
  readonly #without = new Map<string, Without>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#proofs = new Proofs(nowMs);
  }

  /**
   * What defines a kind, as it was read after this time. What was read before an owner was found absent says nothing of how it went: the
   * definition may have been deleted in between, and the owner with it. `none`: a kind of the API server itself, or an aggregated one.
   */
  async of(kind: ServedKind, sinceMs: number, read: ReadDefinition): Promise<KindDefinition | 'none' | Stop> {
    const named = { namespace: '', name: definitionName(kind) };
    if (!hasPath(DEFINITIONS, named)) return 'none';
    for (;;) {
      const known = this.#proofs.get(named.name);
      const askedAtMs = this.#proofs.askedAtMs(named.name) ?? Number.NEGATIVE_INFINITY;
      if (known !== undefined && askedAtMs >= sinceMs) return known;
      const ahead = this.#asking.get(named.name);
      if (ahead === undefined) break;
      await ahead.catch(() => undefined);
    }
    const asking = this.#ask(named, read);
    this.#asking.set(named.name, asking);
    try {
      return await asking;
    } finally {
      this.#asking.delete(named.name);
    }
  }

  async #ask(named: ApiObjectName, read: ReadDefinition): Promise<KindDefinition | 'none' | Stop> {
    const askedAtMs = this.#nowMs();
    const live = await read({ kind: DEFINITIONS, named });
    if (live.kind === 'unknown') return unknownDefinition(live, named.name);
    if (live.kind === 'absent') return this.#absent(named.name, askedAtMs);
    const { deletionTimestamp, createdAtMs } = live.object;
    const definition = { isGoing: deletionTimestamp !== null, createdAtMs };
    this.#without.delete(named.name);
    this.#proofs.add(named.name, definition, askedAtMs);
    return definition;
  }

  #absent(name: string, askedAtMs: number): 'none' | Stop {
    const before = this.#without.get(name);
    const isKnown = before !== undefined && askedAtMs - before.lastMs < SEEN_WITHIN_MS;
    const firstMs = isKnown ? before.firstMs : askedAtMs;
    this.#without.delete(name);
    this.#without.set(name, { firstMs, lastMs: askedAtMs });
    const [oldest] = this.#without.keys();
    if (this.#without.size > MOST_WITHOUT && oldest !== undefined) this.#without.delete(oldest);
    if (askedAtMs - firstMs < WITHOUT_FOR_MS)
      return later(
        'api-server-error',
        `whether the definition ${name} has just gone is not known yet`,
        WITHOUT_FOR_MS,
      );
    this.#proofs.add(name, 'none', askedAtMs);
    return 'none';
  }
}

/** Without it nobody knows whether the owner went with its kind (cluster S3). */
function unknownDefinition(live: Extract<LiveObject, { kind: 'unknown' }>, name: string): Stop {
  const soon = maySoonBeKnown(live);
  if (soon !== null) return soon;
  const why = withMissingRight(live.message, DEFINITIONS);
  const message = `it stays, since nobody knows whether its owner went with the definition ${name}, which cannot be read: ${why}`;
  return live.answer.status === FORBIDDEN
    ? failed({ reason: 'forbidden', message })
    : refused('owner-unknown', message);
}
