import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { openKafkaLog } from '../../packages/log/kafka.ts';
import type { EventLog } from '../../packages/log/port.ts';

/** The event log of the compose example, for what runs in a container on its network. */
export const openComposeLog = (clientId: string): Promise<EventLog> =>
  openKafkaLog(
    {
      kind: 'kafka',
      brokers: ['kafka:9092'],
      prefix: '',
      clientId,
      replicationFactor: 1,
      compression: 'zstd',
      waits: 'long',
    },
    { logger: pino({ level: 'silent' }), now: Date.now, random: Math.random, newId: randomUUID },
  );
