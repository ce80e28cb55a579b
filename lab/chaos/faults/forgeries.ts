import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import type { SigningKey } from '../../../packages/records/trust/key-pair.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import type { FollowedLog } from '../fleet/followed-log.ts';
import { FLEET, type FleetKeys } from '../fleet/keys.ts';
import { REPOSITORIES } from '../node/life.ts';
import { FORGED } from './forged-ids.ts';
import { asSent } from './messages.ts';

/** What somebody may write who may write everything but policies. */
export const FORGERIES = [
  'greedy-command',
  'greedy-order',
  'stripped-inventory',
  'false-result',
  'garbage',
] as const;
export type Forgery = (typeof FORGERIES)[number];

/**
 * What it is signed with: nothing, the signature of another record, a key of the deciders that somebody stole and nobody
 * revoked yet, one that was revoked, one that has ended, one for which no root vouches, or only a root of
 * the forger's own, one for another fleet, or the operator's, who may not order anything.
 */
export const SIGNATURES = [
  'none',
  'of-another-record',
  'stolen',
  'revoked',
  'ended',
  'stranger',
  'self-certified',
  'other-fleet',
  'operator',
] as const;
export type ForgedSignature = (typeof SIGNATURES)[number];

type Fields = Readonly<Record<string, unknown>>;
const Event = z.record(z.string(), z.unknown());
const Images = z.array(z.record(z.string(), z.unknown()));
/** More than a command may name is no command. */
const MOST_ITEMS = 50;
/** More than any disk of a campaign has. */
const EVERYTHING = String(2 ** 50);

interface Forging {
  readonly node: string;
  readonly forgery: Forgery;
  readonly signature: ForgedSignature;
}

/** Writes it in the name of a node, from what that node and its deciders wrote last. Nothing where they wrote nothing yet. */
export async function forge(
  { log: followed, keys }: { readonly log: FollowedLog; readonly keys: FleetKeys },
  { node, forgery, signature }: Forging,
): Promise<void> {
  const last = (topic: TopicName, fits: (event: Fields) => boolean = () => true): Last | null => {
    const record = followed.records(topic).findLast((one) => isOf(node, one) && fits(eventOf(one)));
    return record === undefined ? null : { record, event: eventOf(record) };
  };
  const statements = signature === 'self-certified' ? [keys.statementOfStranger()] : [];
  const forgeries = FORGE[forgery](last).map((record) => signedAs(signature, record, keys));
  await followed.publish([...statements, ...forgeries]);
}

type Sign = (record: OutgoingRecord, keys: FleetKeys) => OutgoingRecord;
const signedBy =
  (keyOf: (keys: FleetKeys) => SigningKey, fleet = FLEET): Sign =>
  (record, keys) =>
    signRecord(record, { fleet, key: keyOf(keys), generation: null });

const SIGN: Readonly<Record<ForgedSignature, Sign>> = {
  none: ({ headers, ...record }) => ({
    ...record,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('ce_fleetgc'))),
  }),
  'of-another-record': (record) => record,
  stolen: signedBy((keys) => keys.current('decider')),
  revoked: signedBy(({ revoked }) => revoked),
  ended: signedBy(({ ended }) => ended),
  stranger: signedBy(({ stranger }) => stranger),
  'self-certified': signedBy(({ stranger }) => stranger),
  'other-fleet': signedBy((keys) => keys.current('decider'), 'another'),
  operator: signedBy((keys) => keys.current('operator')),
};

export const signedAs = (
  signature: ForgedSignature,
  record: OutgoingRecord,
  keys: FleetKeys,
): OutgoingRecord => SIGN[signature](record, keys);

interface Last {
  readonly record: LogRecord;
  readonly event: Fields;
}
type FindLast = (topic: TopicName, fits?: (event: Fields) => boolean) => Last | null;

const FORGE: Readonly<Record<Forgery, (last: FindLast) => readonly OutgoingRecord[]>> = {
  'greedy-command': (last) => {
    const inventory = last('gc.node.inventory')?.event;
    const command = last('gc.node.commands');
    const items = Images.parse(inventory?.images ?? [])
      .toSorted((a, b) => greed(b) - greed(a))
      .slice(0, MOST_ITEMS)
      .map(({ id }) => ({ kind: 'image', id, sizeBytes: 1, estimatedBytes: 1, rule: 'D11' }));
    const reclaim = inventory?.reclaim ?? command?.event.reclaim;
    if (!command || !inventory || !reclaim || items.length === 0) return [];
    const { takenAt, id: inventoryId } = inventory;
    const decided = last('gc.node.decisions', ({ policy }) => policy !== null);
    return forged(command, {
      kind: 'image-removal',
      holders: [],
      items,
      takenAt,
      inventoryId,
      policy: decided?.event.policy ?? command.event.policy,
      reclaim: greedy(reclaim),
    });
  },
  'greedy-order': (last) => {
    const order = last('gc.node.observe');
    const stats = last('gc.node.disk-stats')?.event;
    if (!order || !stats) return [];
    const reclaim = { ...greedy(order.event.reclaim), id: newId(), step: 'images', round: 1 };
    return forged(order, { takenAt: stats.takenAt, reclaim });
  },
  'stripped-inventory': (last) => {
    const inventory = last('gc.node.inventory');
    const images = Images.parse(inventory?.event.images ?? []).map((image) => ({
      ...image,
      usedBy: [],
      pinned: false,
      firstDetectedMs: 0,
      lastUsedMs: null,
    }));
    return inventory ? forged(inventory, { images }) : [];
  },
  'false-result': (last) => {
    const result = last('gc.node.results', ({ type }) => type === 'fleetgc.node.object-result');
    const removed = { outcome: 'removed', measured: null, estimatedBytes: null, durationMs: 1 };
    return result ? forged(result, { result: removed }) : [];
  },
  garbage: (last) =>
    (['gc.node.observe', 'gc.node.commands', 'gc.node.inventory', 'gc.node.disk-stats'] as const).flatMap(
      (topic) => {
        const model = last(topic)?.record;
        const values = [
          randomBytes(200),
          Buffer.from('[[[[[[]]]]]]'),
          Buffer.from('{"type":"fleetgc.node.command"}'),
        ];
        return model ? values.flatMap((value) => asSent({ ...model, value })) : [];
      },
    ),
};

function greedy(reclaim: unknown): Fields {
  const { target, ...others } = Event.parse(reclaim);
  return { ...others, target: { ...Event.parse(target), atLeast: EVERYTHING } };
}

/** What a policy keeps is worth most, then what is young. */
function greed({ repoTags, firstDetectedMs }: Fields): number {
  const isKept = JSON.stringify(repoTags ?? null).includes(REPOSITORIES.always);
  return isKept ? Infinity : Number(firstDetectedMs ?? 0);
}

/** An inventory that was taken for the images of a reclaim. */
export function isOfReclaim(record: LogRecord, node: string): boolean {
  if (record.topic !== 'gc.node.inventory' || !isOf(node, record)) return false;
  const { reclaim, id } = eventOf(record);
  const isForged = typeof id === 'string' && id.startsWith(FORGED);
  const seen = Event.safeParse(reclaim);
  return !isForged && seen.success && seen.data.step === 'images';
}

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

const isOf = (node: string, { key }: LogRecord): boolean => key?.endsWith(`/${node}`) ?? false;
