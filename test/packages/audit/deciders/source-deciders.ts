import type { DecideAgain, FrozenDecider, PassOver } from '../../../../packages/audit/deciders/deciders.ts';
import { passOver as containerGcPasses } from '../../../../packages/deciders/container-gc/bundle-entry.ts';
import { DECIDER as CONTAINER_GC } from '../../../../packages/deciders/container-gc/decide.ts';
import { containerGcHandler } from '../../../../packages/deciders/container-gc/decider.ts';
import { passOver as expiryGcPasses } from '../../../../packages/deciders/expiry-gc/bundle-entry.ts';
import { DECIDER as EXPIRY_GC } from '../../../../packages/deciders/expiry-gc/decide.ts';
import { expiryGcHandler } from '../../../../packages/deciders/expiry-gc/decider.ts';
import { passOver as graphGcPasses } from '../../../../packages/deciders/graph-gc/bundle-entry.ts';
import { DECIDER as GRAPH_GC } from '../../../../packages/deciders/graph-gc/decide.ts';
import { graphGcHandler } from '../../../../packages/deciders/graph-gc/decider.ts';
import { passOver as imageGcPasses } from '../../../../packages/deciders/image-gc/bundle-entry.ts';
import { DECIDER as IMAGE_GC } from '../../../../packages/deciders/image-gc/decide.ts';
import { imageGcHandler } from '../../../../packages/deciders/image-gc/decider.ts';
import { passOver as podGcPasses } from '../../../../packages/deciders/pod-gc/bundle-entry.ts';
import { DECIDER as POD_GC } from '../../../../packages/deciders/pod-gc/decide.ts';
import { podGcHandler } from '../../../../packages/deciders/pod-gc/decider.ts';
import { passOver as pressurePasses } from '../../../../packages/deciders/pressure/bundle-entry.ts';
import { DECIDER as PRESSURE } from '../../../../packages/deciders/pressure/decide.ts';
import { pressureHandler } from '../../../../packages/deciders/pressure/decider.ts';
import type { PureHandler } from '../../../../packages/decision/handler.ts';
import { parseValue } from '../../../../packages/records/parse/parse-record.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import type { CorpusCase } from './corpus.ts';

/** A decider as its source stands. */
export interface SourceDecider {
  readonly name: string;
  readonly version: string;
  readonly topic: CorpusCase['topic'];
  /** As its service decides: parsed by the topic's schemas, then handled. */
  readonly read: FrozenDecider['read'];
  readonly decide: DecideAgain;
  readonly passOver: PassOver;
}

interface Source<Topic extends CorpusCase['topic'], Kind extends SubjectKind> {
  readonly decider: { readonly name: string; readonly version: string };
  readonly subject: Kind;
  readonly topic: Topic;
  readonly passOver: PassOver;
}

const isFor = <Kind extends SubjectKind>(
  kind: Kind,
  set: PolicySetOf<SubjectKind>,
): set is PolicySetOf<Kind> => set.subject === kind;

const sourceDecider = <Topic extends CorpusCase['topic'], Kind extends SubjectKind>(
  { decider, subject, topic, passOver }: Source<Topic, Kind>,
  handler: (policies: () => PolicySetOf<Kind>) => PureHandler<EventOf<Topic>>,
): SourceDecider => ({
  ...decider,
  topic,
  passOver,
  read: (message) => message,
  decide: (message, position, policies) => {
    const parsed = parseValue(topic, message);
    if (!parsed.ok) throw new Error(parsed.rejection.message);
    if (!isFor(subject, policies)) throw new Error(`these are no policies for a ${subject}`);
    const stages = handler(() => policies)({ event: parsed.event, position });
    return stages.flat();
  },
});

export const SOURCE_DECIDERS: readonly SourceDecider[] = [
  sourceDecider(
    { decider: PRESSURE, subject: 'node', topic: 'diskStats', passOver: pressurePasses },
    pressureHandler,
  ),
  sourceDecider(
    { decider: CONTAINER_GC, subject: 'node', topic: 'inventory', passOver: containerGcPasses },
    containerGcHandler,
  ),
  sourceDecider(
    { decider: IMAGE_GC, subject: 'node', topic: 'inventory', passOver: imageGcPasses },
    imageGcHandler,
  ),
  sourceDecider(
    { decider: GRAPH_GC, subject: 'cluster', topic: 'clusterOwnership', passOver: graphGcPasses },
    graphGcHandler,
  ),
  sourceDecider(
    { decider: POD_GC, subject: 'cluster', topic: 'clusterPods', passOver: podGcPasses },
    podGcHandler,
  ),
  sourceDecider(
    { decider: EXPIRY_GC, subject: 'cluster', topic: 'clusterExpiry', passOver: expiryGcPasses },
    expiryGcHandler,
  ),
];
