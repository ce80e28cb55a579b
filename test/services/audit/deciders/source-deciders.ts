import type { PureHandler } from '../../../../packages/decision/handler.ts';
import { parseValue } from '../../../../packages/pipeline/parse/parse-record.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import type { DecideAgain, FrozenDecider, PassOver } from '../../../../services/audit/deciders/deciders.ts';
import { passOver as containerGcPasses } from '../../../../services/container-gc/bundle-entry.ts';
import { DECIDER as CONTAINER_GC } from '../../../../services/container-gc/decide.ts';
import { containerGcHandler } from '../../../../services/container-gc/handler.ts';
import { passOver as expiryGcPasses } from '../../../../services/expiry-gc/bundle-entry.ts';
import { DECIDER as EXPIRY_GC } from '../../../../services/expiry-gc/decide.ts';
import { expiryGcHandler } from '../../../../services/expiry-gc/handler.ts';
import { passOver as graphGcPasses } from '../../../../services/graph-gc/bundle-entry.ts';
import { DECIDER as GRAPH_GC } from '../../../../services/graph-gc/decide.ts';
import { graphGcHandler } from '../../../../services/graph-gc/handler.ts';
import { passOver as imageGcPasses } from '../../../../services/image-gc/bundle-entry.ts';
import { DECIDER as IMAGE_GC } from '../../../../services/image-gc/decide.ts';
import { imageGcHandler } from '../../../../services/image-gc/handler.ts';
import { passOver as podGcPasses } from '../../../../services/pod-gc/bundle-entry.ts';
import { DECIDER as POD_GC } from '../../../../services/pod-gc/decide.ts';
import { podGcHandler } from '../../../../services/pod-gc/handler.ts';
import { passOver as pressurePasses } from '../../../../services/pressure/bundle-entry.ts';
import { DECIDER as PRESSURE } from '../../../../services/pressure/decide.ts';
import { pressureHandler } from '../../../../services/pressure/handler.ts';
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
