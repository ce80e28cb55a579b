import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { ApiObject } from '../../../sim/api-server/objects.ts';
import { FORGED } from '../../faults/forged-ids.ts';
import { type ForgedSignature, signedAs } from '../../faults/forgeries.ts';
import { asSent } from '../../faults/messages.ts';
import type { ClusterFleet } from '../fleet/fleet.ts';
import { KINDS } from '../fleet/kinds.ts';

/** What somebody may write who may write everything but policies. */
export const CLUSTER_FORGERIES = ['greedy-command', 'false-fact', 'false-result', 'garbage'] as const;
type ClusterForgery = (typeof CLUSTER_FORGERIES)[number];

type Fields = Readonly<Record<string, unknown>>;
const Event = z.record(z.string(), z.unknown());
const Candidates = z.array(z.looseObject({ references: z.array(z.looseObject({ state: z.string() })) }));
const Told = z.array(z.looseObject({}));

interface ClusterForging {
  readonly forgery: ClusterForgery;
  readonly signature: ForgedSignature;
}

/** Writes it in the name of the cluster, from what was written last. Nothing where nobody wrote anything yet. */
export async function forgeForCluster(
  { log, keys, server }: ClusterFleet,
  { forgery, signature }: ClusterForging,
): Promise<void> {
  const last: FindLast = (topic, type) => {
    const record = log.records(topic).findLast((one) => type === undefined || eventOf(one).type === type);
    return record === undefined ? null : { record, event: eventOf(record) };
  };
  const all = KINDS.flatMap((kind) =>
    server.cluster.store.list(kind, null).map((object): There => ({ kind, object })),
  );
  const statements = signature === 'self-certified' ? [keys.statementOfStranger()] : [];
  const forgeries = FORGE[forgery](last, all).map((record) => signedAs(signature, record, keys));
  await log.publish([...statements, ...forgeries]);
}

interface There {
  readonly kind: ApiKind;
  readonly object: ApiObject;
}
interface Last {
  readonly record: LogRecord;
  readonly event: Fields;
}
type FindLast = (topic: TopicName, type?: string) => Last | null;

const FORGE: Readonly<
  Record<ClusterForgery, (last: FindLast, all: readonly There[]) => readonly OutgoingRecord[]>
> = {
  'greedy-command': (last, all) => {
    const command = last('gc.cluster.commands');
    const fact = last('gc.cluster.ownership')?.event;
    if (!command || !fact) return [];
    const decided = last('gc.cluster.decisions')?.event;
    const policy = decided?.policy ?? command.event.policy;
    return forged(command, { policy, takenAt: fact.takenAt, items: all.map(itemFor) });
  },
  'false-fact': (last) => {
    const fact = last('gc.cluster.ownership');
    const candidates = Candidates.parse(fact?.event.candidates ?? []).map((candidate) => ({
      ...candidate,
      references: candidate.references.map((reference) => ({ ...reference, state: 'gone', gone: WATCHED })),
    }));
    return fact && candidates.length > 0 ? forged(fact, { candidates }) : [];
  },
  'false-result': (last) => {
    const told = last('gc.cluster.results', 'fleetgc.cluster.object-results');
    const objects = Told.parse(told?.event.objects ?? []).map((each) => ({
      ...each,
      result: { outcome: 'removed' },
    }));
    return told ? forged(told, { objects }) : [];
  },
  garbage: (last) =>
    (
      ['gc.cluster.commands', 'gc.cluster.ownership', 'gc.cluster.pods', 'gc.cluster.expiry'] as const
    ).flatMap((topic) => {
      const model = last(topic)?.record;
      const values = [
        randomBytes(200),
        Buffer.from('[[[[[[]]]]]]'),
        Buffer.from('{"type":"fleetgc.cluster.command"}'),
      ];
      return model ? values.flatMap((value) => asSent({ ...model, value })) : [];
    }),
};

const WATCHED = { how: 'watched', orphaned: false };

/** All that is there is to go, each by the order that takes such objects away. */
function itemFor({ kind, object: { metadata } }: There): Fields {
  const { namespace = '', name, uid, resourceVersion, deletionTimestamp, finalizers } = metadata;
  const object = { ...kind, namespace, name, uid, resourceVersion };
  if (deletionTimestamp !== undefined)
    return { object, rule: 'D17', act: { action: 'finish', finalizer: finalizers[0] ?? 'orphan' } };
  return { object, ...(ACTS[kind.kind] ?? DELETION) };
}

const DELETION = { rule: 'D14', act: { action: 'delete', propagation: 'Background', unblock: false } };
const ACTS: Readonly<Record<string, Fields>> = {
  Job: { rule: 'K1', act: { action: 'expire', propagation: 'Foreground' } },
  Pod: { rule: 'J3', act: { action: 'remove-pod', because: 'terminated' } },
};

const newId = (): string => `${FORGED}${randomBytes(8).toString('hex')}`;

function forged({ record, event }: Last, over: Fields): readonly OutgoingRecord[] {
  const id = newId();
  const value = Buffer.from(JSON.stringify({ ...event, ...over, id }));
  return asSent({ ...record, value, headers: { ...record.headers, ce_id: id } });
}

function eventOf({ value }: LogRecord): Fields {
  try {
    return Event.parse(JSON.parse(String(value)));
  } catch {
    return {};
  }
}
