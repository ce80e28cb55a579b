import pLimit from 'p-limit';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { discover } from '../../../packages/kube-api/discovery.ts';
import { listObjects } from '../../../packages/kube-api/list.ts';
import type { ObjectForm } from '../../../packages/kube-api/metadata.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import {
  type ClusterLeftovers,
  type Leftover,
  LeftoverReport,
  type LeftoverSection,
} from '../../../schemas/reports/cluster-leftovers.ts';
import type { UnreadKind } from '../../../schemas/reports/cluster-plan.ts';
import { servedKinds } from '../agent/kinds.ts';
import { REPORTS, type SeenObject } from './leftover-reports.ts';

interface AskedLeftovers {
  readonly connection: ApiConnection;
  readonly clusterInstance: string;
  /** What the API server's clock shows now; `null` while that is not known. */
  readonly now: () => ClusterInstant | null;
}

const LISTS_AT_ONCE = 4;

/** Reads what each report needs, and makes it. Rejects with what the connection rejects with, and `API_REFUSED`. */
export async function clusterLeftovers(
  { connection, clusterInstance, now }: AskedLeftovers,
  signal: AbortSignal,
): Promise<ClusterLeftovers> {
  const discovery = await discover(connection, null);
  const takenAt = now();
  if (discovery === null || takenAt === null)
    throw new FleetGcError('API_REFUSED', 'the API server tells neither what it serves nor its time');
  const { collectable } = servedKinds(discovery.groups);
  const reports: LeftoverSection[] = [];
  for (const report of LeftoverReport.options)
    reports.push(
      await sectionOf(report, { connection, kinds: collectable, nowMs: takenAt.serverMs, signal }),
    );
  return { type: 'fleetgc.cluster-leftovers', version: 1, clusterInstance, takenAt, reports };
}

interface Looking {
  readonly connection: ApiConnection;
  readonly kinds: ReadonlyMap<string, ResourceKind>;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

async function sectionOf(report: LeftoverReport, looking: Looking): Promise<LeftoverSection> {
  const { stages, find } = REPORTS[report]();
  const inTurn = pLimit(LISTS_AT_ONCE);
  const lists: List[] = [];
  for (const forms of stages) {
    const stage = Object.entries(forms).map(([key, form]) => inTurn(() => listed(key, form, looking)));
    lists.push(...(await Promise.all(stage)));
  }
  const unread = lists.flatMap((list) => list.unread ?? []);
  if (unread.length > 0) return { report, unread, objects: [] };
  const byKey = new Map(lists.map(({ key, objects }) => [key, objects]));
  const found = find((key) => byKey.get(key) ?? [], looking.nowMs);
  const objects = found.map(({ key, object, since, because }): Leftover => {
    const { group, kind } = looking.kinds.get(key) ?? { group: '', kind: key };
    const { namespace, name, uid } = object;
    return { group, kind, namespace, name, uid, since, because };
  });
  return { report, unread: [], objects };
}

interface List {
  readonly key: string;
  readonly objects: readonly SeenObject[];
  readonly unread: UnreadKind | null;
}

/** A kind that is not served has no objects. */
async function listed(key: string, form: ObjectForm<SeenObject>, looking: Looking): Promise<List> {
  const kind = looking.kinds.get(key);
  if (kind === undefined) return { key, objects: [], unread: null };
  const objects: SeenObject[] = [];
  const outcome = await listObjects(
    looking.connection,
    { resource: kind, form },
    (page) => void objects.push(...page),
    looking.signal,
  );
  const unread =
    outcome.kind === 'complete' ? null : { group: kind.group, kind: kind.kind, reason: outcome.message };
  return { key, objects, unread };
}
