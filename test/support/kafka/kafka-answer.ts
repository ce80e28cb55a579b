import { readFileSync } from 'node:fs';
import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { repairRequestQueue } from '../../../packages/log/kafka/client/kafkajs-repairs.ts';
import type { SaslUser } from './kafka-properties.ts';

repairRequestQueue();

export interface ClientSettings {
  readonly address: string;
  /** For a SASL_SSL listener. */
  readonly caFile?: string;
  readonly user?: SaslUser;
}

/** kafkajs settings of a bare client, for what a test does behind our adapter's back. */
export function kafkaSettings({ address, caFile, user }: ClientSettings): KafkaConfig {
  return {
    brokers: [address],
    logLevel: logLevel.NOTHING,
    ...(caFile && { ssl: { ca: [readFileSync(caFile, 'utf8')] } }),
    ...(user && { sasl: { mechanism: 'scram-sha-512' as const, ...user } }),
  };
}

/** Whether a client gets through the whole handshake and the broker names itself and its controller. */
export async function answersAsBroker(settings: ClientSettings): Promise<boolean> {
  const admin = new Kafka({
    ...kafkaSettings(settings),
    connectionTimeout: 1000,
    retry: { retries: 0 },
  }).admin();
  try {
    await admin.connect();
    const { brokers, controller } = await admin.describeCluster();
    return brokers.length > 0 && controller !== null;
  } finally {
    await admin.disconnect();
  }
}
