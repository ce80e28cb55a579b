import { z } from 'zod';
import { DAY_MS } from '../../../packages/process/durations.ts';
import {
  REPOSITORY_ORDERS,
  readHolders,
  readImages,
  readRepository,
  readReturned,
} from '../../../packages/read-model/images.ts';

import { HolderKind } from '../../../schemas/reports/dashboard-images.ts';
import { none, Part, type Route, route, whole } from './route.ts';

const MOST_REPOSITORIES = 1_000_000;
/** How far back is looked for images that came back. */
const RETURNED_DAYS = 7;

/** Repositories of all nodes, or of those of one cluster, pool or policy. */
const Question = z
  .strictObject({
    q: Part,
    sort: z.enum(REPOSITORY_ORDERS).default('bytes'),
    offset: whole(0, MOST_REPOSITORIES).default(0),
    limit: whole(1, 500).default(50),
    by: z.enum(['cluster', 'pool', 'policy']).optional(),
    of: z.string().max(300).optional(),
  })
  .refine(({ by, of }) => (by === undefined) === (of === undefined), 'by and of belong together');

export const IMAGE_ROUTES: readonly Route[] = [
  route('/api/images', Question, ({ by, of, ...question }, { projection, readings }) => {
    const group = by === undefined || of === undefined ? null : { by, of };
    const remembered = readings.images.of(projection.held, () => projection.nodes(), group);
    return readImages(remembered, question);
  }),
  route(
    '/api/images/repository',
    z.strictObject({ name: z.string().min(1).max(1_000) }),
    ({ name }, { projection }) => readRepository(projection.held, name),
  ),
  route('/api/images/holders', z.strictObject({ by: HolderKind }), ({ by }, { projection }) =>
    readHolders(projection.held, projection.nodes(), by),
  ),
  route('/api/images/returned', none, (_, { projection, logReaders, person }) => {
    const { nowMs } = projection.source;
    const range = { fromMs: nowMs - RETURNED_DAYS * DAY_MS, toMs: nowMs };
    const { held, store } = projection;
    const knownSinceMs = projection.knownSinceMs('results');
    return logReaders.read(person, (signal) =>
      readReturned({ db: store.db, held, range, knownSinceMs }, signal),
    );
  }),
];
