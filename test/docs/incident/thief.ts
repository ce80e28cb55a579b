import { policySet } from '../../../packages/decision/policy-set.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { parseRecord } from '../../../packages/records/parse/parse-record.ts';
import { readKeyFile } from '../../../packages/records/trust/private-key.ts';
import { signRecord } from '../../../packages/records/trust/signature.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { PolicyReference } from '../../../schemas/events/decision-parts.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/events/subject-headers.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { readTopic } from '../../cli/read-topic.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { containerRemoval, imageRemoval } from '../../fixtures/command.ts';
import { keepList } from '../../fixtures/policy.ts';
import { toTarget } from '../../fixtures/reclaim.ts';
import { outgoing } from '../../support/logs/log-record.ts';

const FLEET = 'prod';
/**
 * He signs what he likes: his commands live for as long as any may. With those of the policy, a slow machine would take more than
 * their minute, and the dead container would go by the next command of container-gc (G23) in place of his (G7).
 */
const LIFETIME_MS = MAX_COMMAND_LIFETIME_MS;
/** More than the disk has. */
const WANTED_BYTES = '900000000000000';

/** Has the private key of the decision services, and a login at Kafka that reads facts and policies and writes commands. */
export interface Thief {
  /** Orders the newest inventory's images away, as if its disk were full. */
  orderImages(id: string): Promise<void>;
  /** Orders its containers and sandboxes away. */
  orderContainers(id: string): Promise<void>;
  /** Writes a policy without a minimum age and without a keep list in place of the one in force. */
  replacePolicy(): Promise<void>;
}

export function thiefWith(keyFile: string, log: EventLog): Thief {
  const key = readKeyFile(keyFile);
  const publish = async (command: Command): Promise<void> => {
    const record = outgoing({ topic: 'commands', key: nodeKey(command), event: command });
    await log.publish([signRecord(record, { fleet: FLEET, key, generation: null })]);
  };
  const headerFor = async (id: string, inventory: CompleteInventory) => ({
    id,
    cluster: inventory.cluster,
    node: inventory.node,
    nodeInstance: inventory.nodeInstance,
    inventoryId: inventory.id,
    takenAt: inventory.takenAt,
    lifetimeMs: LIFETIME_MS,
    policy: await policyInForce(log),
  });
  return {
    orderImages: async (id) => {
      const inventory = await newestInventory(log);
      const images = inventory.images.map((image) => image.id);
      const header = await headerFor(id, inventory);
      await publish(imageRemoval(images, { ...header, reclaim: toTarget(WANTED_BYTES) }));
      await publish(imageRemoval(images, { ...header, id: `${id}-by-age` }));
    },
    orderContainers: async (id) => {
      const inventory = await newestInventory(log);
      const ids = inventory.containers.map((container) => container.id);
      await publish(containerRemoval(ids, await headerFor(id, inventory)));
    },
    replacePolicy: async () => {
      const event = appliedPolicy({ imageMinimumGCAgeMs: -1, imageMaximumGCAgeMs: 1, keep: keepList() });
      const record = outgoing({ topic: 'policies', key: event.policy.name, event });
      await log.publish([signRecord(record, { fleet: FLEET, key, generation: Date.now() })]);
    },
  };
}

export async function eventsOf<Id extends TopicId>(log: EventLog, topic: Id): Promise<EventOf<Id>[]> {
  return (await readTopic(log, TOPICS[topic].name)).map((record) => eventOf(topic, record));
}

function eventOf<Id extends TopicId>(topic: Id, record: LogRecord): EventOf<Id> {
  const parsed = parseRecord(topic, record);
  if (parsed.ok) return parsed.event;
  throw new Error(`on ${topic} lies what nobody can read: ${parsed.rejection.message}`);
}

async function newestInventory(log: EventLog): Promise<CompleteInventory> {
  const newest = (await eventsOf(log, 'inventory')).findLast(({ status }) => status === 'complete');
  if (newest?.status !== 'complete') throw new Error('the node has published no inventory');
  return newest;
}

async function policyInForce(log: EventLog): Promise<PolicyReference> {
  const policies = (await eventsOf(log, 'policies')).filter((record) => record.type === 'fleetgc.policy');
  const [record] = policies;
  if (record === undefined) throw new Error('there is no policy');
  const { hash: setHash } = policySet('node', [record], []);
  return { name: record.policy.name, version: record.policyVersion, hash: record.hash, setHash };
}
