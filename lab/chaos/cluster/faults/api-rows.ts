import { setTimeout as sleep } from 'node:timers/promises';
import type { Fate, WatchFault } from '../../../../test/support/nodes/fault-proxy.ts';
import { seededRandom } from '../../../sim/random.ts';
import { between, nothing, one, type Rows } from '../../faults/row.ts';
import type { ClusterFleet } from '../fleet/fleet.ts';
import { RESOURCES } from '../fleet/kinds.ts';
import { EXECUTOR } from '../shape.ts';
import { type ClusterFault, SPOILT_LINES } from './fault.ts';

const PASSED: Fate = { kind: 'passed' };

const answered = (status: number, reason: string, headers: Readonly<Record<string, string>> = {}): Fate => ({
  kind: 'answered',
  status,
  headers,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code: status, message: 'by chaos' },
});

const LINES: Readonly<Record<(typeof SPOILT_LINES)[number], WatchFault>> = {
  cut: { kind: 'cut' },
  expired: { kind: 'expired' },
  'no-json': { kind: 'line', text: '{"type":"DELETED","object":{"metada' },
  'no-event': { kind: 'line', text: '{"type":"ADDED","object":[]}' },
};

/** Some of what is asked, and the same for the same fault. */
function some(fate: Fate, part: number, seed: number): () => Fate {
  const random = seededRandom(seed);
  return () => (random() < part ? fate : PASSED);
}

/** Longer than anybody believes what he has read before. */
const RESTORING_MS = 3_000;

const WRITES: readonly string[] = ['DELETE', 'PATCH'];
const aResource = RESOURCES;
const drawPart = (random: () => number): number => between(random, 3, 10) / 10;

type Kinds =
  | 'kill-at'
  | 'watch'
  | 'watch-late'
  | 'pages'
  | 'storm'
  | 'refusal'
  | 'no-rights'
  | 'unanswered'
  | 'erring'
  | 'server-away'
  | 'restored';

/** What happens to an API server, and on the way to it. */
export const API_ROWS: Rows<ClusterFleet, ClusterFault, Kinds> = {
  'kill-at': {
    weight: 5,
    draw: (random) => ({
      forMs: between(random, 2_000, 10_000),
      moment: one(random, ['before', 'after'] as const),
    }),
    begin: ({ server, part, press }, { moment }) => {
      const relax = press();
      const end = server.way.intercept(({ method, resource }) => {
        if (!WRITES.includes(method) || resource === 'leases') return PASSED;
        end();
        part(EXECUTOR).kill();
        return moment === 'before' ? { kind: 'lost' } : { kind: 'unanswered' };
      });
      return () => {
        end();
        relax();
      };
    },
  },
  watch: {
    weight: 6,
    draw: (random) => ({ forMs: 0, resource: one(random, aResource), how: one(random, SPOILT_LINES) }),
    begin: ({ server }, { resource, how }) => {
      server.way.spoilWatch(resource, LINES[how]);
      return nothing;
    },
  },
  'watch-late': {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 2_000, 8_000), delayMs: between(random, 100, 1_500) }),
    begin: ({ server: { way } }, { delayMs }) => {
      Object.assign(way, { withoutBookmarks: true, delayMs });
      return () => void Object.assign(way, { withoutBookmarks: false, delayMs: 0 });
    },
  },
  pages: {
    weight: 4,
    draw: (random) => ({
      forMs: between(random, 3_000, 8_000),
      resource: one(random, aResource),
      times: between(random, 1, 4),
    }),
    begin: ({ server: { way } }, { resource, times }) => {
      way.pageObjects = 3;
      way.expireSecondPages(resource, times);
      way.spoilWatch(resource, LINES.expired);
      return () => {
        way.pageObjects = null;
        way.expireSecondPages(resource, 0);
      };
    },
  },
  storm: {
    weight: 4,
    draw: (random) => ({ forMs: between(random, 1_000, 8_000), part: drawPart(random) }),
    begin: ({ server: { way } }, { part, atMs }) =>
      way.intercept(some(answered(429, 'TooManyRequests', { 'retry-after': '1' }), part, atMs)),
  },
  refusal: {
    weight: 4,
    draw: (random) => ({ forMs: between(random, 2_000, 10_000), resource: one(random, aResource) }),
    begin: ({ server: { way } }, { resource }) =>
      way.intercept((asked) =>
        WRITES.includes(asked.method) && asked.resource === resource ? answered(403, 'Forbidden') : PASSED,
      ),
  },
  'no-rights': {
    weight: 4,
    draw: (random) => ({ forMs: between(random, 2_000, 10_000), resource: one(random, aResource) }),
    begin: ({ server: { way } }, { resource }) => {
      // Who watches is asked for its rights anew only when the watch begins anew.
      way.spoilWatch(resource, LINES.cut);
      return way.intercept((asked) => (asked.resource === resource ? answered(403, 'Forbidden') : PASSED));
    },
  },
  unanswered: {
    weight: 4,
    draw: (random) => ({ forMs: between(random, 1_000, 6_000), part: drawPart(random) }),
    begin: ({ server: { way } }, { part, atMs }) => way.intercept(some({ kind: 'unanswered' }, part, atMs)),
  },
  erring: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 1_000, 6_000), part: drawPart(random) }),
    begin: ({ server: { way } }, { part, atMs }) =>
      way.intercept(some(answered(500, 'InternalError'), part, atMs)),
  },
  'server-away': {
    weight: 4,
    draw: (random) => ({ forMs: between(random, 0, 6_000) }),
    begin: ({ server }) => server.leave('as-it-was'),
  },
  restored: {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 4_000, 9_000) }),
    begin: ({ server }) => {
      server.save();
      return async () => {
        const comeBack = await server.leave('restored');
        await sleep(RESTORING_MS);
        await comeBack();
      };
    },
  },
};
