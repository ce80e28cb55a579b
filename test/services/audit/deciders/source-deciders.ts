import type { PureHandler } from '../../../../packages/decision/handler.ts';
import { parseValue } from '../../../../packages/pipeline/parse/parse-record.ts';
import type { SubjectKind } from '../../../../schemas/events/identity.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import type { PolicySet, PolicySetOf } from '../../../../schemas/policy/policy.ts';
import type { DecideAgain, FrozenDecider, PassOver } from '../../../../services/audit/deciders/deciders.ts';
import { passOver as containerGcPasses } from '../../../../services/container-gc/bundle-entry.ts';
import { DECIDER as CONTAINER_GC } from '../../../../services/container-gc/decide.ts';
import { containerGcHandler } from '../../../../services/container-gc/handler.ts';
import { passOver as imageGcPasses } from '../../../../services/image-gc/bundle-entry.ts';
import { DECIDER as IMAGE_GC } from '../../../../services/image-gc/decide.ts';
import { imageGcHandler } from '../../../../services/image-gc/handler.ts';
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

interface Source<Topic extends CorpusCase['topic']> {
  readonly decider: { readonly name: string; readonly version: string };
  readonly topic: Topic;
  readonly passOver: PassOver;
}

const isForNodes = (set: PolicySetOf<SubjectKind>): set is PolicySet => set.subject === 'node';

const sourceDecider = <Topic extends CorpusCase['topic']>(
  { decider, topic, passOver }: Source<Topic>,
  handler: (policies: () => PolicySet) => PureHandler<EventOf<Topic>>,
): SourceDecider => ({
  ...decider,
  topic,
  passOver,
  read: (message) => message,
  decide: (message, position, policies) => {
    const parsed = parseValue(topic, message);
    if (!parsed.ok) throw new Error(parsed.rejection.message);
    if (!isForNodes(policies)) throw new Error('these are no policies for nodes');
    const stages = handler(() => policies)({ event: parsed.event, position });
    return stages.flat();
  },
});

export const SOURCE_DECIDERS: readonly SourceDecider[] = [
  sourceDecider({ decider: PRESSURE, topic: 'diskStats', passOver: pressurePasses }, pressureHandler),
  sourceDecider(
    { decider: CONTAINER_GC, topic: 'inventory', passOver: containerGcPasses },
    containerGcHandler,
  ),
  sourceDecider({ decider: IMAGE_GC, topic: 'inventory', passOver: imageGcPasses }, imageGcHandler),
];
