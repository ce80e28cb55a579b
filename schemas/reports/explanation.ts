import { z } from 'zod';
import { ClusterName, NodeName } from '../events/identity.ts';
import { ExplainedObject, TimelineEntry } from './timeline.ts';

/** How it stands at the end of what was read. */
export const ObjectState = z.enum([
  'there',
  /** By FleetGC, as a result says. */
  'removed',
  /** By somebody else, as far as the log tells. */
  'gone',
]);
export type ObjectState = z.infer<typeof ObjectState>;

const place = { cluster: ClusterName, node: NodeName };

/** One of several things that a name means. */
export const Candidate = z.strictObject({
  ...ExplainedObject.shape,
  ...place,
  state: ObjectState,
  firstSeenMs: z.int(),
  lastSeenMs: z.int(),
});
export type Candidate = z.infer<typeof Candidate>;

/** What was read for the answer. */
const Reading = z.strictObject({
  /** `null` is no limit; by the log's clock. */
  fromMs: z.int().nullable(),
  toMs: z.int().nullable(),
  /** Times of the first and the last record that was read; `null` when there was none. */
  firstRecordMs: z.int().nullable(),
  lastRecordMs: z.int().nullable(),
  records: z.int().nonnegative(),
  /** Records that concern the node and cannot be read, such as events of a newer release. */
  unreadable: z.int().nonnegative(),
  /** Records of an archive that nobody read, since its index of names says that nothing that is meant is in them. */
  ruledOut: z.int().nonnegative(),
});
export type Reading = z.infer<typeof Reading>;

const head = {
  type: z.literal('fleetgc.explanation'),
  version: z.literal(1),
  asked: z.string(),
  reading: Reading,
};

/** The life of one object, pod or node, as the log tells it. */
export const Explained = z.strictObject({
  ...head,
  status: z.literal('explained'),
  subject: Candidate,
  timeline: z.array(TimelineEntry),
});
export type Explained = z.infer<typeof Explained>;
/** The name means several things. */
export const Ambiguous = z.strictObject({
  ...head,
  status: z.literal('ambiguous'),
  candidates: z.array(Candidate),
});
export type Ambiguous = z.infer<typeof Ambiguous>;
export const NotFound = z.strictObject({
  ...head,
  status: z.literal('not-found'),
  /** Whether something of this name was met all the same: at another time, or on another node. */
  knownOtherwise: z.boolean(),
  nearNames: z.array(z.string()),
});
export type NotFound = z.infer<typeof NotFound>;

/** What `fleetgc audit explain -o json` prints. */
export const Explanation = z.discriminatedUnion('status', [Explained, Ambiguous, NotFound]);
export type Explanation = z.infer<typeof Explanation>;

const line = { version: z.literal(1), asked: z.string() };

/** What `-o ndjson` prints, one a line: the entries of the timeline, or what the name may mean. */
export const ExplanationLine = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('fleetgc.timeline-entry'),
    ...line,
    subject: Candidate,
    entry: TimelineEntry,
  }),
  z.strictObject({ type: z.literal('fleetgc.candidate'), ...line, candidate: Candidate }),
]);
export type ExplanationLine = z.infer<typeof ExplanationLine>;
