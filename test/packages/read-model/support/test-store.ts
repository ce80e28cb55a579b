import { join } from 'node:path';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { setsOfEntries } from '../../../../packages/policy/policy-reading.ts';
import { Held } from '../../../../packages/read-model/images-on-nodes.ts';
import { Fleet } from '../../../../packages/read-model/nodes.ts';
import { PROJECT, PROJECTED_TOPICS, type ProjectedTopic } from '../../../../packages/read-model/project.ts';
import { FleetPlaces, Projector } from '../../../../packages/read-model/read.ts';
import type { Row } from '../../../../packages/read-model/rows.ts';
import { Store } from '../../../../packages/read-model/store.ts';
import { openTables } from '../../../../packages/read-model/tables.ts';
import { FactTrust } from '../../../../packages/read-model/trust.ts';
import { parseRecord, topicIdOf } from '../../../../packages/records/parse/parse-record.ts';
import { DAY } from '../../../fixtures/time.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { logOf } from '../../audit/support/archives.ts';

export const BOUNDS = {
  historyMs: 14 * DAY,
  mostBytes: 2 ** 30,
  mostActivity: 1_000,
  mostNames: 1_000,
  mostLetters: 1_000,
};

/** Tables of a file of its own. */
export const openStore = (bounds = BOUNDS): Store =>
  new Store(openTables(join(temporaryDirectory(), 'projection.db'), 'test').db, bounds);

/** Whose facts count: those of everybody, signed or not. */
export const EVERYBODY = new FactTrust({ log: logOf([]), roots: null, facts: 'off', now: Date.now });

/** Writes into these tables, of a fleet without policies that believes everybody. */
export const projectorInto = (store: Store): Projector =>
  new Projector({
    store,
    fleet: new Fleet(store.db, setsOfEntries([]).node),
    held: new Held(),
    places: new FleetPlaces(),
    trust: EVERYBODY,
    onActivity: () => undefined,
  });

/** What a record says, as rows. */
export function rowsOf(record: LogRecord): readonly Row[] {
  const topic = PROJECTED_TOPICS.find((each) => each === topicIdOf(record.topic));
  if (topic === undefined) throw new Error(`nothing is projected of ${record.topic}`);
  return projected(topic, record);
}

function projected<Topic extends ProjectedTopic>(topic: Topic, record: LogRecord): readonly Row[] {
  const parsed = parseRecord(topic, record);
  if (!parsed.ok) throw new Error(parsed.rejection.message);
  return PROJECT[topic](parsed.event, record);
}

/** A row that no table takes. */
export const BROKEN: Row = {
  table: 'names',
  kind: 'image',
  id: 'i',
  name: 'n',
  seen: Number.NaN,
  node: 'prod/web-1',
};
