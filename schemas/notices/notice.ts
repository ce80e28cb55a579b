import { z } from 'zod';
import type { TopicId } from '../events/topics.ts';

/** What differs by the kind of a notice. */
interface NoticeKindRow {
  /** Where its events lie. */
  readonly topics: readonly TopicId[];
  readonly severity: 'info' | 'warning';
  /** Whether it also becomes an Event on its Node, where a receiver writes such. */
  readonly isNodeEvent: boolean;
  /**
   * Whether several about the same node or cluster that wait at once are told as one; what people did is told act by act, and each
   * decision service by itself.
   */
  readonly isJoined: boolean;
  /** For people: what it tells of. */
  readonly words: string;
}

/** What somebody did. */
const ACT = { topics: ['policies'], isNodeEvent: false, isJoined: false } as const;

/** The one table of what notices tell. */
export const NOTICE_KINDS = {
  pressure: {
    topics: ['observe'],
    severity: 'warning',
    isNodeEvent: true,
    isJoined: true,
    words: 'A threshold was met on a node, and a reclaim began',
  },
  removed: {
    topics: ['results'],
    severity: 'info',
    isNodeEvent: true,
    isJoined: true,
    words: 'Images, containers, sandboxes or logs were removed from a node',
  },
  failed: {
    topics: ['results'],
    severity: 'warning',
    isNodeEvent: true,
    isJoined: true,
    words: 'Removals failed on a node, or a reclaim by image usage missed its target',
  },
  unrelieved: {
    topics: ['results', 'decisions'],
    severity: 'warning',
    isNodeEvent: true,
    isJoined: true,
    words: 'A reclaim ended above its target',
  },
  'too-costly': {
    topics: ['decisions', 'clusterOwnership', 'clusterPods', 'clusterExpiry'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'A decision would take too many steps, so everything is kept on a node or in a cluster',
  },
  distrusted: {
    topics: ['results', 'clusterResults'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'An order reached a node or cluster that no key signed that may, or that was malformed',
  },
  silent: {
    topics: ['diskStats'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'A node that was heard is not heard any more',
  },
  'heard-again': {
    topics: ['diskStats'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: true,
    words: 'A node that was told as silent is heard again',
  },
  'cluster-silent': {
    topics: ['clusterCensus'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'A Kubernetes cluster that was heard is not heard any more',
  },
  'cluster-heard-again': {
    topics: ['clusterCensus'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: true,
    words: 'A Kubernetes cluster that was told as silent is heard again',
  },
  undecided: {
    topics: ['diskStats', 'decisions'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: false,
    words: 'A decision service answers nobody, though nodes are heard',
  },
  'decided-again': {
    topics: ['diskStats', 'decisions'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: false,
    words: 'A decision service that answered nobody decides again',
  },
  'log-silent': {
    topics: ['diskStats'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'The event log stands still: nothing comes from any node, or it cannot be read',
  },
  'log-heard-again': {
    topics: ['diskStats'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: true,
    words: 'The event log that stood still moves again',
  },
  'objects-removed': {
    topics: ['clusterResults'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: true,
    words: 'Objects of a Kubernetes cluster were removed',
  },
  'objects-failed': {
    topics: ['clusterResults'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'Removals of objects of a Kubernetes cluster failed',
  },
  held: {
    topics: ['clusterOwnership', 'clusterPods', 'clusterExpiry', 'clusterResults'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'Objects of a Kubernetes cluster wait for an approval',
  },
  stuck: {
    topics: ['clusterCensus'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'An object of a Kubernetes cluster waits for finalizers of others',
  },
  paused: { ...ACT, severity: 'warning', words: 'Somebody paused removals' },
  resumed: { ...ACT, severity: 'info', words: 'Somebody ended a pause' },
  approved: { ...ACT, severity: 'info', words: 'Somebody approved what was held' },
  'approval-withdrawn': { ...ACT, severity: 'info', words: 'Somebody withdrew an approval' },
  'policy-applied': { ...ACT, severity: 'info', words: 'Somebody applied a policy' },
  'policy-deleted': { ...ACT, severity: 'warning', words: 'Somebody deleted a policy' },
  'dead-letter': {
    topics: ['deadLetters'],
    severity: 'warning',
    isNodeEvent: false,
    isJoined: true,
    words: 'A message could not be processed',
  },
  redriven: {
    topics: ['deadLetters'],
    severity: 'info',
    isNodeEvent: false,
    isJoined: false,
    words: 'Somebody put a message back that could not be processed',
  },
} as const satisfies Readonly<Record<string, NoticeKindRow>>;

export type NoticeKind = keyof typeof NOTICE_KINDS;
const isNoticeKind = (name: string): name is NoticeKind => Object.hasOwn(NOTICE_KINDS, name);
export const NOTICE_KIND_NAMES: NoticeKind[] = Object.keys(NOTICE_KINDS).filter(isNoticeKind);

export const NoticeKind = z.enum(NOTICE_KIND_NAMES, {
  error: `must be one of ${NOTICE_KIND_NAMES.join(', ')}`,
});

/** Topics on which such notices begin. */
export const topicsOf = (kinds: readonly NoticeKind[]): readonly TopicId[] => [
  ...new Set(kinds.flatMap((kind) => NOTICE_KINDS[kind].topics)),
];

/** Why a notice reached no receiver. */
export const DropReason = z.enum([
  /** It was older than the receiver wants to hear of when its turn came. */
  'too-old',
  /** The receiver says that it never takes it. */
  'refused',
  /** The receiver answered with errors as often as it was tried. */
  'failed',
  /** More waited than are kept. */
  'queue-full',
]);
export type DropReason = z.infer<typeof DropReason>;

/**
 * In one message so many notices are told; of further ones it is told how many there are.
 * @limit Notices in one webhook message.
 */
export const MOST_NOTICES_TOLD = 50;
/** What of somebody else's text is longer is cut. */
export const MAX_NOTICE_TEXT_LENGTH = 500;
export const MAX_NOTICE_FACT_LENGTH = 300;

export const ToldNotice = z.object({
  /** Equal where the same is told again. */
  id: z.string(),
  kind: NoticeKind,
  severity: z.enum(['info', 'warning']),
  /** When the event log took the event, or when a silence was seen. */
  time: z.string(),
  cluster: z.string().nullable(),
  node: z.string().nullable(),
  /** One sentence for people. Names in it are what others wrote. */
  text: z.string().max(MAX_NOTICE_TEXT_LENGTH),
  /** Older ones of the same kind about the same node or cluster that waited with it, and are told by nothing but this count. */
  joined: z.int().nonnegative(),
  /** What of the event a program may go by: what it holds depends on the kind. */
  facts: z.record(z.string(), z.union([z.string().max(MAX_NOTICE_FACT_LENGTH), z.number(), z.null()])),
});
export type ToldNotice = z.infer<typeof ToldNotice>;

/** What the event of a webhook says: one notice, or several that came faster than the rule lets through. */
export const NoticeData = z.object({
  /** The rule of the rule file by which it is told. */
  rule: z.string(),
  notices: z.array(ToldNotice).min(1).max(MOST_NOTICES_TOLD),
  /** Further ones of the same message, which are only counted. */
  more: z.int().nonnegative(),
  /** Notices for this receiver that never reached it, since the last message that did. */
  dropped: z.partialRecord(DropReason, z.int().positive()),
});
export type NoticeData = z.infer<typeof NoticeData>;

export const NOTICE_SOURCE = '/fleetgc/notify';
export const NOTICE_TYPE_PREFIX = 'fleetgc.notice.';

/** What a webhook gets: CloudEvents 1.0 in structured JSON. */
export const NoticeEvent = z.object({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.literal(NOTICE_SOURCE),
  /** `fleetgc.notice.<kind>.v1`; `fleetgc.notice.digest.v1` for several notices. */
  type: z.string().regex(/^fleetgc\.notice\.[a-z-]+\.v1$/),
  /** `<cluster>/<node>` or `<cluster>`. */
  subject: z.string().min(1).optional(),
  time: z.string(),
  datacontenttype: z.literal('application/json'),
  data: NoticeData,
});
export type NoticeEvent = z.infer<typeof NoticeEvent>;
