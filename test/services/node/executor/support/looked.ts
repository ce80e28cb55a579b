import type { CompleteListing } from '../../../../../packages/cri/listing-types.ts';
import { imageUsage } from '../../../../../packages/cri/usage.ts';
import type { Command } from '../../../../../schemas/events/command.ts';
import type { Instant } from '../../../../../schemas/events/time.ts';
import type { ImageHistoryFile } from '../../../../../schemas/state/image-history.ts';
import type { Restrictions } from '../../../../../services/node/executor/checks.ts';
import type { RuntimeFacts } from '../../../../../services/node/executor/facts.ts';
import { EMPTY_JOURNAL } from '../../../../../services/node/executor/journal.ts';
import { type FreshFacts, secondLook, type Verdict } from '../../../../../services/node/executor/judge.ts';
import { NO_LOCAL_RULES } from '../../../../../services/node/executor/local-rules.ts';
import {
  completeListing,
  digestOf,
  listedContainer,
  listedSandbox,
  runtimeImage,
} from '../../../../fixtures/listing.ts';
import { policyRecord } from '../../../../fixtures/policy.ts';
import { instant, NOW } from '../../../../fixtures/time.ts';
import { POD_LABELS } from './executor-node.ts';

/** The image that commands name. */
export const APP = digestOf('app');

/** When the inventory of the command was taken. */
export const TAKEN = instant();

/** So long after that. */
export const later = (ms: number): Instant =>
  instant({ wallTimeMs: NOW + ms, sinceBootMs: TAKEN.sinceBootMs + ms });

/** That image, as the runtime lists it. */
export const image = () => runtimeImage('app');

/** An exited container of the pod `pod-1`. */
export const dead = (over = {}) =>
  listedContainer('dead', { state: 'exited', imageId: digestOf('other'), labels: POD_LABELS, ...over });

/** A sandbox of it that is not ready. */
export const idle = (over = {}) =>
  listedSandbox('sandbox-1', {
    state: 'notReady',
    image: 'registry.k8s.io/pause:3.10',
    labels: POD_LABELS,
    ...over,
  });

/** What the second look finds, where it differs from a node on which the object may go. */
export interface Given {
  readonly name: string;
  readonly command?: Command;
  readonly listing?: Partial<CompleteListing>;
  readonly wanted?: readonly string[] | 'not told yet';
  readonly history?: ImageHistoryFile['images'] | 'unreadable' | null;
  readonly historyAt?: Instant;
  readonly restrictions?: Partial<Restrictions>;
  readonly now?: Instant;
}

const wanting = (reference: string) => ({ uid: 'wanting', images: [reference], finished: false });

/** What the second look says of the first object of the command: `may-go`, `not-found`, or why it stays. */
export function look(given: Omit<Given, 'name'>, command: Command) {
  const verdict = verdictOn(given, command);
  return verdict.outcome === 'refused' ? verdict.reason : verdict.outcome;
}

/** The same with the object that may go, or with the words of the refusal. */
export function verdictOn(given: Omit<Given, 'name'>, command: Command): Verdict {
  const listing = completeListing(given.listing);
  const { history = [[APP, 0, null]], historyAt = later(0) } = given;
  const facts: RuntimeFacts = {
    listing,
    usage: imageUsage(listing, given.wanted === 'not told yet' ? null : (given.wanted ?? []).map(wanting)),
    history:
      history === 'unreadable'
        ? { kind: 'unreadable', message: 'damaged' }
        : {
            kind: 'known',
            file: history && {
              version: 1,
              at: historyAt,
              watchedSinceMs: 0,
              clockSteadySince: historyAt,
              images: history,
            },
          },
  };
  const restrictions: Restrictions = {
    policy: { kind: 'enforced', record: policyRecord({ minimumCreatedContainerAgeMs: 60_000 }) },
    distrustOf: () => null,
    local: NO_LOCAL_RULES,
    backoff: [],
    lastActions: EMPTY_JOURNAL.lastActions,
    removalRate: EMPTY_JOURNAL.removalRate,
    ...given.restrictions,
  };
  const [item] = command.items;
  if (!item) throw new Error('a command has an item');
  return secondLook(command, item, facts, { restrictions, now: given.now ?? later(100) });
}

/** The same for rows of a table, on a node that has these objects. */
export const table = (kind: () => Command, object: Partial<CompleteListing>) => ({
  of: ({ name: _, command, ...given }: Given) =>
    look({ ...given, listing: { ...object, ...given.listing } }, command ?? kind()),
});

/** Facts of a moment that never grow old: of images nothing is known. */
export const alwaysFresh = (listing: Partial<CompleteListing> = {}): FreshFacts => ({
  confirm: (see) => {
    const listed = completeListing(listing);
    return see({ listing: listed, usage: imageUsage(listed, []), history: { kind: 'known', file: null } });
  },
  outdate: () => undefined,
});
