import { z } from 'zod';
import { explain } from '../../../packages/audit/explain/explain.ts';
import { toldLife } from '../../../packages/documents/explanation.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { newestInventory, readListed } from '../../../packages/read-model/node.ts';
import { readObject } from '../../../packages/read-model/objects.ts';
import { ClusterName, NodeName, nodeKey } from '../../../schemas/events/identity.ts';
import { type DashboardLife, ListedKind, ShownKind } from '../../../schemas/reports/dashboard-object.ts';
import type { Explanation } from '../../../schemas/reports/explanation.ts';
import { type Read, sharingIndex, sharingLog } from '../readings.ts';
import { type Asked, EpochMs, NodeKey, Part, type Route, route, whole } from './route.ts';

const MOST_OBJECTS = 1_000_000;
/** Older entries are left out of the page; the command line tells them all. */
const MOST_ENTRIES = 2_000;
/** Of a longer time the command line tells. */
const MOST_DAYS = 92;

/** As long as ids of runtimes and names of log entries may be. */
const Id = z.string().min(1).max(1_000);
const object = { kind: ShownKind, id: Id };
const OnNode = z.tuple([ClusterName, NodeName]);

const Life = z.strictObject({
  ...object,
  node: NodeKey.refine((key) => OnNode.safeParse(key.split('/')).success, 'has to be a node as CLUSTER/NODE'),
  from: EpochMs,
  to: EpochMs.nullable().default(null),
  leaving: z.literal('1').optional(),
});
type Life = z.infer<typeof Life>;

const reading =
  (projection: Projection, { kind, id, node, from, to }: Life): Read<Explanation> =>
  (signal, onProgress) => {
    const source = projection.source.from;
    const index = source.kind === 'archive' ? source.log.index : undefined;
    return explain(
      { name: `${kind}/${id}`, node, range: { fromMs: from, toMs: to }, thereOnly: false },
      { log: sharingLog(source.log), ...(index && { index: sharingIndex(index) }), signal, onProgress },
    );
  };

function readLife(given: Life, { projection, readings, person }: Asked): DashboardLife {
  const { kind, id, node, from, to, leaving } = given;
  const question = JSON.stringify([kind, id, node, from, to]);
  if (leaving !== undefined) {
    readings.lives.leave(question, person);
    return { state: 'failed', problem: 'nobody waits for it any more' };
  }
  if ((to ?? projection.source.nowMs) - from > MOST_DAYS * DAY_MS)
    return {
      state: 'failed',
      problem: `more than ${MOST_DAYS} days are too long for a page: ask fleetgc audit explain`,
    };
  const stands = readings.lives.ask(question, { person, read: reading(projection, given) });
  if (stands === null) return { state: 'failed', problem: TOO_MANY };
  return stands.state === 'read' ? { ...stands, value: toldOf(stands.value) } : stands;
}

const TOO_MANY = 'too many lives are waited for, by you or by all: try again when one of them is there';

type Told = Extract<DashboardLife, { state: 'read' }>['value'];

function toldOf(explanation: Explanation): Told {
  switch (explanation.status) {
    case 'explained': {
      const { sentences, entries } = toldLife(explanation);
      const leftOut = Math.max(0, entries.length - MOST_ENTRIES);
      const { status, subject } = explanation;
      return { status, subject, sentences, entries: entries.slice(leftOut), leftOut };
    }
    case 'ambiguous':
      return { status: 'ambiguous', candidates: explanation.candidates };
    case 'not-found': {
      const { records, ruledOut } = explanation.reading;
      return { status: 'not-found', records: records + ruledOut };
    }
  }
}

/** One object on all nodes, its life on one of them, and all that a node lists. */
export const OBJECT_ROUTES: readonly Route[] = [
  route(
    '/api/object',
    z.strictObject({ ...object, after: NodeKey.nullable().default(null), limit: whole(1, 500).default(50) }),
    (question, { projection }) => {
      const { store, held } = projection;
      return readObject({ db: store.db, held, knownSinceMs: projection.knownSinceMs('results') }, question);
    },
  ),
  route('/api/object/life', Life, readLife),
  route(
    '/api/node/listed',
    z.strictObject({
      cluster: ClusterName,
      node: NodeName,
      kind: ListedKind.nullable().default(null),
      id: Id.nullable().default(null),
      q: Part,
      offset: whole(0, MOST_OBJECTS).default(0),
      limit: whole(1, 500).default(50),
    }),
    async (
      { cluster, node, ...question },
      { projection: { store, source, policies }, logReaders, person },
    ) => {
      const key = nodeKey({ cluster, node });
      const place = store.inventoryOf(key);
      if (place === null) return null;
      return await logReaders.read(person, async (signal) => {
        const newest = await newestInventory(source.from.log, place, signal);
        return newest && readListed(key, newest, { policies, question });
      });
    },
  ),
];
