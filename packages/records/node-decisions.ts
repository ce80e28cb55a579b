import { DeciderName } from '../../schemas/events/object-kinds.ts';
import type { LogRecord } from '../log/port.ts';
import { serviceSource } from './publisher.ts';

/** Decisions about nodes are the largest part of a log: this is what shows of one without parsing it. */

const SOURCES: ReadonlyMap<string, DeciderName> = new Map(
  DeciderName.options.map((decider) => [serviceSource(decider), decider]),
);

/** Whose it is, by its header. */
export const deciderOf = ({ headers }: Pick<LogRecord, 'headers'>): DeciderName | undefined =>
  SOURCES.get(headers.ce_source ?? '');

/** Whether it is worth parsing for its outcome: within a JSON text quotation marks of others are escaped. */
export const mayBeTooCostly = ({ value }: Pick<LogRecord, 'value'>): boolean =>
  value?.includes('"too-costly"') ?? false;
