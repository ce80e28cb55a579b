import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactory, Kafka, type LogEntry, logLevel } from 'kafkajs';
import type { Logger } from 'pino';
import type { EventLogContext } from '../../port.ts';
import { repairKafkajs } from './kafkajs-repairs.ts';
import { type KafkaOptions, saslOf, tlsOf, whileRunning } from './options.ts';
import { timeLimits } from './time-limits.ts';

const KEEP_ALIVE_MS = 60_000;

/** Said in full, since kafkajs takes other values when NODE_ENV is `test`. About 3 s in all. */
export const RETRY = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1000, retries: 5 };

/** kafkajs, and a way to end its connections without waiting for what they wait for. */
export interface KafkaClient {
  readonly kafka: Kafka;
  /** Ends every connection at once; open requests are rejected. */
  cutConnections(): void;
}

type SocketRequest = Parameters<ISocketFactory>[0];

/** Certificates and keys are replaced while we run, so each connection takes what the files hold then. */
function connect(options: KafkaOptions, { host, port, onConnect }: SocketRequest): Socket {
  const ssl = whileRunning(() => tlsOf(options));
  if (ssl === null) return connectPlain({ host, port }, onConnect);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ host, port, ...servername, ...ssl }, onConnect);
}

/** Without the delay of Nagle's algorithm, which holds back the last part of a large request. */
function openSocket(options: KafkaOptions, request: SocketRequest, sockets: Set<Socket>): Socket {
  const socket = connect(options, request);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  socket.setNoDelay(true);
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}

/** A client with connections of its own. */
export function openClient(options: KafkaOptions, { logger }: Pick<EventLogContext, 'logger'>): KafkaClient {
  repairKafkajs();
  const sockets = new Set<Socket>();
  const { connectMs, requestMs } = timeLimits(options);
  const sasl = saslOf(options);
  const kafka = new Kafka({
    brokers: [...options.brokers],
    clientId: options.clientId,
    ...(options.ssl !== undefined && { ssl: true }),
    ...(sasl !== null && { sasl }),
    connectionTimeout: connectMs,
    authenticationTimeout: connectMs,
    requestTimeout: requestMs,
    enforceRequestTimeout: true,
    retry: RETRY,
    logLevel: logger.isLevelEnabled('debug') ? logLevel.INFO : logLevel.WARN,
    logCreator: logCreator(logger),
    socketFactory: (request) => openSocket(options, request, sockets),
  });
  return {
    kafka,
    cutConnections: () => {
      for (const socket of sockets) socket.destroy(new Error('this client ends'));
    },
  };
}

/**
 * What kafkajs calls errors and warnings in the course of normal work: groups form and change, coordinators load,
 * brokers restart, and requests are tried again. What lasts is told in our own words, once.
 */
const NORMAL =
  /rebalanc|re-join|coordinator|group member|member id|leadership|leader for|stale|metadata|connection|connect:|ECONN|socket|does not host this topic|does not exist|Failed to send messages|Response |offset out of range|Crash:|Restarting the consumer/i;

function levelOf({ level, log }: LogEntry): 'debug' | 'warn' {
  const loud = level === logLevel.ERROR || level === logLevel.WARN;
  return loud && !NORMAL.test(log.message) ? 'warn' : 'debug';
}

/** kafkajs's log lines in pino, at the level they deserve. */
export const logCreator = (logger: Logger) => () => (entry: LogEntry) => {
  const { message, timestamp: _, logger: __, ...details } = entry.log;
  logger[levelOf(entry)]({ kafkajs: { namespace: entry.namespace, ...details } }, `kafkajs: ${message}`);
};
