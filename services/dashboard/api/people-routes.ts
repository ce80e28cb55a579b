import { z } from 'zod';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { readLetter, readLetters } from '../../../packages/read-model/letters.ts';
import { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { EventId } from '../../../schemas/events/event-id.ts';
import { HistoryKind } from '../../../schemas/reports/dashboard-history.ts';
import { before, type Route, route, whole } from './route.ts';

/** Ids are others', and may have any character. */
const Before = before(/^[0-9]{1,16}:.{1,200}$/su);

/** What waits for somebody, and what people did. */
export const PEOPLE_ROUTES: readonly Route[] = [
  route(
    '/api/dead-letters',
    z.strictObject({
      cause: DeadLetterCause.nullable().default(null),
      topic: z.enum(TOPIC_NAMES).nullable().default(null),
      all: z.enum(['true', 'false']).default('false'),
      before: Before.nullable().default(null),
      limit: whole(1, 500).default(100),
    }),
    ({ all, ...question }, { projection }) =>
      readLetters(projection.store.db, { ...question, isAll: all === 'true' }),
  ),
  route('/api/dead-letter', z.strictObject({ id: EventId }), ({ id }, { projection, logReaders, person }) =>
    logReaders.read(person, (signal) =>
      readLetter({ db: projection.store.db, log: projection.source.from.log }, id, signal),
    ),
  ),
  route(
    '/api/history',
    z.strictObject({
      what: HistoryKind.nullable().default(null),
      before: Before.nullable().default(null),
      limit: whole(1, 500).default(100),
    }),
    (question, { history, logReaders, person }) =>
      logReaders.read(person, (signal) => history.read(question, signal)),
  ),
];
