import type { Logger } from 'pino';

/** For a task that runs on: what is worth a line is on stdout; the services' own log is for those who ask for more. */
export const quieter = (logger: Logger): Logger =>
  logger.level === 'info' ? logger.child({}, { level: 'error' }) : logger;
