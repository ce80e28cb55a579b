import type { Decision, Verdict } from '../../../schemas/events/decision.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { AuditReport, WouldGo } from '../../../schemas/reports/audit-report.ts';
import { objectKey } from '../../audit/events/identity.ts';
import { objectsIn } from '../../decision/inventory-entries.ts';

/** A decision follows its inventory soon; what was taken for it is among the last so many of its node. */
const KEPT_INVENTORIES = 16;

type Named = Pick<WouldGo, 'kind' | 'id' | 'name'>;
/** Objects by kind and position, as verdicts name them. */
type Listing = ReadonlyMap<ObjectKind, readonly Named[]>;

/** Sums up what policies in dry-run would have removed: each object of a node once. */
export class DryRuns {
  /** By installation, what its inventories list by their ids, the newest last. */
  #nodes = new Map<string, ReadonlyMap<string, Listing>>();
  readonly #wouldGo = new Map<string, WouldGo>();
  #decisions = 0;
  #unnamed = 0;

  listed(inventory: CompleteInventory): void {
    const key = SUBJECTS.node.installationOf(inventory);
    const before = [...(this.#nodes.get(key) ?? [])];
    const listing = listingOf(inventory, knownFrom(before.at(-1)?.[1]));
    this.#nodes.set(key, new Map([...before, [inventory.id, listing] as const].slice(-KEPT_INVENTORIES)));
  }

  /** `atMs`: by the log's clock. */
  decided(decision: Decision, atMs: number): void {
    this.#decisions++;
    const listing = this.#nodes.get(SUBJECTS.node.installationOf(decision))?.get(decision.input.id);
    if (listing === undefined) this.#unnamed++;
    else this.#planned(decision, listing, atMs);
  }

  #planned(decision: Decision, listing: Listing, atMs: number): void {
    for (const verdict of decision.verdicts) {
      const object = listing.get(verdict.kind)?.[verdict.position];
      if (verdict.action === 'remove' && object) this.#add({ decision, verdict, object, atMs });
    }
  }

  #add({ decision, verdict, object, atMs }: Planned): void {
    const key = `${SUBJECTS.node.installationOf(decision)} ${objectKey(object)}`;
    const before = this.#wouldGo.get(key);
    const { estimatedBytes } = verdict.facts;
    this.#wouldGo.set(key, {
      cluster: decision.cluster,
      node: decision.node,
      ...object,
      rule: verdict.rule,
      policy: decision.policy?.name ?? '',
      estimatedBytes: typeof estimatedBytes === 'number' ? Math.max(0, Math.round(estimatedBytes)) : null,
      decisions: (before?.decisions ?? 0) + 1,
      firstMs: before?.firstMs ?? atMs,
      lastMs: atMs,
    });
  }

  /** What is known of its nodes is not needed any more. */
  endPartition(): void {
    this.#nodes = new Map();
  }

  told(): Pick<AuditReport, 'dryRun' | 'wouldGo'> {
    const wouldGo = [...this.#wouldGo.values()].toSorted(largestFirst);
    const bytes = wouldGo.reduce((sum, { estimatedBytes }) => sum + BigInt(estimatedBytes ?? 0), 0n);
    const dryRun = {
      decisions: this.#decisions,
      unnamed: this.#unnamed,
      objects: wouldGo.length,
      estimatedBytes: String(bytes),
    };
    return { dryRun, wouldGo };
  }
}

interface Planned {
  readonly decision: Decision;
  readonly verdict: Verdict;
  readonly object: Named;
  readonly atMs: number;
}

const namedKey = (object: Named): string => `${objectKey(object)} ${object.name}`;

/** So that an object that many inventories list is held once. */
const knownFrom = (listing: Listing | undefined): ReadonlyMap<string, Named> =>
  new Map([...(listing?.values() ?? [])].flat().map((object) => [namedKey(object), object]));

const listingOf = (inventory: CompleteInventory, known: ReadonlyMap<string, Named>): Listing =>
  Map.groupBy(
    objectsIn(inventory).map(({ kind, id, name }) => {
      const object = { kind, id, name };
      return known.get(namedKey(object)) ?? object;
    }),
    ({ kind }) => kind,
  );

const largestFirst = (a: WouldGo, b: WouldGo): number =>
  (b.estimatedBytes ?? 0) - (a.estimatedBytes ?? 0) || a.firstMs - b.firstMs;
