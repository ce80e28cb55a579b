import { type LogEntry, logLevel } from 'kafkajs';
import type { Logger } from 'pino';

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
